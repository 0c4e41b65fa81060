# SPDX-License-Identifier: Apache-2.0
"""Marks of blocks: what is read from a page, what is wrong, and what a failing command does to the runner."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "support"), str(HERE.parent / "layering"), str(HERE)]
import check_blocks  # noqa: E402
import doc_blocks  # noqa: E402
import run_blocks  # noqa: E402


class Marks(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="synctrace-docs-")
        self.addCleanup(made.cleanup)
        self.root = pathlib.Path(made.name)

    def write(self, text, page="README.md"):
        (self.root / page).parent.mkdir(parents=True, exist_ok=True)
        (self.root / page).write_text(text, encoding="utf-8")

    def violations(self, text):
        self.write(text)
        return check_blocks.find_violations(self.root)

    def test_a_block_without_a_mark(self):
        self.assertEqual(len(self.violations("Text.\n\n```\nls\n```\n")), 1)
        self.assertEqual(len(self.violations("```sh\nls\n```\n")), 1)
        self.assertEqual(self.violations("<!-- run -->\n```\nls\n```\n"), [])
        self.assertEqual(self.violations("```python\nls\n```\n"), [])
        self.assertEqual(len(self.violations("1. a list\n\n   ```\n   ls\n   ```\n")), 1)
        self.assertEqual(len(self.violations("~~~\nls\n~~~\n")), 1)

    def test_a_mark_belongs_to_the_block_below_it(self):
        self.assertEqual(len(self.violations("<!-- run -->\n```\nls\n```\n```\nls\n```\n")), 1)
        self.assertEqual(len(self.violations("<!-- run -->\n\n```\nls\n```\n")), 1)

    def test_marks_that_say_nothing(self):
        for mark in ("runs", "needs: a friend", "needs: service", "needs: service:", "needs: root"):
            self.assertEqual(len(self.violations(f"<!-- {mark} -->\n```\nls\n```\n")), 1, mark)
        for mark in ("run if: jq", "needs: gpu", "needs: packages", "needs: service: a cluster", "file: a.yml", "screen: a.txt"):
            self.assertEqual(self.violations(f"<!-- {mark} -->\n```\nls\n```\n"), [], mark)

    def test_commands_of_yaml(self):
        text = "steps:\n- run: one --two\n- uses: other\n- run: |\n    three\n    four\n  script: five\n"
        self.write(f"<!-- run -->\n```yaml\n{text}```\n")
        self.assertEqual(doc_blocks.all_blocks(self.root)[0].commands.split("\n"), ["one --two", "three", "four", "", "five"])
        self.assertEqual(len(self.violations("<!-- run -->\n```yaml\nsteps: []\n```\n")), 1)

    def test_scripts_that_measure(self):
        self.write('parser.add_argument("--out")\n', "tests/gpu/cost.py")
        block = "<!-- needs: measuring -->\n```\npython3 tests/gpu/{}\n```\n"
        self.assertEqual(self.violations(block.format("cost.py --out DIR   # and --more")), [])
        self.assertEqual(len(self.violations(block.format("cost.py --in DIR"))), 1)
        self.assertEqual(len(self.violations(block.format("gone.py"))), 1)

    def test_a_command_that_fails(self):
        def run(*lines):
            text = "\n".join(lines)
            self.write(f"<!-- file: said -->\n```\nhello\n```\n<!-- run -->\n```\n{text}\n```\n")
            return subprocess.run([sys.executable, "-B", run_blocks.__file__, self.root, self.root], capture_output=True, text=True, check=False)

        self.assertEqual(run("grep hello said", "true").returncode, 0)
        for lines in (("false", "true"), ("false | true",), ("echo $nobody_set_this",), ("no_such_program --at all",)):
            done = run(*lines)
            self.assertEqual(done.returncode, 1, lines)
            self.assertIn("FAILED", done.stdout)
        self.assertIn("skipped", (self.write("<!-- run if: no_such_program -->\n```\nno_such_program\n```\n"), subprocess.run(
            [sys.executable, "-B", run_blocks.__file__, self.root, self.root], capture_output=True, text=True, check=True).stdout)[1])


    @unittest.skipUnless(run_blocks.yaml, "Python has no yaml here")
    def test_yaml_that_is_none(self):
        self.write("```yaml\na: [1\n```\n")
        self.assertEqual(run_blocks.parse_yaml(self.root, ["README.md"]), 1)
        self.write("```yaml\na: [1]\n```\n")
        self.assertEqual(run_blocks.parse_yaml(self.root, ["README.md"]), 0)


if __name__ == "__main__":
    unittest.main()
