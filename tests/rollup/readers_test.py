# SPDX-License-Identifier: Apache-2.0
"""DuckDB's library and hyparquet read the tables of all stored traces, of jobs, of damaged and empty traces, as the reader
of this folder does; the questions of libsynctrace/rollup/duckdb have the answers of `fleet report`. Fetched from npm by the committed lock
file into the build folder, once; skipped with one line where node, npm or these cannot be had. With ROLLUP_LIBCHDB, the path of
libchdb.so, ClickHouse's engine reads them too."""
import filecmp
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import answers
import datasets
import parquet_file

HERE = pathlib.Path(__file__).resolve().parent
MODULES = pathlib.Path(os.environ["ROLLUP_MODULES"])
SKIPPED = 77
OLDEST_NODE = 20


def skip(why):
    print(f"SKIP: the tables were not read by readers of others: {why}")
    return SKIPPED


def fetched():
    """None once node_modules is what the lock file says; else why not."""
    stamp, lock = MODULES / "fetched-lock.json", HERE / "package-lock.json"
    if stamp.exists() and filecmp.cmp(stamp, lock, shallow=False):
        return None
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, MODULES / name)
    # Not `npm ci`, which asks the lock file for DuckDB's libraries of other systems too.
    done = subprocess.run(["npm", "install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=MODULES, capture_output=True,
                          text=True, check=False)
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.startswith("npm error ")]
        return "npm cannot fetch them: " + " ".join(said[:2])
    shutil.copy(lock, stamp)
    return None


def cell(value):
    return f"{len(value.encode())}:{value}" if isinstance(value, str) else str(value)


def digest(names, rows):
    text = hashlib.sha256(",".join(map(cell, names)).encode())
    for row in rows:
        text.update(("\n" + ",".join(map(cell, row))).encode())
    return text.hexdigest()


def expected(path):
    file = parquet_file.ParquetFile(path)
    return len(file.rows), digest([column.name for column in file.columns], [list(row.values()) for row in file.rows])


def make_datasets(folder):
    """One of everything that is stored, with a job; and one of each kind of trouble."""
    traces = list(datasets.stored_traces(folder))
    datasets.rollup(folder / "stored", *traces)
    job = datasets.generated_job(folder / "job", 4, 30, 20, 2_000_000, "read")
    datasets.rollup(folder / "stored", "--job", "four ranks", *job)
    for number, trace in enumerate(traces[::4]):
        data = trace.read_bytes()
        cut = folder / f"cut-{number}.synctrace"
        cut.write_bytes(data[:len(data) * 2 // 3])
        datasets.rollup(folder / "damaged", cut)
        flipped = bytearray(data)
        for place in range(100, len(data), 997):
            flipped[place] ^= 0x5A
        cut.write_bytes(flipped)
        datasets.cli("rollup", "--no-symbols", "-o", folder / "damaged", cut)
    text = folder / "nothing.trace.txt"
    text.write_text("synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=4711\nchunk\nschemas\n")
    datasets.ok("dump", "-f", "--assemble", text, "-o", folder / "nothing.synctrace")
    datasets.rollup(folder / "empty", folder / "nothing.synctrace")
    return folder / "stored"


def check_questions(lines, expected):
    asked = {line["question"]: [dict(zip(line["names"], row)) for row in line["rows"]] for line in lines if "question" in line}
    wrong = [sentence for name, rows in asked.items() for sentence in answers.differences("DuckDB", name, rows, expected[name])]
    empty = [name for name in asked if not asked[name] and name != "check"]
    return wrong + [f"DuckDB, {name}: no rows, so nothing was tested" for name in empty] + [
        f"DuckDB, {name}: not asked" for name in expected.keys() - asked.keys()]


def check_files(lines, files):
    wrong = []
    read = {(line["reader"], line["path"]): (line["rows"], line["digest"]) for line in lines if "reader" in line}
    for path in files:
        told = expected(path)
        for reader in sorted({reader for reader, _ in read}):
            if read.get((reader, str(path))) != told:
                wrong.append(f"{reader} reads {path} differently: {read.get((reader, str(path)))}, not {told}")
    return wrong


def main():
    if shutil.which("npm") is None or shutil.which("node") is None:
        return skip("no node and npm here")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=False).stdout
    if int(version.lstrip("v").split(".")[0] or 0) < OLDEST_NODE:
        return skip(f"node {version.strip()} is older than {OLDEST_NODE}")
    if (why := fetched()) is not None:
        return skip(why)
    with tempfile.TemporaryDirectory(prefix="synctrace-rollup-") as name:
        folder = pathlib.Path(name)
        make_datasets(folder)
        (folder / "fleet").mkdir()
        dataset = datasets.fleet(folder / "fleet")
        files = sorted(folder.rglob("*.parquet"))
        request = {"files": list(map(str, files)), "tables": (answers.QUESTIONS / "duckdb" / "tables.sql").read_text(), "dataset": str(dataset),
                   "questions": {name: (answers.QUESTIONS / "duckdb" / f"{name}.sql").read_text() for name in answers.COLUMNS}}
        done = subprocess.run(["node", HERE / "readers.mjs", MODULES], input=json.dumps(request), stdout=subprocess.PIPE, text=True, check=False)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        if library := os.environ.get("ROLLUP_LIBCHDB"):
            import chdb_reader  # takes half a gigabyte of memory to load
            lines += chdb_reader.read(library, files, digest)
        wrong = check_files(lines, files) + check_questions(lines, answers.of_dataset(dataset))
    print("\n".join(wrong))
    readers = sorted({line["reader"] for line in lines if "reader" in line})
    print(f"{len(files)} files, read by {', '.join(readers)}")
    complete = done.returncode == 0 and len(readers) >= 2
    return 0 if complete and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
