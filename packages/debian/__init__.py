# SPDX-License-Identifier: Apache-2.0
"""Packs the installed tree as a package of Debian: what its policy wants is added, and CPack does the rest."""
import gzip
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MAINTAINER = "synctrace maintainers <maintainers@synctrace.invalid>"

ENTRY = """\
synctrace ({version}) unstable; urgency=medium

  * See the project's changelog.

 -- {maintainer}  {when}
"""


def make(tree, out, version, seconds):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "root")
        shutil.copytree(tree, root / "usr", symlinks=True)
        follow_policy(root / "usr", version, seconds)
        for path in [root, *root.rglob("*")]:
            os.chmod(path, 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
            os.utime(path, (seconds, seconds))
        words = ["dpkg", "--print-architecture"]
        architecture = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        subprocess.run(["cpack", "--config", HERE / "cpack.cmake", "-G", "DEB", "-B", folder,
                        "-D", f"CPACK_INSTALLED_DIRECTORIES={root};/",
                        "-D", f"CPACK_PACKAGE_VERSION={version}",
                        "-D", f"CPACK_DEBIAN_PACKAGE_ARCHITECTURE={architecture}",
                        "-D", f"CPACK_DEBIAN_PACKAGE_MAINTAINER={MAINTAINER}"],
                       check=True, stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(seconds)})
        for package in pathlib.Path(folder).glob("*.deb"):
            shutil.move(package, out / package.name)


def follow_policy(usr, version, seconds):
    documents = usr / "share/doc/synctrace"
    shutil.copy(HERE / "copyright", documents / "copyright")
    (documents / "LICENSE").unlink()  # the same text as in the file copyright names
    when = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(seconds))
    entry = ENTRY.format(version=version, maintainer=MAINTAINER, when=when)
    write_packed(documents / "changelog.gz", entry.encode())
    for page in sorted((usr / "share/man").rglob("*.1")):
        write_packed(page.with_name(page.name + ".gz"), page.read_bytes())
        page.unlink()
    # Debian's zsh leaves site-functions to the administrator.
    (usr / "share/zsh/site-functions").rename(usr / "share/zsh/vendor-completions")
    overrides = usr / "share/lintian/overrides"
    overrides.mkdir(parents=True)
    shutil.copy(HERE / "lintian-overrides", overrides / "synctrace")


def write_packed(path, content):
    path.write_bytes(gzip.compress(content, 9, mtime=0))
