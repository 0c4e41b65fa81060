# SPDX-License-Identifier: Apache-2.0
"""No two outputs disagree about a trace: the same counts, times, shares and verdicts in text, JSON, Markdown, CSV, page and gate,
on every stored trace; causes sum to idle time; a trace does not differ from itself."""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import digest
import outputs
import schema

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
GOLDEN = pathlib.Path(os.environ["GOLDEN_FOLDER"]).resolve()
TRACES = sorted([*GOLDEN.rglob("*.synctrace"), *GOLDEN.rglob("*.trace.txt")])
PATIENCE_S = 600
ROWS = 20  # in a table of text and Markdown

VERDICTS = {"waits": "waits", "sometimes-waits": "sometimes", "redundant": "redundant", "own-copy": "own copy only",
            "no-wait": "no wait", "unclear": "unclear"}
TABLES = (("causes", "idle_ns", "idle", "was idle"), ("copy_only_causes", "copy_only_ns", "copying", "only copied"))
FIGURES = ("count", "blocked_count", "redundant_count", "own_copy_count", "unclear_count", "host_blocked_ns", "bytes")


def is_edge(cause):
    return cause["cause"] in ("startup", "shutdown", "capture-edge")


class Outputs:
    """All that is said of one trace."""

    def __init__(self, trace, folder):
        self.trace = trace
        self.folder = folder
        if trace.name.endswith(".txt"):
            self.trace = folder / "stored.synctrace"
            self.run("dump", "-f", "--assemble", trace, "-o", self.trace)
        self.report, = json.loads(self.out("json", "--html", folder / "page.html"))["processes"]
        self.all, = json.loads(self.out("json", "--outside-windows"))["processes"]
        self.text = self.out("text")
        self.screen = self.run("report", "--no-symbols", self.trace)
        self.markdown = self.out("md")
        self.digest = self.run("report", "--no-symbols", "--format", "agent", self.trace)
        self.changes_text = self.run("report", "--no-symbols", "--format", "json", "--changes", self.trace)
        self.csv = outputs.csv_rows(self.out("csv"))
        self.page = outputs.Page((folder / "page.html").read_text(encoding="utf-8"))
        # No range has that name, so that the gate judges all of the run, as the report counts it.
        self.gate = json.loads(self.run("gate", "--no-config", "--no-symbols", "--all", "--step-range=no such range", "--format", "json",
                                        self.trace, status=(0, 1, 4)))

    def out(self, form, *more):
        return self.run("report", "--full", "--no-symbols", "--format", form, *more, self.trace)

    def run(self, *arguments, status=(0,)):
        return self.run_in(self.folder, *arguments, status=status)

    @staticmethod
    def run_in(folder, *arguments, status=(0,)):
        done = subprocess.run([SYNCTRACE, *map(str, arguments)], cwd=folder, capture_output=True, text=True, encoding="utf-8",
                              timeout=PATIENCE_S, check=False)
        if done.returncode not in status:
            raise AssertionError(f"{arguments}: status {done.returncode}: {done.stderr}")
        return done.stdout


class Agreement(unittest.TestCase):
    maxDiff = None

    def test_every_stored_trace(self):
        self.assertGreaterEqual(len(TRACES), 26)
        for trace in TRACES:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-agreement-"))
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            with self.subTest(trace.name):
                found = Outputs(trace, folder)
                for check in (self.check_sums, self.check_savings, self.check_range, self.check_sets, self.check_causes, self.check_irregular, self.check_waits, self.check_gate, self.check_verdict, self.check_digest, self.check_diff):
                    check(found)

    def test_every_field_of_the_json_is_explained(self):
        page = (GOLDEN.parents[1] / "docs" / "report-json.md").read_text(encoding="utf-8")
        explained = set(re.findall(r"`(\w+)`", page))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-agreement-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        traces = [trace for trace in TRACES if trace.name.endswith(".synctrace") and trace.parent.name != "frameworks"]
        asked = ["--what-if", "fix@torch_loop.py:47"]
        told = json.loads(Outputs.run_in(folder, "report", "--no-symbols", "--format", "json", *asked, *traces))
        self.assertEqual(list(told), ["schema_version", "simulated", "processes"])
        self.assertEqual([one["process"]["trace"] for one in told["processes"]], [str(trace) for trace in traces])
        self.assertTrue(all(one["schema_version"] == told["schema_version"] == 2 for one in told["processes"]))
        self.assertEqual(sorted(set(keys_of(told)) - explained), [])

    def test_every_column_is_explained(self):
        manual = (GOLDEN.parents[1] / "docs" / "man" / "synctrace-report.1").read_text(encoding="utf-8")
        bold = " ".join(re.findall(r"^\.(?:B|BR|BI|SS) (.*)", manual[manual.index(".SH TABLES"):], re.MULTILINE))
        explained = set(re.findall(r"[a-z0-9]+", bold))
        heads = set()
        for text in GOLDEN.rglob("*.report.txt"):
            lines = text.read_text(encoding="utf-8").split("\n")
            heads |= {line for before, line in zip(lines, lines[1:]) if re.match(r"[A-Z]", before) and re.fullmatch(r" {2,}[a-z][a-z0-9 ]*", line)}
        self.assertGreaterEqual(len(heads), 10)
        for head in sorted(heads):
            self.assertEqual([word for word in head.split() if word not in explained], [], head)

    def check_sums(self, found):
        for device in found.report["devices"]:
            for key, whole, _, _ in TABLES:
                if device[whole] is not None:
                    self.assertEqual(sum(cause["idle_ns"] for cause in device[key]), device[whole])

    def check_savings(self, found):
        """A line's host code and its fix save the same, in causes, fixes and changes."""
        if found.report["savings"] is None:
            return
        changes = found.report["savings"]["remedies"]
        told = outputs.markdown_table(found.markdown, "What to change")
        if told and told[0][0].isdigit():
            base = found.report["savings"]["base_ns"]
            expected = [(f"{each['title']} [{each['rule']}]" if each["rule"] else each["title"], len(each["to_type"]),
                         outputs.share(each["marginal_saving_ns"], base)) for each in changes if 100 * each["marginal_saving_ns"] >= base
                        and each["cumulative"]["grade"] != "none"]
            self.assertEqual([(row[1].replace("\\", ""), row[3].count("<br>") + 1 if row[3] else 0, row[4]) for row in told], expected)
        def place(row):  # a line by itself, and the same line through a helper, are two places
            return row["file"], row["line"], (row["through"] or {}).get("line")

        fixes = {place(fix): fix["alone_ns"] for row in [*found.report["fix_order"], *changes] for fix in row["fixes"]
                 if fix["fix"] == "speed-up" and fix["line"] is not None}
        for device in found.report["devices"]:
            for cause in device["causes"]:
                alone = fixes.get(place(cause))
                if cause["rule"] == "ST052" and alone is not None and (cause["saving"] is None or cause["saving"]["fix"] == "speed-up"):
                    self.assertIsNotNone(cause["saving"], cause["source"])

    def check_changes(self, found):
        """On the first screen each row adds what it saves, or a sentence says what is counted beside the rows."""
        rows = [tuple(map(float, row)) for row in re.findall(r"^ .* ([\d.]+) %  ([\d.]+) % \([\d -]+\)$", found.screen, re.MULTILINE)]
        if not rows:
            return
        falls = all(before >= after for (before, _), (after, _) in zip(rows, rows[1:]))
        self.assertEqual("What to change, best first" in found.screen, falls, found.screen)
        self.assertEqual("What to change, in this order" in found.screen, not falls, found.screen)
        beside = rows[-1][1] - sum(saves for saves, _ in rows)
        said = re.search(r"Left out, ([\d.]+) % together \(\"all so far\" counts (?:it|([\d.]+) % of it)\)", found.screen.replace("\n", " "))
        self.assertAlmostEqual(beside, float(said[2] or said[1]) if said else 0, delta=0.1 * (len(rows) + 1), msg=found.screen)

    def check_range(self, found):
        """Between which times a step lies without the recorder."""
        savings = found.report["savings"]
        if savings is None or savings["refused"]:
            return
        self.assertLessEqual(savings["base_lo_ns"], savings["base_ns"])
        self.assertLessEqual(savings["base_ns"], savings["base_hi_ns"])
        parts = savings["steps"] if savings["basis"] == "steps" else 1
        least, most = (outputs.duration(savings[end] // parts) for end in ("base_lo_ns", "base_hi_ns"))
        is_slower = 100 * (savings["recorded_ns"] - savings["base_ns"]) > savings["base_ns"]
        self.assertEqual(f"  Without the recorder {least} to {most}: " in found.text, is_slower and least != most)
        self.assertEqual(f"{least} to {most}; " in found.page.text, least != most)

    def check_sets(self, found):
        """The page's switches: with the first ones on a set saves what the last of these says, with all on what all do."""
        sets = found.page.sets()
        if not sets:
            return
        savings = found.report["savings"]
        changes = savings["remedies"]
        shown = found.page.changes()
        for saving, least, most in sets.values():
            self.assertTrue(0 <= least <= max(saving, 0) <= most <= savings["base_ns"], (saving, least, most))
        self.assertEqual(sets[max(sets)][0], changes[-1]["cumulative"]["ns"])
        for count in range(1, len(shown)):
            if [change["title"] for change in changes[:count]] == shown[:count]:
                self.assertEqual(sets[2 ** count - 1][0], changes[count - 1]["cumulative"]["ns"])

    def test_a_set_of_changes_saves_what_the_same_question_is_answered(self):
        """Each set of the page is a replay of its own: --what-if about the same lines says the same, to the nanosecond."""
        for name, most in (("advice.thrust_temporaries", 15), ("point_strokes.fps", 13), ("advice.pageable_upload", 3)):
            folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-agreement-"))
            self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
            found = Outputs(GOLDEN / "frameworks" / f"{name}.synctrace", folder)
            changes = found.report["savings"]["remedies"]
            asked = 0
            for chosen, (saving, _, _) in found.page.sets().items():
                on = [change for i, change in enumerate(changes) if chosen >> i & 1]
                if chosen > most or any(change["fix"] == "kernels" for change in on):
                    continue
                lines = {f"{fix['fix']}@{fix['file']}:{fix['line']}" for change in on for fix in change["fixes"]}
                answer, = json.loads(found.out("json", "--what-if", ",".join(sorted(lines))))["processes"]
                self.assertEqual(answer["savings"]["asked"]["saving"]["ns"], saving, (name, chosen))
                asked += 1
            self.assertGreaterEqual(asked, 3, name)
            # That a page was asked for changes no other output.
            self.assertEqual(found.report, json.loads(found.out("json"))["processes"][0])

    def check_causes(self, found):
        has_steps = found.report["steps"]["count"] > 0
        rows_of_page = found.page.causes()
        spreadsheet = [row for row in found.csv if row["table"] in ("idle", "copy-only")]
        for place, device in enumerate(found.report["devices"]):
            for key, _, kind, words in TABLES:
                causes = device[key]
                counted = [cause["idle_in_steps_ns"] if has_steps else cause["idle_ns"] for cause in causes]
                rows = [i for i, cause in enumerate(causes) if not is_edge(cause) and counted[i] > 0]
                edges = [i for i, cause in enumerate(causes) if is_edge(cause)]
                whole = sum(counted[i] for i in rows) if has_steps else sum(cause["idle_ns"] for cause in causes)
                shown = [(causes[i], outputs.duration(counted[i]), outputs.share(counted[i], whole)) for i in rows[:ROWS]]
                shown += [(causes[i], outputs.duration(causes[i]["idle_ns"]), "-" if has_steps else outputs.share(causes[i]["idle_ns"], whole))
                          for i in edges]
                title = f"Why GPU {device['id']} {words}"
                waiting = [outputs.duration(cause["host_blocked_ns"]) if cause["host_blocked_ns"] else "-" for cause, _, _ in shown]
                self.assertEqual(outputs.text_causes(found.text, title),
                                 [(fitted(cause["name"], 17), idle, share, cause["count"], wait) for (cause, idle, share), wait in zip(shown, waiting)])
                table = [row for row in outputs.markdown_table(found.markdown, title) if not row[1].startswith(("and ", "irregular steps", "outside of"))]
                self.assertEqual([(row[1], row[4], row[5] or "-", int(row[7].replace(",", "")), row[8] or "-") for row in table],
                                 [(cause["name"], idle, share, cause["count"], wait) for (cause, idle, share), wait in zip(shown, waiting)])
                for i in rows:
                    row = rows_of_page.get((place, kind, i))
                    if row is None:
                        self.assertGreaterEqual(rows.index(i), 8)  # a page has room for the first ones at least
                        continue
                    self.assertEqual(row, (counted[i], outputs.duration(counted[i]), outputs.share(counted[i], whole), causes[i]["count"],
                                           causes[i]["host_blocked_ns"]))
                if found.page.payload is not None:
                    told = found.page.payload["devices"][place][kind]
                    self.assertEqual([(one["name"], one["idle_ns"], one["edge"]) for one in told],
                                     [(cause["name"], cause["idle_ns"], is_edge(cause)) for cause in causes[:len(told)]])
                of_csv = [row for row in spreadsheet if int(row["gpu"]) == device["id"] and row["table"] == ("idle" if kind == "idle" else "copy-only")]
                self.assertEqual([tuple(int(row[name]) for name in ("count", "host_blocked_ns", "idle_ns", "idle_in_steps_ns")) for row in of_csv],
                                 [tuple(cause[name] for name in ("count", "host_blocked_ns", "idle_ns", "idle_in_steps_ns")) for cause in causes])

    def check_irregular(self, found):
        """What irregular steps cost is no part of verdict and causes, and of savings only where slow steps count; what is said apart
        is what the JSON has."""
        steps, savings = found.report["steps"], found.report["savings"]
        if savings and savings["refused"] is None and savings["basis"] == "steps":
            slow = savings["slow_steps_ns"]
            self.assertEqual(savings["steps"], steps["count"] - (0 if slow else steps["irregular_count"]))
            self.assertLessEqual(abs((savings["recorded_ns"] - slow) // savings["steps"] - steps["ordinary_mean_ns"]), 1)
            if slow:
                extra_ns = steps["irregular_count"] * (steps["irregular_mean_ns"] - steps["ordinary_mean_ns"])
                self.assertLessEqual(abs(extra_ns - slow), steps["count"])
                self.assertGreaterEqual(20 * slow, savings["recorded_ns"])
        ordinary_ns = (steps["ordinary_mean_ns"] or 0) * (steps["count"] - steps["irregular_count"])
        irregular_ns = (steps["irregular_mean_ns"] or 0) * steps["irregular_count"]
        said = [line for line in found.screen.split("\n") if line.startswith(("Not in these figures: ", "In these figures: "))]
        self.assertEqual(len(said), 1 if 0 < ordinary_ns + irregular_ns <= 100 * irregular_ns else 0)
        for line in said:
            self.assertIn(f" took {outputs.duration(steps['irregular_mean_ns'])}", line)
        for device in found.report["devices"]:
            for key, _, _, words in TABLES:
                irregular_ns = sum(cause["idle_in_irregular_steps_ns"] for cause in device[key] if not is_edge(cause))
                title = f"Why GPU {device['id']} {words}"
                told = [row[4] for row in outputs.markdown_table(found.markdown, title) if row[1] == "irregular steps"]
                self.assertEqual(told, [outputs.duration(irregular_ns)] if irregular_ns else [])
                rows = [re.split(" {2,}", line.strip())[1] for line in outputs.text_table(found.text, title) if line.startswith("        irregular steps ")]
                self.assertEqual(rows, told)

    def check_waits(self, found):
        waits = [site for site in found.report["waits"] if not is_poll(site)]
        polls = [site for site in found.report["waits"] if is_poll(site)]
        rows = [(site["count"], site["blocked_count"], site["host_blocked_ns"], VERDICTS[site["verdict"]]) for site in waits]
        of_csv = [row for row in found.csv if row["table"] == "wait"]
        self.assertEqual([tuple(int(row[name]) for name in ("count", "blocked_count", "host_blocked_ns", "bytes")) for row in of_csv],
                         [tuple(site[name] for name in ("count", "blocked_count", "host_blocked_ns", "bytes")) for site in waits + polls])
        of_page = found.page.waits()
        self.assertEqual(of_page, rows[:len(of_page)])
        self.assertGreaterEqual(len(of_page), min(8, len(rows)))
        worded = [(count, blocked, outputs.duration(ns), verdict) for count, blocked, ns, verdict in rows]
        table = [row for row in outputs.markdown_table(found.markdown, "The host waited") if not row[1].startswith("and ")]
        self.assertEqual([(int(row[4].replace(",", "")), int(row[5].replace(",", "")), row[6], row[8]) for row in table], worded[:ROWS])
        # The text leaves out where nothing waited and nothing was redundant or unclear.
        told = [row for row, site in zip(worded, waits) if site["blocked_count"] + site["redundant_count"] + site["unclear_count"] > 0]
        of_text = outputs.text_waits(found.text)
        self.assertEqual(of_text, told[:len(of_text)])
        self.assertGreaterEqual(len(of_text), min(8, len(told)))
        self.assertEqual([(row[4].replace(",", ""), row[6].replace(",", ""), row[7]) for row in outputs.markdown_table(found.markdown, "Polling")],
                         [(str(poll["count"]), str(poll["blocked_count"]), outputs.duration(poll["host_blocked_ns"])) for poll in polls[:ROWS]])
        self.assertEqual(outputs.text_polls(found.text), [(poll["count"], poll["blocked_count"], outputs.duration(poll["host_blocked_ns"])) for poll in polls[:ROWS]])
        self.assertEqual(found.page.polls(), [(poll["count"], poll["blocked_count"], poll["host_blocked_ns"]) for poll in polls])

    def check_gate(self, found):
        """By rule and line, where a wait in a helper stands at the helper's line. A line that waits in several ways inside a
        library has one rule for the gate. Calls that can never wait are counted by the report alone: those of rows without a rule."""
        gate_places = {place(finding) for finding in found.gate["findings"]}
        rows = []
        for site in found.all["waits"]:
            where = site["through"] if site["through"] and place(site["through"]) in gate_places else site
            if is_poll(site):
                # To the gate a run of queries is one wait.
                rows.append(("ST004", where, {"count": site["blocked_count"], **{name: site[name] for name in ("blocked_count", "host_blocked_ns")}}))
            elif site["note"] != "creates the context":
                figures = FIGURES if site["rule"] else ("blocked_count", "unclear_count", "host_blocked_ns")
                rule = site["rule"] or ("ST010" if any("Memcpy" in calls["api"] for calls in site["calls"]) else "ST006")
                rows.append((rule, where, {name: site[name] for name in figures}))
        libraries = {place(site) for site in found.all["waits"] if site["through"]}
        of_report, of_gate = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
        partly = set()
        for rule, where, figures in rows:
            key = (rule if place(where) not in libraries else None, *place(where))
            of_report[key].update(figures)
            if "own_copy_count" not in figures and rule != "ST004":
                partly.add(key)
        for finding in found.gate["findings"]:
            key = (finding["rule"] if place(finding) not in libraries else None, *place(finding))
            of_gate[key].update({name: finding[name] for name in FIGURES})
            waited = finding["blocked_count"] + finding["unclear_count"] > 0 and not finding["message"].startswith("costs no idle time: ")
            self.assertEqual(finding["status"], "new" if waited else "harmless")

        def plain(sums):
            kept = {key: FIGURES if key not in partly else ("blocked_count", "unclear_count", "host_blocked_ns") for key in sums}
            return {key: {name: one[name] for name in kept[key]} for key, one in sums.items() if any(one[name] for name in kept[key])}

        self.assertEqual(plain(of_gate), plain(of_report))

    def check_verdict(self, found):
        word, evidence = found.report["verdict"], found.report["verdict_evidence"]
        if not word:
            return
        self.assertIn(f"**{word}**: {evidence}", found.markdown)
        self.assertIn(f'<span class="word">{word}</span>', found.page.text)
        self.assertIn(f"  verdict   {word}: ", found.text)
        lacked = re.split(" of|;", evidence.split("lacked work for ")[1].removeprefix("only "))[0]  # "34.1 %; how much of the collectives..."
        steps = " in the steps" if found.report["steps"]["count"] > 0 else ""
        tiles = [found.page.tile(f"GPU {device['id']} lacked work{steps}") for device in found.report["devices"]]
        self.assertIn(lacked, tiles)

    def check_digest(self, found):
        """The digest and its JSON are small, and each number in them is the report's."""
        self.check_limits(found.digest, found.changes_text)
        changes = json.loads(found.changes_text)
        for one, other in digest.disagreements(changes, found.report):
            self.assertEqual(one, other)
        told = digest.lines_with_figures(found.digest)
        self.assertEqual(told, list(digest.lines_of_changes(found.report))[:len(told)])
        ids = digest.ids(found.digest)
        self.assertEqual(len(ids), len(told))
        self.assertGreaterEqual(len(told), min(1, len(changes["changes"])))
        common = min(len(ids), len(changes["changes"]))
        self.assertEqual(ids[:common], [each["id"] for each in changes["changes"]][:common])
        if changes["base_ns"]:
            steps = changes["steps"] or 1
            self.assertIn(f": {outputs.duration(changes['base_ns'] // steps)}", found.digest)
        if changes["lacked_work_of_ns"] and (changes["base_ns"] or changes["recorded_ns"]):
            self.assertIn(f"lacks work for {outputs.share(changes['lacked_work_ns'], changes['lacked_work_of_ns'])} of the time", found.digest)

    def check_limits(self, text, changes):
        self.assertLessEqual(len(text.encode()), digest.MOST_TEXT_BYTES)
        self.assertLessEqual(len(changes.encode()), digest.MOST_JSON_BYTES)
        form = json.loads((GOLDEN.parents[1] / "docs" / "changes.schema.json").read_text(encoding="utf-8"))
        self.assertEqual(schema.faults(json.loads(changes), form), [])

    def test_digests_of_jobs(self):
        jobs = sorted(folder for folder in (GOLDEN / "jobs").iterdir() if folder.is_dir())
        self.assertGreaterEqual(len(jobs), 4)
        for folder in jobs:
            with self.subTest(folder.name):
                told = [Outputs.run_in(GOLDEN, "report", "--no-symbols", "--format", *form, folder) for form in (["agent"], ["json", "--changes"], ["json"])]
                self.check_limits(*told[:2])
                changes, full = (json.loads(each) for each in told[1:])
                job = full["job"]
                self.assertEqual((changes["verdict"], changes["ranks"], changes["base_ns"]), (job["verdict"], job["recorded_ranks"], job["base_ns"]))
                rows = [each for each in job["causes"] if 100 * each["saving"]["ns"] >= job["base_ns"]]
                shown = [each for each in changes["changes"] if each["cumulative_saving_ns"] is not None]
                for change, cause in zip(shown, rows):
                    self.assertEqual((change["alone"], change["cumulative_saving_ns"], change["to_type"]), (cause["saving"], cause["cumulative_saving_ns"], cause["to_type"]))
                    self.assertIn(f"saves {outputs.share(cause['saving']['ns'], job['base_ns'])}" if change["number"] == 1
                                  else f"alone {outputs.share(cause['saving']['ns'], job['base_ns'])}", told[0])

    def check_diff(self, found):
        text = found.run("diff", "--no-symbols", found.trace, found.trace, status=(0, 4))
        self.assertIn("no difference in lines", text)
        told = json.loads(found.run("diff", "--no-symbols", "--judge-steps=0:", "--format", "json", found.trace, found.trace))
        self.assertEqual((told["lines"], told["worse"]), ([], False))
        self.assertEqual(told["step_ns"]["before"], told["step_ns"]["after"])
        self.assertEqual(told["idle_share"]["before"], told["idle_share"]["after"])
        steps = found.report["steps"]
        self.assertEqual((told["step_ns"]["before"] or {"count": 0})["count"], steps["count"] + steps["warm_up_count"])


def keys_of(value):
    if isinstance(value, dict):
        yield from value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_of(one)


def is_poll(site):
    return "not_ready_count" in site


def fitted(text, columns):
    return text if len(text) <= columns else text[:columns - 2] + ".."


def last(path):
    return path and path.rsplit("/", 1)[-1]


def place(row):
    return last(row["file"]), row["line"], row["function"]


if __name__ == "__main__":
    unittest.main()
