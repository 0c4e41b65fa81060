# SPDX-License-Identifier: Apache-2.0
"""A test of a check: it builds a small tree or library that breaks one rule. Libraries are compiled by the compiler that the
environment variable CXX names, and read by the one of NM."""

import pathlib
import tempfile
import unittest


class TreeCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_one(self, violations, *words):
        self.assertEqual(len(violations), 1, violations)
        for word in words:
            self.assertIn(word, violations[0])
