# SPDX-License-Identifier: Apache-2.0
"""What libsynctrace.so can write to outside of its one Recorder stands in docs/architecture.md, with the reason: nothing
that is not listed, and nothing listed that is gone. Usage: check_globals.py LIBRARY ROOT NM [ARCHITECTURE]"""

import fnmatch
import pathlib
import platform
import re
import subprocess
import sys

import tree

PAGE = "docs/architecture.md"
OURS = "## Mutable globals of libsynctrace.so"
RUNTIME = "### Those of the compiler's runtime"

# Sections that stay writable. What holds addresses of constants (.data.rel.ro) does not.
WRITABLE = re.compile(r"\.(data|bss|tdata|tbss|ldata|lbss)(\.(?!rel\.ro)|$)")
SCOPES = re.compile(r"\b(synctrace|capture|format)::|\(anonymous namespace\)::")


def find_violations(library, root, nm="nm", machine=None):
    found = mutable_globals(library, nm)
    if not found:
        return [f"{library}: no symbols; the check needs a library that is not stripped"]
    text = pathlib.Path(root, PAGE).read_text(encoding="utf-8")
    ours, runtime = rows(text, OURS), rows(text, RUNTIME)
    patterns = [pattern for names, _ in runtime for pattern in names]
    violations, seen = [], set()
    for name in sorted(found):
        # Ours are all in namespaces of ours, or marked as such.
        if "synctrace" not in name and matches(name, patterns):
            continue
        short = SCOPES.sub("", name)
        own = [pattern for names, _ in ours for pattern in names if fnmatch.fnmatchcase(short, pattern)]
        seen.update(own)
        if not own:
            violations.append(f"{library}: {name} can be written to, and is not in {PAGE}")
    for names, place in ours:
        for pattern in names:
            if pattern not in seen and ("x86-64" not in place or machine == "x86_64"):
                violations.append(f"{PAGE}: {pattern} is listed, and no more in the library")
            if not stands_in(pathlib.Path(root, "libsynctrace"), pattern, place):
                violations.append(f"{PAGE}: {pattern} is not in {place}")
    return violations


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def mutable_globals(library, nm):
    """Demangled names of the objects in writable sections, thread-locals included."""
    lines = subprocess.run([nm, "-C", "-f", "sysv", "--defined-only", library], check=True, capture_output=True, text=True)
    fields = [line.rsplit("|", 6) for line in lines.stdout.splitlines()]
    return {
        field[0].strip()
        for field in fields
        if len(field) == 7 and WRITABLE.match(field[6].strip()) and field[3].strip() in ("OBJECT", "TLS")
    }


def rows(text, heading):
    """(names, place) of each row of the table under a heading."""
    section = re.split(r"^#", text.partition(f"\n{heading}\n")[2], maxsplit=1, flags=re.MULTILINE)[0]
    cells = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| `")]
    return [(re.findall(r"`([^`]+)`", names), place.strip()) for names, place in cells]


def stands_in(library_sources, pattern, place):
    file = library_sources / re.findall(r"`([^`]+)`", place)[0]
    if file.is_dir():
        return True
    word = pattern.rsplit("::", maxsplit=1)[-1].rstrip("*")
    return file.exists() and word in file.read_text(encoding="utf-8")


if __name__ == "__main__":
    architecture = sys.argv[4] if len(sys.argv) > 4 else platform.machine()
    sys.exit(tree.report(find_violations(*sys.argv[1:4], machine=architecture)))
