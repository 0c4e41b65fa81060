# SPDX-License-Identifier: Apache-2.0
"""Limits of the analysis have one name, one value and one place. A number with a name is defined once in all rooms that analyse. The step
finder has no bare ratios, and each line of its table of limits says unit, reason and the test that holds it.
Usage: check_limits.py ROOT"""

import collections
import pathlib
import re
import sys

import tree

ROOMS = ("model", "names", "code", "steps", "attribution", "kernels", "whatif", "ranks", "findings")
TABLE = "libsynctrace/steps/step_limits.h"
TESTS = "tests/unit/steps"
NO_TEST = {"cost", "open"}  # it bounds time or memory alone; no test notices half or double of it yet

# Constants of classes are named with their class, and texts and tables are no limits.
NUMBER = re.compile(r"(?<!static )\bconstexpr\s+(?:(?:std::)?u?int\w*_t|std::size_t|std::ptrdiff_t|int|unsigned|double|float|auto|Nanoseconds|Share)"
                    r"\s+(k[A-Z]\w*)\s*[={]")
ROW = re.compile(r"^inline constexpr .*?(k[A-Z]\w*) = .*?;\s*(?://(.*))?$")
CODE = re.compile(r'//.*|"(?:[^"\\]|\\.)*"|\'(?:[^\'\\\s]|\\.)\'')
COMPARED = re.compile(r" (?:<|>|<=|>=) ")
FACTOR = re.compile(r"\* (?!0x)\d|(?<![\w'.])\d[\d']* \*")
DIVISOR = re.compile(r" / (?!2\b)\d")  # a half is the middle of a row
FRACTION = re.compile(r"(?<![\w'])(?!0\.0\b)\d+\.\d")


def find_violations(root):
    return check_names(root) + check_ratios(root) + check_table(root)


def sources(root, room):
    folder = pathlib.Path(root, "libsynctrace", room)
    for path in tree.files(folder, ".h", ".cpp") if folder.exists() else []:
        yield pathlib.PurePath("libsynctrace", room, path)


def check_names(root):
    places = collections.defaultdict(list)
    for room in ROOMS:
        for path in sources(root, room):
            for number, text in tree.lines(root, path):
                for match in NUMBER.finditer(CODE.sub("", text)):
                    places[match[1]].append(f"{path}:{number}")
    return [f"{found[1]}: {name} is defined at {found[0]} already; give it another name, or one place"
            for name, found in sorted(places.items()) if len(found) > 1]


def check_ratios(root):
    violations = []
    for path in sources(root, "steps"):
        if str(path) == TABLE:
            continue
        for number, text in tree.lines(root, path):
            code = CODE.sub("", text)
            if FRACTION.search(code) or DIVISOR.search(code) or (COMPARED.search(code) and FACTOR.search(code)):
                violations.append(f"{path}:{number}: a bare ratio; give it a name in {TABLE}")
    return violations


def check_table(root):
    if not pathlib.Path(root, TABLE).exists():
        return []
    violations = []
    for number, text in tree.lines(root, TABLE):
        row = ROW.match(text)
        if not row:
            continue
        cells = [cell.strip() for cell in (row[2] or "").split("|")]
        if len(cells) != 3 or not all(cells):
            violations.append(f"{TABLE}:{number}: {row[1]} needs a unit, a reason and the test that holds it: // unit | reason | test")
        elif cells[2] not in NO_TEST and not pathlib.Path(root, TESTS, cells[2] + "_test.cpp").exists():
            violations.append(f"{TABLE}:{number}: {row[1]}: there is no {TESTS}/{cells[2]}_test.cpp")
    return violations


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
