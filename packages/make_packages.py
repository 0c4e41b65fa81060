# SPDX-License-Identifier: Apache-2.0
"""Makes the packages of a release out of a build: one tree, packed as tarball, deb and wheel, with their checksums.

  make_packages.py BUILD OUT

The same build gives the same bytes: files are sorted, belong to root, and have the time of the last commit (or of
SOURCE_DATE_EPOCH).
"""
import gzip
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import debian
import wheel

SOURCE = pathlib.Path(__file__).resolve().parents[1]
NEEDED = ["bin/synctrace", "lib/synctrace/libsynctrace.so", "lib/synctrace/synctrace-probe"]


def time_of_source():
    """Seconds since 1970, for every file of a package."""
    if os.environ.get("SOURCE_DATE_EPOCH"):
        return int(os.environ["SOURCE_DATE_EPOCH"])
    if shutil.which("git"):
        git = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=SOURCE, capture_output=True, text=True, check=False)
        if git.returncode == 0:
            return int(git.stdout)
    return 315532800  # 1980, the first year of a zip file


def install(build, prefix, component=None):
    only = ["--component", component] if component else []
    words = ["cmake", "--install", build, "--prefix", prefix, "--strip", *only]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    for folder in ("bin", "lib"):
        for path in pathlib.Path(prefix, folder).rglob("*"):
            if path.is_file():
                stamp(path)


def stamp(file):
    """Gives a stripped binary a build id of what is left of it: the linker's also covers debug information, and with
    that the name of the folder that it was built in."""
    words = ["readelf", "--wide", "--sections", file]
    sections = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    match = re.search(r"\.note\.gnu\.build-id\s+NOTE\s+\w+ (\w+) (\w+)", sections)
    if not match:
        return
    begin, end = int(match[1], 16) + 16, int(match[1], 16) + int(match[2], 16)  # behind lengths, type and "GNU"
    content = bytearray(file.read_bytes())
    content[begin:end] = bytes(end - begin)
    content[begin:end] = hashlib.sha1(content).digest()[:end - begin].ljust(end - begin, b"\0")
    file.write_bytes(content)


def make_tarball(tree, out, name, seconds):
    """The tree's files below a folder of that name."""
    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = seconds
        member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
        return member

    with open(out / f"{name}.tar.gz", "wb") as file:
        with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=seconds) as packed:
            with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for path in [tree, *sorted(tree.rglob("*"))]:
                    tar.add(path, pathlib.Path(name) / path.relative_to(tree), recursive=False, filter=plain)


def write_checksums(out):
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("".join(lines))


def make_all(build, out):
    os.umask(0o022)
    seconds = time_of_source()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as folder:
        tree, simulated = pathlib.Path(folder, "tree"), pathlib.Path(folder, "simulated")
        install(build, tree)
        missing = [name for name in NEEDED if not (tree / name).exists()]
        if missing:
            sys.exit(f"make_packages: no {', '.join(missing)} in this build: packages need a CUDA toolkit.")
        install(build, simulated, "simulated_gpu")
        said = subprocess.run([tree / "bin/synctrace", "--version"], check=True, capture_output=True, text=True).stdout
        version = said.split()[1]
        machine = platform.machine()
        make_tarball(tree, out, f"synctrace-{version}-linux-{machine}", seconds)
        make_tarball(simulated, out, f"synctrace-simulated-gpu-{version}-linux-{machine}", seconds)
        wheel.make(tree, out, version, machine, seconds)
        if shutil.which("dpkg"):
            debian.make(tree, out, version, seconds)
        else:
            print("make_packages: no dpkg here, so no deb", file=sys.stderr)
    write_checksums(out)


if __name__ == "__main__":
    make_all(pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve())
