# SPDX-License-Identifier: Apache-2.0
"""`push` brings a dataset to ClickHouse once, whatever happens on the way: to a server alone, and to one of two shards on loopback. The
questions of libsynctrace/rollup/clickhouse have the answers of `fleet report`. Skipped where clickhouse-server is not installed."""
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import unittest

import answers
import clickhouse_server
import cutting_proxy
import datasets
from datasets import TABLES, cli

SQL = answers.QUESTIONS / "clickhouse"
SKIPPED = 77


def rows_in(dataset):
    return {table: len(datasets.rows_of(dataset, table)) for table in TABLES}


class Clickhouse(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-clickhouse-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.dataset = datasets.fleet(cls.folder)
        cls.rows = rows_in(cls.dataset)
        cls.servers = clickhouse_server.servers(cls.folder, 2)
        for server in cls.servers:
            cls.addClassCleanup(server.stop)
            server.start()
        os.environ.update(SYNCTRACE_CLICKHOUSE_USER="fleet", SYNCTRACE_CLICKHOUSE_PASSWORD=clickhouse_server.PLAIN_PASSWORD)

    def setUp(self):
        """Empty tables: alone on the first server, and sharded over both."""
        for server in self.servers:
            for database in ("alone", "synctrace", "synctrace_local"):
                server.ask(f"drop database if exists {database}", "default")
            server.make([SQL / "schema.sql"], "synctrace_local")
            server.make([SQL / "distributed.sql"], "synctrace")
        self.servers[0].make([SQL / "schema.sql"], "alone")

    def push(self, database, url=None, *arguments, dataset=None):
        return cli("push", dataset or self.dataset, "--clickhouse", url or self.servers[0].url, "--database", database, *arguments)

    def count(self, table, database="synctrace", server=0):
        return int(self.servers[server].ask(f"select count() as n from {table}", database)[0]["n"])

    def assert_all_there_once(self, database="synctrace"):
        self.assertEqual({table: self.count(table, database) for table in TABLES}, self.rows)
        for check in ("check", "check_hours"):
            self.assertEqual(self.servers[0].ask((SQL / f"{check}.sql").read_text(), database), [])

    def test_answers_of_one_server_and_of_two_shards(self):
        expected = answers.of_dataset(self.dataset)
        for database in ("alone", "synctrace"):
            done = self.push(database)
            total = sum(self.rows.values())
            self.assertEqual((done.returncode, done.stderr), (0, f"synctrace push: the server has all {total:,} rows; {total:,} of them are new\n"))
            self.assert_all_there_once(database)
            for name, rows in expected.items():
                question = (SQL / f"{name}.sql").read_text().replace("today() - 7", "toDate('1970-01-01')")
                found = self.servers[0].ask(question, database)
                self.assertEqual(answers.differences(database, name, found, rows), [])
                self.assertEqual(found == [], name == "check", name)
        for table in ("sites", "site_window"):
            parts = [self.count(table, "synctrace_local", server) for server in (0, 1)]
            self.assertEqual(sum(parts), self.rows[table])
            self.assertGreater(min(parts), 0)

    def test_the_dashboard_asks_the_same_questions(self):
        self.push("alone")
        dashboard = json.loads((answers.QUESTIONS / "grafana" / "fleet.json").read_text())
        asked = {}
        for panel in dashboard["panels"]:
            query = panel["targets"][0]["rawSql"]
            plain = query.replace("$__dateFilter(date)", "date >= today() - 7")
            asked[panel["title"]] = plain
            found = self.servers[0].ask(plain.replace("today() - 7", "toDate('1970-01-01')").replace("$__timeFilter(hour)", "1"), "alone")
            self.assertGreater(len(found), 0, panel["title"])
            for override in panel["fieldConfig"]["overrides"]:
                self.assertIn(override["matcher"]["options"], found[0], panel["title"])
        for name in answers.COLUMNS:
            text = "\n".join(line for line in (SQL / f"{name}.sql").read_text().splitlines() if not line.startswith("--"))
            self.assertEqual(text in asked.values(), name != "check", name)
        places = [tuple(panel["gridPos"][key] for key in "xywh") for panel in dashboard["panels"]]
        cells = [(x + i, y + j) for x, y, w, h in places for i in range(w) for j in range(h)]
        self.assertEqual(len(cells), len(set(cells)))
        self.assertLess(max(x for x, _ in cells), 24)
        self.assertEqual(len({panel["id"] for panel in dashboard["panels"]}), len(places))

    def test_values_arrive_as_they_are(self):
        self.push("alone")
        file = datasets.parquet_file.ParquetFile(next(self.dataset.glob("sites/job=a%2Fb/*/*/*.parquet")))
        run = file.rows[0]["run"]
        found = self.servers[0].ask(f"select * from sites where run = {run} order by site", "alone")
        escapes = {"\\": "\\\\", "\n": "\\n", "\t": "\\t", "'": "\\'"}
        shown = lambda value: "".join(escapes.get(one, one) for one in str(value))
        self.assertEqual([{name: row[name] for name in file.rows[0]} for row in found],
                         [{name: shown(value) for name, value in row.items()} for row in sorted(file.rows, key=lambda row: row["site"])])
        self.assertEqual({(row["job"], row["rank"]) for row in found}, {("a/b", "-1")})

    def test_a_second_push_adds_nothing(self):
        self.push("synctrace")
        done = self.push("synctrace")
        self.assertEqual(done.returncode, 0)
        self.assertIn("; 0 of them are new\n", done.stderr)
        self.assert_all_there_once()

    def test_another_rollup_of_a_recording_is_refused_until_the_first_is_removed(self):
        self.push("alone")
        other = self.folder / "other"
        shutil.copytree(self.dataset, other)
        self.addCleanup(shutil.rmtree, other)
        file = sorted(other.glob("ranks/*/*/*/*.parquet"))[0]
        moved = other / "ranks" / "job=renamed" / file.relative_to(other / "ranks").relative_to(file.relative_to(other / "ranks").parts[0])
        moved.parent.mkdir(parents=True)
        file.rename(moved)
        done = self.push("alone", dataset=other)
        self.assertEqual(done.returncode, 3)
        said = re.search(rf"^synctrace push: {re.escape(str(moved))}: the table ranks has other rows .*\((alter table [^)]*)\) and push again\.$",
                         done.stderr, re.MULTILINE)
        self.assertIsNotNone(said, done.stderr)
        self.assert_all_there_once("alone")
        self.servers[0].ask(said[1], "alone")  # which it does in a while
        self.servers[0].ask("truncate table ranks", "alone")
        self.assertEqual(self.push("alone", dataset=other).returncode, 0)
        self.assert_all_there_once("alone")

    def test_each_harm_on_the_way(self):
        harms = ("unanswered", "half", "", "unheard", "", "busy", "", "slow")
        proxy = cutting_proxy.Proxy(self.servers[0].url, lambda number, _: harms[number] if number < len(harms) else "")
        self.addCleanup(proxy.stop)
        done = self.push("synctrace", proxy.url, "--timeout", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(proxy.inserts, len(TABLES) + 3)  # "unanswered" and "slow" were heard: not sent again
        self.assert_all_there_once()

    def test_a_shard_dies_during_the_push_and_comes_back(self):
        def kill_at_sites(_, query):
            if query.startswith("insert into sites "):
                self.servers[1].stop(signal.SIGKILL)
            return ""
        proxy = cutting_proxy.Proxy(self.servers[0].url, kill_at_sites)
        self.addCleanup(proxy.stop)
        done = self.push("synctrace", proxy.url, "--tries", "2")
        self.servers[1].start()
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^synctrace push: http://[\d.:]+ answers 500: Code: \d+.*\. What arrived stays, and the same command goes "
                                      r"on from there\.\n$")
        self.assertLess(self.count("sites"), self.rows["sites"])
        self.assertEqual(self.push("synctrace").returncode, 0)
        self.assert_all_there_once()

    def test_hours_that_were_lost_are_found_and_made_anew(self):
        self.push("alone", None, "--table", "site_window")
        week = self.servers[0].ask("select toMonday(date) as week, count() as n from site_hours group by week order by n desc", "alone")[0]["week"]
        self.servers[0].ask(f"alter table site_hours drop partition '{week}'", "alone")
        check = (SQL / "check_hours.sql").read_text()
        self.assertGreater(len(self.servers[0].ask(check, "alone")), 0)
        select = re.search(r"create materialized view .*?\n(select .*?);", (SQL / "schema.sql").read_text(), re.DOTALL)[1]
        self.servers[0].ask("insert into site_hours " + select.replace("group by", f"where toMonday(date) = '{week}'\ngroup by"), "alone")
        self.assertEqual(self.servers[0].ask(check, "alone"), [])

    def test_wrong_passwords_are_not_shown(self):
        secret = self.folder / "secret"
        secret.write_text("fleet\nnot the right one\n")
        secret.chmod(0o600)
        done = self.push("alone", None, "--credentials", secret)
        self.assertEqual(done.returncode, 3)
        self.assertRegex(done.stderr, r"^synctrace push: http://[\d.:]+ does not let this user in; set SYNCTRACE_CLICKHOUSE_USER")
        self.assertNotIn("right one", done.stderr)

    def test_tables_that_are_not_there(self):
        for database in ("default", "nowhere"):
            done = self.push(database)
            self.assertEqual(done.returncode, 3)
            self.assertRegex(done.stderr, rf"^synctrace push: http://[\d.:]+ has no such tables in its database '{database}'; make them with schema\.sql")


if __name__ == "__main__":
    if clickhouse_server.PROGRAM is None:
        print("SKIP: nothing was pushed to ClickHouse: clickhouse-server is not installed")
        sys.exit(SKIPPED)
    os.environ["no_proxy"] = "127.0.0.1"
    unittest.main()
