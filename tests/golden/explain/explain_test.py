# SPDX-License-Identifier: Apache-2.0
"""What `synctrace explain` prints, to the byte: expected/NAME. SYNCTRACE_BLESS=1 writes these files instead; read the
difference as a user would."""
import ast
import json
import os
import pathlib
import subprocess
import unittest

SYNCTRACE = os.environ["SYNCTRACE_BIN"]
EXPECTED = pathlib.Path(__file__).with_name("expected")


def explain(*arguments, columns=80):
    return subprocess.run([SYNCTRACE, "explain", *arguments], capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
                          env={**os.environ, "COLUMNS": str(columns)})


class Explain(unittest.TestCase):
    maxDiff = None

    def ok(self, *arguments):
        done = explain(*arguments)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def check(self, name, text):
        if os.environ.get("SYNCTRACE_BLESS"):
            (EXPECTED / name).write_text(text, encoding="utf-8")
        self.assertEqual(text, (EXPECTED / name).read_text(encoding="utf-8"))

    def test_a_rule(self):
        self.check("ST020.txt", self.ok("ST020"))
        self.check("ST020.md", self.ok("--format", "markdown", "ST020"))
        for name in ("st020", "scalar-read", "Scalar-Read"):
            self.assertEqual(self.ok(name), self.ok("ST020"))

    def test_a_verdict_and_the_rule_of_its_name(self):
        self.check("launch-bound.txt", self.ok("launch-bound"))

    def test_the_list(self):
        self.check("list.txt", self.ok())

    def test_several(self):
        self.assertEqual(self.ok("ST001", "gpu-bound"), self.ok("ST001") + "\n" + self.ok("gpu-bound"))

    def test_nothing_is_wider_than_the_terminal(self):
        for one in json.loads(self.ok("--format", "json"))["explanations"]:
            for line in self.ok(one["id"] or one["name"]).splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_the_width_of_the_terminal(self):
        widest = lambda columns: max(map(len, explain("ST021", columns=columns).stdout.splitlines()))  # noqa: E731
        self.assertTrue(100 < widest(120) <= 120)
        self.assertTrue(120 < widest(500) <= 200)
        self.assertEqual(explain("ST021", columns=40).stdout, explain("ST021", columns=80).stdout)

    def test_for_programs(self):
        explanations = json.loads(self.ok("--format", "json"))["explanations"]
        self.assertEqual(len([one for one in explanations if one["kind"] == "rule"]), 43)
        self.assertEqual(len([one for one in explanations if one["kind"] == "verdict"]), 11)
        one, = json.loads(self.ok("--format", "json", "ST004"))["explanations"]
        self.assertEqual((one["id"], one["name"]), ("ST004", "polling"))
        self.assertEqual(one["code"][1]["framework"], "JAX")

    def test_the_code_is_python(self):
        blocks = [block for one in json.loads(self.ok("--format", "json"))["explanations"] for block in one["code"]
                  if block["language"] == "python"]
        self.assertGreaterEqual(len(blocks), 50)
        for block in blocks:
            ast.parse(block["code"])

    def test_unknown_names(self):
        for name, sentence in {
                "ST064": "there is no rule or verdict 'ST064'; did you mean 'ST004'?",
                "scaler-read": "there is no rule or verdict 'scaler-read'; did you mean 'scalar-read'?",
                "lanch-bound": "there is no rule or verdict 'lanch-bound'; did you mean 'launch-bound'?",
                "nonsense-entirely": "there is no rule or verdict 'nonsense-entirely'; synctrace explain lists them.",
                "gil": "'gil' is a cause without a rule of its own; docs/attribution.md says what it means.",
        }.items():
            done = explain("ST001", name)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", f"synctrace explain: {sentence}\n"))


if __name__ == "__main__":
    unittest.main()
