# SPDX-License-Identifier: Apache-2.0
import unittest

import check_sentences
from tree_case import TreeCase


class Sentences(TreeCase):
    LONG = "It has " + "one " * 28 + "words.\n"

    def violations(self, text, path="docs/measurements/a.md"):
        self.write(path, text)
        return check_sentences.find_violations(self.root)

    def test_a_long_sentence(self):
        self.assertEqual(self.violations(self.LONG.replace("one ", "", 1) + "Short.\n" * 2), [])
        self.assert_one(self.violations(self.LONG + "Short.\n" * 2), "a.md", "31 words")

    def test_half_of_them(self):
        text = "It has " + "one " * 15 + "words.\n"
        self.assertEqual(self.violations(text.replace("one ", "", 1) * 3), [])
        self.assert_one(self.violations(text * 3), "a.md", "half of the sentences have 18")

    def test_a_line_end_is_no_end(self):
        self.assert_one(self.violations(self.LONG.replace("one one", "one\none", 1) + "Short.\n" * 2), "31 words")

    def test_what_is_no_sentence(self):
        for text in ("| " + self.LONG, "# " + self.LONG, "```\n" + self.LONG + "```\n", "<!-- " + self.LONG + " -->\n",
                     "<!-- rows: a -->\n" + self.LONG + "<!-- end -->\n", "Run `" + self.LONG.strip() + "` now.\n"):
            with self.subTest(text):
                self.assertEqual(self.violations(text), [])

    def test_items_are_sentences_of_their_own(self):
        self.assertEqual(self.violations(("* " + "one " * 16 + "\n") * 3), [])

    def test_which_pages(self):
        self.assertEqual(len(self.violations(self.LONG, "docs/b.md")), 2)
        (self.root / "docs/b.md").unlink()
        self.assertEqual(self.violations(self.LONG, "docs/decisions/b.md"), [])

    def test_the_front_page(self):
        seventeen = "It has " + "one " * 14 + "word.\n"
        self.assertEqual(self.violations(seventeen.replace("one ", "", 1) * 3, "README.md"), [])
        self.assert_one(self.violations(seventeen * 3, "README.md"), "README.md", "at most 16")
        self.assert_one(self.violations("Short.\n" * 111, "README.md"), "README.md", "111 lines")


if __name__ == "__main__":
    unittest.main()
