# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/style.md that a script can see: file length, licence line, include guard.
Usage: check_sources.py ROOT"""

import sys

import tree

MAX_LINES = 400
LICENCE = "SPDX-License-Identifier: Apache-2.0"

# Files that are one long table, and read best in one piece.
LONG_FILES = {
    "libsynctrace/format/records.h": "one struct for each kind of record",
    "libsynctrace/capture/cupti/traced_calls.cpp": "one line for each CUDA call that is traced",
}


def find_violations(root):
    violations = []
    for path in tree.files(root, ".h", ".cpp", ".cu", ".py"):
        lines = [text for _, text in tree.lines(root, path)]
        if not lines:
            violations.append(f"{path}: empty")
            continue
        head = lines[:2]
        if not any(LICENCE in line for line in head):
            violations.append(f"{path}:1: the first line must be the licence: {LICENCE}")
        if path.suffix == ".h" and "#pragma once" not in lines:
            violations.append(f"{path}: a header without #pragma once")
        if path.suffix != ".py" and len(lines) > MAX_LINES and str(path) not in LONG_FILES:
            violations.append(f"{path}: {len(lines)} lines; split it (at most {MAX_LINES})")
    return violations


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
