# SPDX-License-Identifier: Apache-2.0
"""Debian's own check of the package says nothing, but for what packages/debian/lintian-overrides gives a reason for."""
import shutil
import unittest

import package_case


@unittest.skipUnless(shutil.which("lintian"), "no lintian here")
class Lintian(package_case.PackageCase):
    def test_errors_and_warnings(self):
        done = self.run_it("lintian", "--tag-display-limit", "0", package_case.package("*.deb"), status=None)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))], [], done.stderr)
        self.assertEqual(done.stdout.strip(), "", done.stderr)


if __name__ == "__main__":
    package_case.main()
