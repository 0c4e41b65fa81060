# SPDX-License-Identifier: Apache-2.0
"""What the layering checks share: which files belong to the project, and how a check reports."""

import os
import pathlib
import sys

SKIPPED_FOLDERS = {"build", "__pycache__"}


def files(root, *suffixes):
    """Paths relative to `root`, sorted, of the project's files with one of the suffixes; hidden folders are left out."""
    found = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = [name for name in subfolders if name not in SKIPPED_FOLDERS and not name.startswith(".")]
        found += [
            pathlib.PurePath(folder, name).relative_to(root)
            for name in names
            if not suffixes or name.endswith(suffixes)
        ]
    return sorted(found)


def lines(root, path):
    """(number, text) of each line of a file."""
    with open(pathlib.Path(root, path), encoding="utf-8") as file:
        return list(enumerate(file.read().splitlines(), start=1))


def report(violations):
    """Prints the violations; the value is the process's exit status."""
    for violation in violations:
        print(violation, file=sys.stderr)
    return 1 if violations else 0
