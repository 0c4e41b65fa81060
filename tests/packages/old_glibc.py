# SPDX-License-Identifier: Apache-2.0
"""Loads and records on glibc 2.31, in a chroot that has nothing but Debian 11's C library and unwinder."""
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import unittest
import urllib.error
import urllib.request

import package_case

DEBIAN_11 = {
    "pool/main/g/glibc/libc6_2.31-13+deb11u11_amd64.deb":
        "05f7264da867b37f4c5ce49266b558ea1e81e05a9464f623152fca70f3550282",
    "pool/main/g/gcc-10/libgcc-s1_10.2.1-6_amd64.deb":
        "e478f2709d8474165bb664de42e16950c391f30eaa55bc9b3573281d83a29daf",
}
# A mount namespace of its own, so that nothing stays mounted.
ENTER = ["unshare", "--mount" if os.geteuid() == 0 else "-rm", "sh", "-c",
         'mount --rbind /proc "$0/proc" && exec chroot "$0" "$@"']


def archives():
    """Where this machine gets Debian's packages from: an archive keeps those of other releases, too."""
    if not shutil.which("apt-get"):
        return []
    done = subprocess.run(["apt-get", "indextargets", "--format", "$(REPO_URI)"], capture_output=True, text=True,
                          check=False)
    return sorted({line for line in done.stdout.splitlines() if line.startswith("http")})


def fetched(path, checksum):
    """A package of Debian 11, kept in the build folder; None where it cannot be had."""
    kept = package_case.BUILD / "packages/debian-11" / pathlib.PurePath(path).name
    for archive in [] if kept.exists() else archives():
        try:
            with urllib.request.urlopen(archive + path.replace("+", "%2B"), timeout=10) as answer:
                content = answer.read()
        except (urllib.error.URLError, OSError):
            continue
        if hashlib.sha256(content).hexdigest() != checksum:
            continue
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.with_suffix(".part").write_bytes(content)
        kept.with_suffix(".part").rename(kept)
        break
    return kept if kept.exists() else None


def may_enter():
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", ENTER[1], "true"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(platform.machine() == "x86_64", "the packages of Debian 11 are listed for x86_64")
@unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb here")
@unittest.skipUnless(may_enter(), "neither root nor user namespaces here, so no chroot")
class OldGlibc(package_case.PackageCase):
    def setUp(self):
        super().setUp()
        self.root = self.folder / "root"
        for path, checksum in DEBIAN_11.items():
            package = fetched(path, checksum)
            if package is None:
                self.skipTest("no network to Debian's archive here")
            self.run_it("dpkg-deb", "-x", package, self.root)
        for name in ("proc", "tmp"):
            (self.root / name).mkdir(exist_ok=True)
        self.unpack(self.root / "opt/synctrace")
        shutil.copy(package_case.OLD_PROGRAM, self.root / "opt/program")

    def enter(self, *words, **options):
        return self.run_it(*ENTER, self.root, *words, **options)

    def test_loads_and_records(self):
        doctor = self.enter("/opt/synctrace/bin/synctrace", "doctor", status=None)
        self.assertIn("C library: glibc 2.31", doctor.stdout, doctor.stderr)
        self.assertRegex(doctor.stdout, r"ok +recorder: /opt/synctrace/lib/synctrace/libsynctrace.so loads")
        simulated = {"LD_LIBRARY_PATH": "/opt/synctrace/lib/synctrace/simgpu"}
        alone = self.enter("/opt/program", env=simulated)
        run = ["/opt/synctrace/bin/synctrace", "run", "--simgpu", "-o", "/tmp/trace", "--"]
        recorded = self.enter(*run, "/opt/program")
        self.assertEqual(recorded.stdout.splitlines()[:1], alone.stdout.splitlines())
        report = self.enter("/opt/synctrace/bin/synctrace", "report", "--format", "json", "/tmp/trace.synctrace").stdout
        self.assert_recorded(report)

    def test_lines_of_native_code(self):
        """By our own tables: libgcc cannot stand in before glibc 2.35, so calls of the first moments have no line."""
        steps = 16000  # a busy machine makes the first moments longer
        self.enter("/opt/synctrace/bin/synctrace", "run", "--simgpu", "-o", "/tmp/trace", "--", "/opt/program", steps)
        report = self.enter("/opt/synctrace/bin/synctrace", "report", "--format", "json", "/tmp/trace.synctrace").stdout
        self.assertGreater(self.assert_recorded(report, steps), steps // 2)

    def test_what_is_linked_to_this_machine_would_not_load(self):
        """That the chroot is what it is meant to be: its loader refuses a library as the compiler makes it here."""
        source = self.folder / "new.cpp"
        source.write_text("#include <sys/stat.h>\nextern \"C\" int f() { struct stat s; return stat(\"/\", &s); }\n")
        self.run_it(os.environ["CXX"], "-shared", "-fPIC", "-o", self.root / "new.so", source)
        said = self.enter("/opt/synctrace/lib/synctrace/synctrace-probe", "recorder", "/new.so").stdout
        self.assertIn("GLIBC_2.33' not found", said)


if __name__ == "__main__":
    package_case.main()
