# SPDX-License-Identifier: Apache-2.0
"""ClickHouse servers on loopback, each in a folder of its own, without and with a cluster: the package's program, a small
configuration. Old servers and new ones."""
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

PROGRAM = shutil.which("clickhouse-server")
PATIENCE_S = 60

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log><errorlog>{folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path><users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size><uncompressed_cache_size>0</uncompressed_cache_size><max_concurrent_queries>50</max_concurrent_queries>
<remote_servers><synctrace>{shards}</synctrace></remote_servers></yandex>
"""
SHARD = "<shard><replica><host>127.0.0.1</host><port>{}</port><user>fleet</user><password>{}</password></replica></shard>"
USERS = """<yandex><profiles><default/></profiles><quotas><default/></quotas><users>
<fleet><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></fleet>
</users></yandex>
"""
PASSWORD = "a \\ of \" and &amp;"  # in XML's form
PLAIN_PASSWORD = PASSWORD.replace("&amp;", "&")


class Server:
    """`tcp_ports`: of all shards of its cluster, its own among them."""

    def __init__(self, folder, http, tcp, tcp_ports):
        self.folder, self.url, self.process = pathlib.Path(folder), f"http://127.0.0.1:{http}", None
        for name in ("data", "tmp"):
            (self.folder / name).mkdir(parents=True)
        shards = "".join(SHARD.format(port, PASSWORD) for port in tcp_ports)
        (self.folder / "config.xml").write_text(CONFIG.format(folder=self.folder, http=http, tcp=tcp, shards=shards))
        (self.folder / "users.xml").write_text(USERS.format(password=PASSWORD))

    def start(self):
        with (self.folder / "output").open("ab") as output:
            self.process = subprocess.Popen([PROGRAM, f"--config-file={self.folder}/config.xml"], cwd=self.folder, stdout=output, stderr=output)
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(self.url + "/ping", timeout=5):
                    return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if time.monotonic() > end or self.process.poll() is not None:
                    raise RuntimeError("the server does not start: " + (self.folder / "output").read_text(errors="replace")[-2000:]) from None
                time.sleep(0.05)

    def stop(self, how=signal.SIGTERM):
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE_S)
            self.process = None

    def ask(self, query, database="synctrace"):
        """The answer's rows, as dicts of texts."""
        address = self.url + "/?" + urllib.parse.urlencode({"database": database, "wait_end_of_query": 1, "default_format": "TabSeparatedWithNames"})
        headers = {"X-ClickHouse-User": "fleet", "X-ClickHouse-Key": PLAIN_PASSWORD}
        try:
            with urllib.request.urlopen(urllib.request.Request(address, query.encode(), headers), timeout=PATIENCE_S) as answer:
                names, *rows = [line.split("\t") for line in answer.read().decode().split("\n")[:-1]] or [[]]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode(errors="replace")) from None
        return [dict(zip(names, row)) for row in rows]

    def make(self, files, database):
        """A database, with what files of SQL make in it."""
        self.ask(f"create database if not exists {database}", "default")
        for file in files:
            text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("--"))
            for statement in filter(str.strip, text.split(";")):
                self.ask(statement, database)


def servers(folder, count):
    ports = free_ports(2 * count)
    return [Server(folder / f"server-{one}", ports[one], ports[count + one], ports[count:]) for one in range(count)]
