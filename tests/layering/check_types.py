# SPDX-License-Identifier: Apache-2.0
"""A type has its name alone. Where two structs have one name in one namespace, the linker keeps one of two equal functions, and the other struct's
objects are overwritten: no compiler says so. Types of unnamed namespaces are a file's own.
Usage: check_types.py ROOT"""

import collections
import pathlib
import re
import sys

import tree

FOLDERS = ("libsynctrace", "cli")
NAMESPACE = re.compile(r"^(?:inline )?namespace ([\w:]*) ?\{$")
CLOSED = re.compile(r"^\}\s*// namespace")
TYPE = re.compile(r"^(?:struct|class|union|enum class) (?:alignas\(\w+\) )?(\w+)(?: final)?(?: :[^;]*)?(?: \{.*)?$")


def types_of(root, path):
    """(full name, line) of each type that other files could see."""
    opened = []
    for number, text in tree.lines(root, path):
        line = text.rstrip()
        if found := NAMESPACE.match(line):
            opened.append(found[1])
        elif CLOSED.match(line) and opened:
            opened.pop()
        elif (found := TYPE.match(line)) and "" not in opened:
            yield "::".join([*opened, found[1]]), number


def find_violations(root):
    places = collections.defaultdict(list)
    for folder in FOLDERS:
        base = pathlib.Path(root, folder)
        for path in tree.files(base, ".h", ".cpp") if base.exists() else []:
            for name, number in types_of(root, pathlib.PurePath(folder, path)):
                places[name].append(f"{folder}/{path}:{number}")
    return [f"{found[1]}: {name} is defined at {found[0]} already; give it another name, or put it into an unnamed namespace"
            for name, found in sorted(places.items()) if len(found) > 1]


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
