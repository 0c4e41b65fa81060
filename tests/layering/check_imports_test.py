# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import unittest

import check_imports
from tree_case import TreeCase


class Imports(TreeCase):
    PAGE = f"""# Page

{check_imports.HEADING}

| function | who | why |
|---|---|---|
| `dlsym`, `getenv` | somebody | shown here |
| `abort` | the compiler's runtime | shown here |

## Next

| `dlopen` | of another table | |
"""
    LISTED = 'extern "C" void* dlsym(void*, const char*); extern "C" char* getenv(const char*); ' \
             'void* one() { return dlsym(nullptr, getenv("")); }'

    def violations(self, source, page=PAGE):
        self.write(check_imports.PAGE, page)
        self.write("a.cpp", source)
        library = self.root / "liba.so"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-nostdlib", "-o", library, self.root / "a.cpp"], check=True)
        return check_imports.find_violations(str(library), self.root)

    def test_exact_list(self):
        self.assertEqual(self.violations(self.LISTED), [])

    def test_other_functions_need_no_row(self):
        self.assertEqual(self.violations(self.LISTED + 'extern "C" int close(int); int two() { return close(1); }'), [])

    def test_unlisted(self):
        for function in ("dl_iterate_phdr", "_dl_find_object", "dlopen", "__tls_get_addr", "malloc", "_Znwm", "_ZdlPv",
                         "__snprintf_chk", "newlocale", "strerror_r", "secure_getenv", "pthread_create", "__cxa_atexit"):
            with self.subTest(function):
                found = self.violations(self.LISTED + f'extern "C" int {function}(int); int two() {{ return {function}(1); }}')
                self.assert_one(found, f"asks for {function}, which is not in")

    def test_no_more_asked_for(self):
        found = self.violations('extern "C" char* getenv(const char*); char* one() { return getenv(""); }')
        self.assert_one(found, "dlsym is listed, and no more asked for")

    def test_of_no_family(self):
        page = self.PAGE.replace("`dlsym`", "`dlsym`, `close`")
        source = self.LISTED + 'extern "C" int close(int); int two() { return close(1); }'
        self.assertTrue(any("close is of none of the families" in line for line in self.violations(source, page)))


if __name__ == "__main__":
    unittest.main()
