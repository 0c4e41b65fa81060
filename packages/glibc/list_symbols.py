# SPDX-License-Identifier: Apache-2.0
"""Writes the list of what the C library had at version 2.28, from which CMakeLists.txt makes libraries to link against.

  list_symbols.py FOLDER > symbols-x86_64.txt

FOLDER has libc.so.6 and its companions of a glibc from 2.28 to 2.33: later ones have all in libc.so.6. The lists here
come from Debian 11's libc6 2.31-13+deb11u11 (dpkg -x).
"""
import pathlib
import re
import subprocess
import sys
import textwrap

FLOOR = (2, 28)
LIBRARIES = ("libc.so.6", "libpthread.so.0", "libdl.so.2", "libm.so.6", "librt.so.1", "ld-linux-*.so.*")


def number_of(version):
    match = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    return (int(match[1]), int(match[2])) if match else None


def symbols_of(library):
    """{version: names}: what programs can be linked to, in its last version that the floor has; data with its size."""
    seen = {}
    done = subprocess.run(["readelf", "--wide", "--dyn-syms", library], check=True, capture_output=True, text=True)
    for line in done.stdout.splitlines():
        fields = line.split()
        if len(fields) < 8 or fields[6] in ("UND", "ABS") or "@" not in fields[7]:
            continue
        name, _, version = fields[7].replace("@@", "@").partition("@")
        seen.setdefault(name, []).append((number_of(version), version, "@@" in fields[7], fields[3], int(fields[2], 0)))
    groups = {}
    for name, versions in seen.items():
        old = [entry for entry in versions if entry[0] and entry[0] <= FLOOR]
        # Without a default version only old programs can ask for it.
        if old and any(is_default for _, _, is_default, _, _ in versions):
            _, version, _, kind, size = max(old)
            groups.setdefault(version, []).append(f"{name}:{size}" if kind == "OBJECT" else name)
    return groups


def main():
    for pattern in LIBRARIES:
        for library in sorted(pathlib.Path(sys.argv[1]).glob(pattern)):
            for version, names in sorted(symbols_of(library).items(), key=lambda group: number_of(group[0])):
                print(f"{library.name} {version}")
                print(textwrap.fill(" ".join(sorted(names)), 120, initial_indent="  ", subsequent_indent="  ",
                                    break_long_words=False, break_on_hyphens=False))


if __name__ == "__main__":
    main()
