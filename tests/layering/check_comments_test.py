# SPDX-License-Identifier: Apache-2.0
import unittest

import check_comments
from tree_case import TreeCase


class Comments(TreeCase):
    def found(self, text, name="a.cpp"):
        self.write(name, text)
        return [line.split(": ", maxsplit=1)[1] for line in check_comments.find_all(self.root)]

    def test_one_more_than_before(self):
        self.write("a.h", "// Of a call.\nint a;  // as it is\n")
        self.assertEqual(check_comments.find_violations(self.root, most=2), [])
        found = check_comments.find_violations(self.root, most=1)
        self.assertEqual(len(found), 3, found)
        self.assertIn("a.h:2: as it is", found)
        self.assertIn("2 sentences", found[-1])

    def test_where_a_comment_begins(self):
        self.assertEqual(self.found("int a;  // of a\nint b;  // those of b\n/* Of c. */\n"), ["of a", "those of b", "Of c."])
        self.assertEqual(self.found("// Two calls.\n// As many again.\n"), ["As many again."])
        self.assertEqual(self.found("// One. Of two. Those.\n"), ["Of two. Those.", "Those."])

    def test_lines_that_go_on(self):
        self.assertEqual(self.found("// The calls\n// of a thread.\nint a;  // the calls\n        // of it\n"), [])
        self.assertEqual(self.found("int a;  // a\n// of b\nint b;\n"), ["of b"])

    def test_texts_are_no_comments(self):
        self.assertEqual(self.found('const char* a = "// Of b";\nchar c = \'"\';  // C\nchar d = \'"\';  // D\n'), [])

    def test_other_words(self):
        self.assertEqual(self.found("// Offsets. Aside. Those_ and the calls of a thread, as they are.\n"), [])

    def test_python(self):
        text = '"""Of a module."""\n\n\ndef a():\n    """A call. As\n    it is."""\n    return "# Of"  # those of a\n'
        self.assertEqual(self.found(text, "a.py"), ["those of a", "Of a module.", "As it is."])

    def test_shell_and_cmake(self):
        for name in ("a.sh", "CMakeLists.txt", "a.cmake", "Makefile"):
            with self.subTest(name):
                self.assertEqual(self.found("# Of a shell.\necho $# of\n", name), ["Of a shell."])
                (self.root / name).unlink()


if __name__ == "__main__":
    unittest.main()
