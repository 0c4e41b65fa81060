# SPDX-License-Identifier: Apache-2.0
"""The packages are made, twice with the same bytes, and their checksums are theirs. Other tests look at the first."""
import filecmp
import hashlib
import unittest

import package_case


class Made(package_case.PackageCase):
    def make(self, out):
        self.run_it("python3", "-B", package_case.SOURCE / "packages/make_packages.py", package_case.BUILD, out)

    def test_twice(self):
        self.make(package_case.PACKAGES)
        self.make(self.folder / "again")
        names = sorted(path.name for path in package_case.PACKAGES.iterdir())
        self.assertEqual(names, sorted(path.name for path in (self.folder / "again").iterdir()))
        _, different, unreadable = filecmp.cmpfiles(package_case.PACKAGES, self.folder / "again", names, shallow=False)
        self.assertEqual((different, unreadable), ([], []))
        lines = (package_case.PACKAGES / "SHA256SUMS").read_text().splitlines()
        listed = dict(reversed(line.split()) for line in lines)
        self.assertEqual(sorted([*listed, "SHA256SUMS"]), names)
        self.assertLessEqual(package_case.package("*.whl").stat().st_size, 6_000_000)
        for name, checksum in listed.items():
            self.assertEqual(hashlib.sha256((package_case.PACKAGES / name).read_bytes()).hexdigest(), checksum, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
