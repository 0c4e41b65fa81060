# SPDX-License-Identifier: Apache-2.0
"""A new ClickHouse takes the same tables, blocks and questions as the old one of clickhouse_test.py: its engine as a library, with a
little HTTP server before it. Skipped without ROLLUP_LIBCHDB, the path of libchdb.so."""
import http.server
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse

import answers
import chdb_reader
import datasets

SQL = answers.QUESTIONS / "clickhouse"
SKIPPED = 77


def statements(file):
    text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--"))
    return filter(str.strip, text.split(";"))


class Front(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("query")
        try:
            if query:
                self.server.block.write_bytes(body)
                into, name = query[0].rsplit(" format ", 1)
                self.server.engine.rows(f"{into} from infile '{self.server.block}' format {name}")
                status, text = 200, ""
            else:
                rows = self.server.engine.rows(body.decode().rsplit(" format ", 1)[0])[1:]
                status, text = 200, "".join("\t".join(row) + "\n" for row in rows)
        except RuntimeError as error:
            status, text = 500, str(error)
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


def wrong_of(folder, engine):
    for statement in ("create database synctrace", "use synctrace", *statements(SQL / "schema.sql")):
        engine.rows(statement)
    dataset = datasets.fleet(folder)
    server = http.server.HTTPServer(("127.0.0.1", 0), Front)
    server.engine, server.block, server.timeout = engine, folder / "block", 1
    for _ in range(2):  # the second has nothing to bring
        push = subprocess.Popen([datasets.SYNCTRACE, "push", dataset, "--clickhouse", f"http://127.0.0.1:{server.server_address[1]}"])
        while push.poll() is None:
            server.handle_request()
        if push.returncode != 0:
            return ["push failed"]
    wrong = []
    for name, expected in answers.of_dataset(dataset).items():
        names, *rows = engine.rows((SQL / f"{name}.sql").read_text().replace("today() - 7", "toDate('1970-01-01')")) or [[]]
        wrong += answers.differences("new ClickHouse", name, [dict(zip(names, row)) for row in rows], expected)
    return wrong + [str(row) for row in engine.rows((SQL / "check_hours.sql").read_text())[1:]]


if __name__ == "__main__":
    if "ROLLUP_LIBCHDB" not in os.environ:
        print("SKIP: no new ClickHouse was asked: set ROLLUP_LIBCHDB to the path of libchdb.so")
        sys.exit(SKIPPED)
    os.environ["no_proxy"] = "127.0.0.1"
    with tempfile.TemporaryDirectory(prefix="synctrace-engine-") as name:
        wrong = wrong_of(pathlib.Path(name), chdb_reader.Engine(os.environ["ROLLUP_LIBCHDB"]))
    print("\n".join(wrong))
    sys.stdout.flush()
    os._exit(1 if wrong else 0)  # the library does not end by itself
