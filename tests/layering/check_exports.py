# SPDX-License-Identifier: Apache-2.0
"""libsynctrace.so shows and needs no more than it must: it is loaded into programs that have their own C++ runtime, their
own CUDA and their own symbols of every name. Usage: check_exports.py LIBRARY ALLOW_LIST [ARCHITECTURE]"""

import platform
import re
import subprocess
import sys

import tree

# What glibc consists of (since 2.34 the last three are empty shells kept for old binaries).
ALLOWED_LIBRARIES = re.compile(r"^(libc\.so\.6|ld-linux-[\w-]+\.so\.\d|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1)$")


def find_violations(library, allowed):
    """`allowed`: the names that the library exports, all of them, with their versions as readelf shows them."""
    defined, undefined = dynamic_symbols(library)
    exported = {name for name, _ in defined}
    violations = [f"{library}: exports {name}, which is not on the list" for name in sorted(exported - allowed)]
    violations += [f"{library}: does not export {name}" for name in sorted(allowed - exported)]
    # The loader makes one such symbol serve the whole process, and never unloads its owner.
    violations += [f"{library}: {name} is STB_GNU_UNIQUE" for name, binding in sorted(defined) if binding == "UNIQUE"]
    violations += [
        f"{library}: needs {name}, which is not glibc's"
        for name, binding in sorted(undefined)
        if binding != "WEAK" and "@GLIBC_" not in name
    ]
    violations += [
        f"{library}: needs the library {name}"
        for name in needed_libraries(library)
        if not ALLOWED_LIBRARIES.match(name)
    ]
    return violations


def dynamic_symbols(library):
    """Two sets of (name, binding): defined and undefined, with the versions that readelf shows."""
    defined, undefined = set(), set()
    for line in readelf("--dyn-syms", library):
        fields = line.split()
        if len(fields) < 8 or not fields[0].rstrip(":").isdigit() or fields[4] == "LOCAL":
            continue
        binding, section, name = fields[4], fields[6], fields[7]
        if section == "UND":
            undefined.add((name, binding))
        elif section != "ABS":  # version names
            defined.add((name, binding))
    return defined, undefined


def needed_libraries(library):
    return [match.group(1) for line in readelf("--dynamic", library) if (match := re.search(r"\(NEEDED\).*\[(.+)\]", line))]


def readelf(option, library):
    done = subprocess.run(["readelf", "--wide", option, library], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


def read_list(path, architecture):
    """The lines of a list, less comments. A line below "[architecture]" counts for that architecture only."""
    names, section = set(), None
    for _, text in tree.lines(".", path):
        text = text.strip()
        if text.startswith("["):
            section = text.strip("[]")
        elif text and not text.startswith("#") and section in (None, architecture):
            names.add(text)
    return names


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1], read_list(sys.argv[2], (sys.argv[3:] or [platform.machine()])[0]))))
