# SPDX-License-Identifier: Apache-2.0
"""The documentation agrees with the code: every variable of the launch contract is in the manual and the reverse, every
relative link of every page leads somewhere, files that pages name by their path are there, tables of files in a folder's README name what
is in the folder, and output behind <!-- screen: FILE --> is that of the file, which a test compares with what the program prints. With
`lines 1-20` behind the file's name it is those lines.

  check_docs.py ROOT            fails where they do not agree
  check_docs.py ROOT --write    puts the files' lines into the pages first"""

import pathlib
import re
import sys

import tree

CONTRACT = "libsynctrace/contract/launch_contract.h"
MANUAL = "docs/man/synctrace-run.1"

VARIABLE = re.compile(r"\bSYNCTRACE_[A-Z0-9_]+")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"!?\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)")
IMAGE_TAG = re.compile(r'<img[^>]*\ssrc="([^"]+)"')
SCREEN = re.compile(r"(<!-- screen: (\S+)(?: lines (\d+)-(\d+))? -->\n```\n)(.*?)```", re.DOTALL)
NAMED_FILE = re.compile(r"`((?:libsynctrace|cli|tests|docs|examples|packages)/[\w./-]*\w/?)`")
TABLE_OF_FILES = re.compile(r"^\| (?:files?|folder) \|.*\n\|[-|]+\n((?:\|.*\n)*)", re.MULTILINE)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$", re.MULTILINE)


def find_violations(root):
    return check_variables(root) + check_links(root) + check_screens(root) + check_named_files(root) + check_tables_of_files(root)


def check_variables(root):
    contract = variables(root, CONTRACT)
    manual = variables(root, MANUAL)
    return [f"{MANUAL}: {name} of {CONTRACT} is missing" for name in sorted(contract - manual)] + [
        f"{MANUAL}: {name} is not in {CONTRACT}" for name in sorted(manual - contract)
    ]


def variables(root, path):
    file = pathlib.Path(root, path)
    return set(VARIABLE.findall(file.read_text(encoding="utf-8"))) if file.exists() else set()


def check_screens(root):
    violations = []
    for path in tree.files(root, ".md"):
        for found in SCREEN.finditer(pathlib.Path(root, path).read_text(encoding="utf-8")):
            if screen(root, found) != found[5]:
                violations.append(f"{path}: the output shown is not that of {found[2]} (check_docs.py ROOT --write)")
    return violations


def screen(root, found):
    """What the page should show; None where the file is missing or has fewer lines."""
    file = pathlib.Path(root, found[2])
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
    first, last = (int(found[3]), int(found[4])) if found[3] else (1, len(lines))
    return "".join(lines[first - 1:last]) if 1 <= first <= last <= len(lines) else None


def write_screens(root):
    for path in tree.files(root, ".md"):
        file = pathlib.Path(root, path)
        text = file.read_text(encoding="utf-8")
        written = SCREEN.sub(lambda found: found[1] + (screen(root, found) or found[5]) + "```", text)
        if written != text:
            file.write_text(written, encoding="utf-8")


def check_links(root):
    violations = []
    for path in tree.files(root, ".md"):
        text = prose(pathlib.Path(root, path))
        for target in LINK.findall(text) + IMAGE_TAG.findall(text):
            reason = check_link(root, path, target)
            if reason:
                violations.append(f"{path}: {target}: {reason}")
    return violations


def check_named_files(root):
    violations = []
    for path in tree.files(root, ".md"):
        text = FENCE.sub("", pathlib.Path(root, path).read_text(encoding="utf-8"))
        violations += [f"{path}: {name}: no such file" for name in NAMED_FILE.findall(text) if not pathlib.Path(root, name).exists()]
    return violations


def check_tables_of_files(root):
    """The first column of such a table names files without their suffix, or folders."""
    violations = []
    for path in tree.files(root, "README.md"):
        folder = pathlib.Path(root, path).parent
        for rows in TABLE_OF_FILES.findall(pathlib.Path(root, path).read_text(encoding="utf-8")):
            names = [name for row in rows.splitlines() for name in CODE_SPAN.findall(row.split("|")[1])]
            violations += [f"{path}: {name} is not in its folder" for name in names if not is_there(folder, name.strip("`").rstrip("/"))]
    return violations


def is_there(folder, name):
    return (folder / name).exists() or any(folder.glob(name if "*" in name else name + ".*"))


def check_link(root, page, target):
    """Why a link of `page` leads nowhere, or None."""
    if re.match(r"^[a-z][a-z0-9+.-]*:", target):
        return None  # another site: not ours to check, and no test may need the network
    name, _, anchor = target.partition("#")
    file = pathlib.Path(root, page).parent / name if name else pathlib.Path(root, page)
    if not file.exists():
        return "no such file"
    if anchor and file.suffix == ".md" and anchor not in anchors(file):
        return "no such heading"
    return None


def prose(file):
    """The page without its code, where brackets are no links."""
    return CODE_SPAN.sub("", FENCE.sub("", file.read_text(encoding="utf-8")))


def anchors(file):
    """The anchors that the headings of a page get: lower case, no punctuation, hyphens for blanks."""
    text = FENCE.sub("", file.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(text)}


if __name__ == "__main__":
    if "--write" in sys.argv:
        write_screens(sys.argv[1])
    sys.exit(tree.report(find_violations(sys.argv[1])))
