# SPDX-License-Identifier: Apache-2.0
"""What a fleet's tables cost: fleet_bench.py BIN_FOLDER JOBS RANKS MINUTES [--kill]. Generates a dataset of jobs of so many ranks with 40
lines each, says its size, pushes it to two ClickHouse shards on loopback, and asks them, DuckDB (where tests/rollup has fetched it) and
`fleet report`. With --kill the second shard is killed in the middle of the push, started again, and the push repeated."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

ROLLUP = pathlib.Path(__file__).resolve().parents[1] / "rollup"
SQL = ROLLUP.parents[1] / "libsynctrace" / "rollup"
SITES = 40
sys.path.insert(0, str(ROLLUP))
import clickhouse_server  # noqa: E402  (of the folder above)
import cutting_proxy  # noqa: E402

sys.path.insert(0, str(ROLLUP.parent / "support"))
import measured_rows  # noqa: E402


def timed(what, function, row=None):
    """`row`: the case of what it took, for measured_rows."""
    begin = time.monotonic()
    result = function()
    took = time.monotonic() - begin
    print(f"{what}: {took:.2f} s", flush=True)
    if row:
        measured_rows.Rows("fleet", gpus=0).add("thousand-ranks", row, f"{took:.2f}", "s")
    return result


def push(binaries, dataset, url, *options):
    done = subprocess.run([binaries / "synctrace", "push", dataset, "--clickhouse", url, *options], capture_output=True, text=True, check=False)
    print(f"  {done.stderr.strip()} ({done.returncode})")
    return done.returncode


def push_with_a_killed_shard(binaries, dataset, servers, blocks):
    def harm(number, _):
        if number == blocks // 2:
            servers[1].stop(signal.SIGKILL)
        return ""
    proxy = cutting_proxy.Proxy(servers[0].url, harm)
    timed("push, shard killed half way", lambda: push(binaries, dataset, proxy.url, "--tries", "2"))
    proxy.stop()
    servers[1].start()
    timed("push again", lambda: push(binaries, dataset, servers[0].url))


def ask_duckdb(binaries, dataset):
    modules = binaries.parent / "tests" / "rollup"
    if not (modules / "node_modules").exists():
        return print("DuckDB was not fetched: run the test rollup.readers first")
    for question in sorted((SQL / "duckdb").glob("*.sql")):
        if question.stem == "tables":
            continue
        request = {"files": [], "dataset": str(dataset), "tables": (SQL / "duckdb" / "tables.sql").read_text(),
                   "questions": {question.stem: question.read_text()}}
        done = timed(f"DuckDB, {question.stem}, with its start", lambda request=request: subprocess.run(
            ["node", ROLLUP / "readers.mjs", modules], input=json.dumps(request), capture_output=True, text=True, check=True))
        print(f"  {len(json.loads(done.stdout)['rows'])} rows")


def main():
    binaries = pathlib.Path(sys.argv[1]).resolve()
    jobs, ranks, minutes = map(int, sys.argv[2:5])
    os.environ.update(SYNCTRACE_CLICKHOUSE_USER="fleet", SYNCTRACE_CLICKHOUSE_PASSWORD=clickhouse_server.PLAIN_PASSWORD, no_proxy="127.0.0.1")
    with tempfile.TemporaryDirectory(prefix="synctrace-fleet-") as name:
        folder = pathlib.Path(name)
        dataset = folder / "dataset"
        rows = jobs * ranks * minutes * SITES
        timed(f"{jobs} x {ranks} ranks, {minutes} minutes, {rows:,} rows of site_window written",
              lambda: subprocess.run([binaries / "generated_dataset", dataset, *map(str, (jobs, ranks, minutes, SITES))], check=True))
        size = sum(file.stat().st_size for file in dataset.rglob("*.parquet"))
        print(f"{size:,} bytes, {size / rows:.1f} a row, {size / (jobs * ranks * minutes) * 1440:,.0f} a rank and day")
        timed("fleet report", lambda: subprocess.run([binaries / "synctrace", "fleet", "report", dataset, "-o", folder / "answer"], check=True))
        ask_duckdb(binaries, dataset)
        servers = clickhouse_server.servers(folder, 2)
        try:
            for server in servers:
                server.start()
                server.make([SQL / "clickhouse" / "schema.sql"], "synctrace_local")
                server.make([SQL / "clickhouse" / "distributed.sql"], "synctrace")
            if "--kill" in sys.argv:
                push_with_a_killed_shard(binaries, dataset, servers, rows >> 17)
            else:
                timed("push", lambda: push(binaries, dataset, servers[0].url), f"push to two shards: {jobs * ranks:,} ranks")
            timed("push of what is there", lambda: push(binaries, dataset, servers[0].url), f"push of what is there: {jobs * ranks:,} ranks")
            counts = [int(server.ask("select count() as n from site_window", "synctrace_local")[0]["n"]) for server in servers]
            disk = sum(int(server.ask("select sum(bytes) as n from system.parts where active and database = 'synctrace_local'")[0]["n"])
                       for server in servers)
            print(f"{counts} rows of {rows:,} on the shards, {disk:,} bytes")
            for question in sorted((SQL / "clickhouse").glob("*.sql")):
                if question.stem not in ("schema", "distributed"):
                    found = timed(f"ClickHouse, {question.stem}", lambda question=question: servers[0].ask(question.read_text()))
                    print(f"  {len(found)} rows")
        finally:
            for server in servers:
                server.stop()


if __name__ == "__main__":
    main()
