# SPDX-License-Identifier: Apache-2.0
"""Each block of command lines in the documentation says how it is tried (tests/support/doc_blocks.py). What measures for long is not
tried: its scripts are there and know their options. Usage: check_blocks.py ROOT"""

import pathlib
import re
import sys

import tree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import doc_blocks  # noqa: E402

HIDDEN = re.compile(r"^(?: +```|\s*~~~)", re.MULTILINE)  # fences that doc_blocks does not read
SCRIPT = re.compile(r"\b(?:tests|packages)/[\w./-]+\.(?:py|sh|mjs)\b")
OPTION = re.compile(r"(?<= )--([a-z][a-z-]+)")


def find_violations(root):
    violations = [f"{page}: a block that is set in, or between ~~~, has no place for a mark" for page in doc_blocks.pages(root)
                  if HIDDEN.search(pathlib.Path(root, page).read_text(encoding="utf-8"))]
    for block in doc_blocks.all_blocks(root):
        reason = block.why_wrong()
        if reason:
            violations.append(f"{block.place}: {reason}")
        elif block.needs == "measuring":
            violations += [f"{block.place}: {problem}" for line in block.text.splitlines() for problem in stale(root, line)]
    return violations


def stale(root, line):
    """What a line asks of a script that is not there, or does not have it."""
    command = line.partition(" #")[0]
    scripts = SCRIPT.findall(command)
    if not scripts:
        return []
    file = pathlib.Path(root, scripts[0])
    if not file.is_file():
        return [f"{scripts[0]}: no such file"]
    known = file.read_text(encoding="utf-8")
    words = command[command.index(scripts[0]):]
    return [f"{scripts[0]} has no option --{name}" for name in OPTION.findall(words) if f"--{name}" not in known]


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
