# SPDX-License-Identifier: Apache-2.0
"""An HTTP server between a client and a server, which does harm to requests as it is told, in their order."""
import http.client
import http.server
import socket
import threading
import time
import urllib.parse


class Proxy:
    """`harm(number, query)`: for each insert, from 0 on, what happens to it: "" nothing, or a name below. Selects pass."""

    def __init__(self, url, harm):
        self.target, self.harm, self.inserts, self.lock = urllib.parse.urlsplit(url).netloc, harm, 0, threading.Lock()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                proxy.handle(self)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def handle(self, request):
        body = request.rfile.read(int(request.headers["Content-Length"]))
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(request.path).query).get("query", [""])[0]
        harm = ""
        if query.startswith("insert"):
            with self.lock:
                harm, self.inserts = self.harm(self.inserts, query), self.inserts + 1
        cut = lambda: request.connection.shutdown(socket.SHUT_RDWR)
        if harm == "unheard":
            return cut()
        if harm == "half":
            return self.send_half(request, body), cut()
        if harm == "busy":
            return self.answer(request, 503, b"try later\n")
        connection = http.client.HTTPConnection(self.target, timeout=120)
        connection.request("POST", request.path, body, dict(request.headers))
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        if harm == "unanswered":
            return cut()
        if harm == "slow":
            time.sleep(3)
        return self.answer(request, answer.status, content)

    def send_half(self, request, body):
        host, port = self.target.split(":")
        with socket.create_connection((host, int(port))) as out:
            head = f"POST {request.path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in request.headers.items()) + "\r\n"
            out.sendall(head.encode() + body[:len(body) // 2])

    @staticmethod
    def answer(request, status, content):
        try:
            request.send_response(status)
            request.send_header("Content-Length", str(len(content)))
            request.end_headers()
            request.wfile.write(content)
        except OSError:
            pass  # the client has gone
