# SPDX-License-Identifier: Apache-2.0
"""The package of Debian: dpkg installs it into a folder of its own, it runs, and dpkg removes it."""
import os
import shutil
import unittest

import package_case

AS_ROOT = [] if os.geteuid() == 0 else ["fakeroot"]
STATUS = """\
Package: libc6
Status: install ok installed
Version: {}
Architecture: {}
Maintainer: nobody
Description: a C library

"""


@unittest.skipUnless(shutil.which("dpkg"), "no dpkg here")
@unittest.skipUnless(not AS_ROOT or shutil.which("fakeroot"), "neither root nor fakeroot here")
class Deb(package_case.PackageCase):
    def prepare(self, libc):
        architecture = self.run_it("dpkg", "--print-architecture").stdout.strip()
        database = self.folder / "root/var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (database / name).mkdir(parents=True, exist_ok=True)
        (database / "status").write_text(STATUS.format(libc, architecture))

    def dpkg(self, *words, status=0):
        places = ["--root", self.folder / "root", "--log", self.folder / "log"]
        forced = ["--force-script-chrootless", "--force-bad-path"]
        return self.run_it(*AS_ROOT, "dpkg", *places, *forced, *words, status=status)

    def installed(self):
        return sorted(str(path.relative_to(self.folder / "root")) for path in (self.folder / "root").rglob("*")
                      if "var" not in path.parts)

    def test_installs_runs_and_goes(self):
        self.prepare("2.28-10")
        self.dpkg("--install", package_case.package("*.deb"))
        usr = self.folder / "root/usr"
        doctor = self.run_it(usr / "bin/synctrace", "doctor", status=None).stdout
        self.assertRegex(doctor, r"ok +recorder: .*/usr/lib/synctrace/libsynctrace.so loads")
        for name in ["man/man1/synctrace-run.1.gz", "doc/synctrace/copyright", "zsh/vendor-completions/_synctrace"]:
            self.assertTrue((usr / "share" / name).is_file(), name)
        self.unpack(usr, ["synctrace-simulated-gpu-*"])
        self.run_it(usr / "bin/synctrace", "run", "--simgpu", "-o", "trace", "--", package_case.OLD_PROGRAM)
        self.assert_recorded(self.run_it(usr / "bin/synctrace", "report", "--format", "json", "trace.synctrace").stdout)

    def test_it_leaves_nothing(self):
        self.prepare("2.28-10")
        self.dpkg("--install", package_case.package("*.deb"))
        self.assertIn("usr/bin/synctrace", self.installed())
        self.dpkg("--purge", "synctrace")
        self.assertEqual(self.installed(), [])

    def test_not_where_the_c_library_is_older(self):
        self.prepare("2.27-3")
        self.assertIn("libc6 (>= 2.28)", self.dpkg("--install", package_case.package("*.deb"), status=1).stderr)


if __name__ == "__main__":
    package_case.main()
