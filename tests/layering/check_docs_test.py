# SPDX-License-Identifier: Apache-2.0
import unittest

import check_docs
from tree_case import TreeCase


class Docs(TreeCase):
    def test_agreement(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.assertEqual(check_docs.find_violations(self.root), [])

    def test_output_that_is_not_the_program_s(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.write("screen.txt", "verdict\n")
        self.write("README.md", "<!-- screen: screen.txt -->\n```\nverdict\n```\n")
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("README.md", "<!-- screen: screen.txt -->\n```\nanother\n```\n")
        self.assert_one(check_docs.find_violations(self.root), "README.md", "screen.txt")

    def test_some_lines_of_the_output(self):
        self.write("screen.txt", "one\ntwo\nthree\n")
        page = "<!-- screen: screen.txt lines {} -->\n```\none\ntwo\n```\n"
        self.write("README.md", page.format("1-2"))
        self.assertEqual(check_docs.check_screens(self.root), [])
        for lines in ("2-3", "1-3", "1-4", "0-2", "2-1"):
            self.write("README.md", page.format(lines))
            self.assert_one(check_docs.check_screens(self.root), "README.md", "screen.txt")
        self.write("README.md", page.format("2-3"))
        check_docs.write_screens(self.root)
        self.assertEqual(check_docs.check_screens(self.root), [])

    def test_undocumented_variable(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT" "SYNCTRACE_LEVEL"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.assert_one(check_docs.find_violations(self.root), "SYNCTRACE_LEVEL", "missing")

    def test_invented_variable(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT\n.B SYNCTRACE_COLOUR")
        self.assert_one(check_docs.find_violations(self.root), "SYNCTRACE_COLOUR", "not in")

    def test_broken_link(self):
        self.write("docs/a.md", "[b](b.md)")
        self.assert_one(check_docs.find_violations(self.root), "docs/a.md", "no such file")

    def test_broken_image(self):
        self.write("a.md", '<img alt="x" src="x.svg">')
        self.assert_one(check_docs.find_violations(self.root), "x.svg")

    def test_anchor(self):
        self.write("b.md", "# The words, again\n")
        self.write("a.md", "[b](b.md#the-words-again) [c](b.md#absent)")
        self.assert_one(check_docs.find_violations(self.root), "#absent", "no such heading")

    def test_a_file_that_is_not_there(self):
        self.write("libsynctrace/model/load.cpp", "")
        self.write("a.md", "`libsynctrace/model/load.cpp`, `libsynctrace/model/`, `libsynctrace/model/*.cpp`, `model/gone.cpp`\n")
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("a.md", "`libsynctrace/model/gone.cpp`\n")
        self.assert_one(check_docs.find_violations(self.root), "a.md", "libsynctrace/model/gone.cpp", "no such file")

    def test_a_table_of_files(self):
        table = "| file | does |\n|---|---|\n| `load`, `row_*` | loads `gone` |\n\n| word | is |\n|---|---|\n| `gone` | a word |\n"
        self.write("libsynctrace/model/load.cpp", "")
        self.write("libsynctrace/model/row_parser.h", "")
        self.write("libsynctrace/model/README.md", table)
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("libsynctrace/model/README.md", table.replace("`load`", "`gone`"))
        self.assert_one(check_docs.find_violations(self.root), "model/README.md", "gone", "not in its folder")

    def test_code_and_other_sites_are_left_out(self):
        self.write("a.md", "`[a](b)`\n```\n[a](b)\n```\n[a](https://example.org/b)\n")
        self.assertEqual(check_docs.find_violations(self.root), [])


if __name__ == "__main__":
    unittest.main()
