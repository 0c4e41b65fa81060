# SPDX-License-Identifier: Apache-2.0
"""What `push` says when it cannot bring a dataset to a server: one sentence, which never has a password. Needs the program curl, and no
ClickHouse; with one, clickhouse_test.py."""
import http.server
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import datasets
from datasets import cli

SKIPPED = 77


class Answers(http.server.BaseHTTPRequestHandler):
    """Each request gets what `server.answer` says: status and text; None: nothing, for as long as the test lasts."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, self.headers, body))
        answer = self.server.answer(len(self.server.requests))
        if answer is None:
            return self.server.over.wait(60)
        self.send_response(answer[0])
        self.send_header("Content-Length", str(len(answer[1])))
        self.end_headers()
        self.wfile.write(answer[1].encode())

    def log_message(self, *_):
        pass


class Push(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-push-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.dataset = cls.folder / "dataset"
        datasets.rollup(cls.dataset, next(datasets.stored_traces(cls.folder)))

    def serve(self, answer, tls=None):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
            server.handle_error = lambda *_: None  # a client that hangs up
        server.daemon_threads, server.block_on_close = True, False
        server.answer, server.requests, server.over = answer, [], threading.Event()
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.addCleanup(server.over.set)
        return server, f"http://127.0.0.1:{server.server_address[1]}"

    def fails(self, url, sentence, *arguments, status=3):
        done = cli("push", self.dataset, "--clickhouse", url, *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertRegex(done.stderr, rf"\Asynctrace push: {sentence}\n\Z")
        return done

    GOES_ON = r"\. What arrived stays, and the same command goes on from there\."

    def test_no_server(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
        begin = time.monotonic()
        self.fails(f"http://127.0.0.1:{port}", rf"no answer from http://127\.0\.0\.1:{port} \(Failed to connect .*\)" + self.GOES_ON, "--tries", "2")
        self.assertGreater(time.monotonic() - begin, 0.5)

    def test_a_server_that_does_not_answer(self):
        _, url = self.serve(lambda _: None)
        self.fails(url, rf"no answer from {url} \(Operation timed out .*\)" + self.GOES_ON, "--tries", "1", "--timeout", "1")

    @unittest.skipIf(shutil.which("openssl") is None, "no openssl here")
    def test_tls_is_checked(self):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "1", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        server, url = self.serve(lambda _: (403, ""), context)
        url = url.replace("http:", "https:")
        self.fails(url, rf"no answer from {url} \(.*certificate.*\)" + self.GOES_ON, "--tries", "1")
        self.assertEqual(server.requests, [])
        os.environ["CURL_CA_BUNDLE"] = str(certificate)
        self.addCleanup(os.environ.pop, "CURL_CA_BUNDLE")
        self.fails(url, rf"{url} does not let this user in; .*")

    def test_a_refusal_is_not_asked_again(self):
        server, url = self.serve(lambda _: (500, "Code: 62, e.displayText() = DB::Exception: Syntax error\nmore"))
        self.fails(url, rf"{url} answers 500: Code: 62, e\.displayText\(\) = DB::Exception: Syntax error" + self.GOES_ON)
        self.assertEqual(len(server.requests), 1)

    def test_what_passes_is_asked_again(self):
        server, url = self.serve(lambda number: (500, "Code: 202, too many") if number < 3 else (404, "gone\x1b[2J"))
        self.fails(url, rf"{url} answers 404: gone\?\[2J" + self.GOES_ON)
        self.assertEqual(len(server.requests), 3)

    def test_another_kind_of_server(self):
        _, url = self.serve(lambda _: (200, "<html>"))
        self.fails(url, f"{url}: it does not answer as ClickHouse does; is it another server\\?" + self.GOES_ON)

    def test_rows_that_are_not_there_after_all_are_noticed(self):
        server, url = self.serve(lambda _: (200, ""))
        self.fails(url, r"the table runs has 0 rows of .*\.parquet and not 1; remove them .*" + self.GOES_ON)
        self.assertEqual(len(server.requests), 3)

    def test_credentials(self):
        secret = self.folder / "secret"
        secret.write_text("one\nsecret \\ \" word\n")
        secret.chmod(0o600)
        server, url = self.serve(lambda _: (403, "secret word"))
        self.fails(url, rf"{url} does not let this user in; set SYNCTRACE_CLICKHOUSE_USER .*", "--credentials", secret)
        self.assertEqual([server.requests[0][1][name] for name in ("X-ClickHouse-User", "X-ClickHouse-Key")], ["one", "secret \\ \" word"])
        secret.chmod(0o644)
        self.fails(url, rf"{secret}: others on this machine can read this --credentials file; chmod 600 it\.", "--credentials", secret, status=2)
        secret.write_text("one")
        secret.chmod(0o600)
        self.fails(url, rf"{secret}: --credentials wants two lines, the user and the password\.", "--credentials", secret, status=2)
        self.assertEqual(len(server.requests), 1)

    def test_addresses(self):
        for url in ("localhost:8123", "http://", "http:///x", "ftp://h", "http://h/?a=b", "http://h/\n", "http://h h"):
            self.fails(url, r"--clickhouse: .* is no address; write http://HOST:8123 or https://HOST:8443\.", status=2)
        done = self.fails("https://me:word@host", r"--clickhouse: no user and password in the address, .*", status=2)
        self.assertNotIn("word@", done.stderr)

    def test_files_that_are_not_theirs(self):
        for change, sentence in ((lambda file: file.rename(file.with_name("0" * 16 + ".parquet")), r"its rows and its name tell of different recordings; .*"),
                                 (lambda file: file.write_bytes(file.read_bytes()[:-9]), r"no Parquet file, or cut short\."),
                                 (lambda file: file.rename(file.parents[3] / file.name), r"its place in the dataset says no job, .*")):
            with self.subTest(sentence=sentence):
                dataset = self.folder / "changed"
                shutil.copytree(self.dataset, dataset)
                self.addCleanup(shutil.rmtree, dataset, ignore_errors=True)
                change(next(dataset.glob("runs/*/*/*/*.parquet")))
                _, url = self.serve(lambda _: (200, ""))
                done = cli("push", dataset, "--table", "runs", "--clickhouse", url)
                self.assertEqual(done.returncode, 3)
                self.assertRegex(done.stderr, rf"\Asynctrace push: {dataset}/runs/\S+\.parquet: {sentence}\n")
                shutil.rmtree(dataset)

    def test_no_tables(self):
        done = cli("push", self.folder / "nowhere", "--clickhouse", "http://localhost")
        self.assertEqual(done.returncode, 4)
        self.assertRegex(done.stderr, r"^synctrace push: no tables in .*; synctrace rollup TRACE\.\.\. -o .* makes them\.\n$")

    def test_without_curl(self):
        path = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        os.environ["PATH"] = str(self.folder)
        self.fails("http://localhost", r"the program curl cannot be started \(No such file or directory\); install it" + self.GOES_ON)


if __name__ == "__main__":
    if shutil.which("curl") is None:
        print("SKIP: nothing was pushed: the program curl is not installed")
        sys.exit(SKIPPED)
    os.environ["no_proxy"] = "127.0.0.1"
    unittest.main()
