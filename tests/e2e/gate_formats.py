# SPDX-License-Identifier: Apache-2.0
"""The gate's results in the formats of code hosts, read back by parsers that know nothing of synctrace."""
import json
import re
import urllib.parse
import xml.etree.ElementTree

import gate_case
import harness

WAIT = "runtime.cudaStreamSynchronize(stream)"
# A file and a function that try to break out of every format.
HOSTILE_FILE = "a \"b\"::error file=x,line=1::' & <c> %0A]]>|`*.py"
HOSTILE_NAME = "f\\n::error::<\\\"&'\\xff"


class Formats(gate_case.GateCase):
    def setUp(self):
        super().setUp()
        line = self.write_program(WAIT, "read(4)", "spin()", f"{WAIT}  # synctrace: allow[ST001] <why> & \"because\"")
        self.line = line
        self.write_config("[[allow]]\nrule = \"ST011\"\nreason = \"nothing needs it\"\n")
        self.record_program()

    def results(self, trace=None, status=1):
        """Every format of the same verdict."""
        options = [word for name in ("sarif", "junit", "gitlab", "github", "md", "json", "text") for word in ("--write", f"{name}=out.{name}")]
        self.gate(*options, traces=[trace or self.trace], status=status)
        return {path.suffix[1:]: path.read_text(encoding="utf-8") for path in self.folder.glob("out.*")}

    def test_sarif(self):
        self.check_sarif(json.loads(self.results()["sarif"]), "train.py")

    def check_sarif(self, sarif, path):
        """The rules of SARIF 2.1.0 and of GitHub's code scanning, as their documents have them."""
        self.assertEqual(sarif["version"], "2.1.0")
        self.assertTrue(sarif["$schema"].startswith("https://"))
        self.assertLessEqual(set(sarif), {"$schema", "version", "runs"})
        run, = sarif["runs"]
        self.assertLessEqual(set(run), {"tool", "automationDetails", "invocations", "columnKind", "results"})
        self.assertIn(run["columnKind"], ("utf16CodeUnits", "unicodeCodePoints"))
        driver = run["tool"]["driver"]
        self.assertEqual(driver["name"], "synctrace")
        self.assertRegex(driver["semanticVersion"], r"^\d+\.\d+\.\d+$")
        rules = driver["rules"]
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for rule in rules:
            for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"], rule["help"]["text"]):
                self.assertTrue(0 < len(text) <= 1024)
            self.assertLessEqual(len(rule["properties"]["tags"]), 10)
        self.assertIs(type(run["invocations"][0]["executionSuccessful"]), bool)
        self.assertTrue(run["results"])
        for result in run["results"]:
            self.assertEqual(rules[result["ruleIndex"]]["id"], result["ruleId"])
            self.assertIn(result["level"], ("none", "note", "warning", "error"))
            self.assertTrue(result["message"]["text"])
            self.assertRegex(result["partialFingerprints"]["primaryLocationLineHash"], r"^[0-9a-f]{16}:1$")
            places = result.get("locations", []) + [step["location"] for flow in result.get("codeFlows", []) for thread in flow["threadFlows"]
                                                     for step in thread["locations"]]
            for place in places:
                artifact = place["physicalLocation"]["artifactLocation"]
                self.assertRegex(artifact["uri"], r"^[A-Za-z0-9\-._~/%:]+$")
                self.assertEqual("uriBaseId" in artifact, not artifact["uri"].startswith("file:///"))
                region = place["physicalLocation"]["region"]
                self.assertTrue(all(region[key] >= 1 for key in ("startLine", "startColumn", "endLine", "endColumn")))
        uris = {urllib.parse.unquote(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) for result in run["results"] if result.get("locations")}
        self.assertIn(path, uris)
        self.assert_no_empty_text(sarif)

    def assert_no_empty_text(self, value):
        self.assertNotEqual(value, "")
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.assert_no_empty_text(inner)

    def test_sarif_shows_what_is_suppressed_on_request(self):
        done = self.gate("--format", "sarif", "--all", status=1)
        kinds = [result.get("suppressions") for result in json.loads(done.stdout)["runs"][0]["results"]]
        self.assertIn([{"kind": "external", "justification": "<why> & \"because\""}], kinds)

    def check_junit(self, text, path):
        suites = xml.etree.ElementTree.fromstring(text)
        self.assertEqual(suites.tag, "testsuites")
        suite, = suites
        cases = suite.findall("testcase")
        self.assertEqual(int(suite.get("tests")), len(cases))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            self.assertEqual(int(suite.get(attribute)), len(suite.findall(f"testcase/{tag}")))
        self.assertIn(path, {case.get("classname") for case in cases})
        return cases

    def test_junit(self):
        cases = self.check_junit(self.results()["junit"], "train.py")
        self.assertIn(f"ST001@train.py:{self.line}", {case.get("name") for case in cases if case.find("failure") is not None})
        skipped = [case.find("skipped").get("message") for case in cases if case.find("skipped") is not None]
        self.assertEqual(skipped, ["allowed: <why> & \"because\""])

    def check_gitlab(self, text, path):
        issues = json.loads(text)
        self.assertEqual(len({issue["fingerprint"] for issue in issues}), len(issues))
        for issue in issues:
            self.assertEqual(set(issue), {"description", "check_name", "fingerprint", "severity", "location"})
            self.assertIn(issue["severity"], ("info", "minor", "major", "critical", "blocker"))
            self.assertGreaterEqual(issue["location"]["lines"]["begin"], 1)
            self.assertFalse(issue["location"]["path"].startswith(("./", "/")))
        self.assertIn(path, {issue["location"]["path"] for issue in issues})

    def test_gitlab(self):
        self.check_gitlab(self.results()["gitlab"], "train.py")

    def check_github(self, text, path):
        """Reads a line like GitHub's runner: name, properties up to '::', the rest is the message."""
        unescape = lambda data: data.replace("%0D", "\r").replace("%0A", "\n").replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        files = set()
        for line in text.splitlines():
            command = re.match(r"^::(error|warning|notice) ([^:]*)::(.*)$", line)
            self.assertTrue(command, line)
            properties = dict(pair.split("=", 1) for pair in command[2].split(","))
            self.assertLessEqual(set(properties), {"file", "line", "title"})
            self.assertTrue(unescape(command[3]))
            files.add(unescape(properties.get("file", "")))
        self.assertIn(path, files)

    def test_github(self):
        self.check_github(self.results()["github"], "train.py")
        summary = self.folder / "summary.md"
        summary.write_text("before\n")
        done = self.gate(env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary}, status=1)
        self.assertIn(f"::error file=train.py,line={self.line},title=ST001 stream-sync::", done.stdout)
        self.assertTrue(summary.read_text().startswith("before\n### synctrace gate: failed"))
        done = self.gate("--format", "json", env={"GITHUB_ACTIONS": "true"}, status=1)
        json.loads(done.stdout)  # not among the annotations

    def test_markdown(self):
        rows = [line for line in self.results()["md"].splitlines() if line.startswith("| error")]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertEqual(len(re.findall(r"(?<!\\)\|", row)), 8)

    def test_text(self):
        for line in self.results()["text"].splitlines():
            if ": error: " in line:
                self.assertRegex(line, r"^[^:]+:\d+: error: .* \[[A-Za-z0-9\-]+( [a-z0-9\-]+)?\]$")

    def test_nothing_to_judge(self):
        (self.folder / "synctrace.toml").write_text("[gate]\nstep-range = \"no such range\"\n[gate.rules]\n\"*\" = \"off\"\n")
        results = self.results(status=4)
        suite, = xml.etree.ElementTree.fromstring(results["junit"])
        self.assertEqual(suite.get("errors"), "1")
        self.assertFalse(json.loads(results["sarif"])["runs"][0]["invocations"][0]["executionSuccessful"])
        self.assertEqual(json.loads(results["json"])["verdict"], "nothing to judge")

    def test_hostile_names(self):
        """A file and a function with everything that ends a text somewhere, and bytes that are no UTF-8."""
        text = self.run_cli("dump", self.trace, text=False).stdout.decode("utf-8", "replace")
        self.assertIn("train.py\"", text)
        escaped = HOSTILE_FILE.replace("\\", "\\\\").replace("\"", "\\\"")
        text = text.replace("train.py\"", escaped + "\"").replace("\"train_step\"", f"\"{HOSTILE_NAME}\"")
        self.assemble_trace(text, "hostile")
        results = self.results(self.folder / "hostile.synctrace")
        self.check_sarif(json.loads(results["sarif"]), HOSTILE_FILE)
        self.check_junit(results["junit"], HOSTILE_FILE)
        self.check_gitlab(results["gitlab"], HOSTILE_FILE)
        self.check_github(results["github"], HOSTILE_FILE)
        self.assertIn(HOSTILE_FILE, {finding["file"] for finding in json.loads(results["json"])["findings"]})
        for row in results["md"].splitlines():
            if row.startswith("| error"):
                self.assertEqual(len(re.findall(r"(?<!\\)\|", row)), 8, row)
        self.assertFalse([line for line in results["text"].splitlines() if line.startswith("::")])


if __name__ == "__main__":
    harness.main()
