# SPDX-License-Identifier: Apache-2.0
"""Counts the sentences of comments and docstrings that begin with "Of", "As" or "Those". Such a sentence mostly lacks its
subject, and a reader has to guess it. Their number may fall, but not grow.
Usage: check_comments.py ROOT [FOLDER...]: with folders, lists what is found in them instead"""

import ast
import io
import pathlib
import re
import sys
import tokenize

import tree

# How many there may be.
MOST = 0

IN_C = (".h", ".cpp", ".cu", ".c", ".js", ".mjs")
IN_SHELL = (".sh", ".cmake", "CMakeLists.txt", "Makefile")
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'', re.DOTALL)
HASH = re.compile(r"(?:^|(?<=\s))#[^\n]*", re.MULTILINE)
BEGIN = re.compile(r"(?:of|as|those)\b", re.IGNORECASE)
LATER = re.compile(r"(?<=[.?!] )(?:Of|As|Those)\b")


def find_in_text(path, text):
    """(line, beginning) of each such sentence of one file."""
    found = []
    for line, comment in blocks(path, text):
        begins = [0] if BEGIN.match(comment) else []
        begins += [match.start() for match in LATER.finditer(comment)]
        found += [(line, comment[begin:begin + 60]) for begin in begins]
    return found


def blocks(path, text):
    """(line, text in one line) of each comment; lines that go on with the one above belong to it."""
    if path.suffix == ".py":
        comments = [(token.start, token.string) for token in tokenize.generate_tokens(io.StringIO(text).readline)
                    if token.type == tokenize.COMMENT]
    else:
        pattern = TOKEN if path.suffix in IN_C else HASH
        comments = [(position(text, match.start()), match.group()) for match in pattern.finditer(text)
                    if match.group()[0] in "/#"]
    lines = text.splitlines()
    found = []
    above = None
    for (line, column), comment in comments:
        words = " ".join(re.sub(r"^[/*#!\s]+", "", part) for part in comment.removesuffix("*/").splitlines()).strip()
        if (line - 1, column) == above and not lines[line - 1][:column].strip():
            found[-1] = (found[-1][0], f"{found[-1][1]} {words}")
        else:
            found.append((line, words))
        above = (line, column)
    return found + (docstrings(text) if path.suffix == ".py" else [])


def docstrings(text):
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(ast.parse(text)):
        words = ast.get_docstring(node) if isinstance(node, owners) else None
        if words:
            found.append((node.body[0].lineno, " ".join(words.split())))
    return found


def position(text, offset):
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset) - 1


def find_all(root):
    return [
        f"{path}:{line}: {words}"
        for path in tree.files(root, ".py", *IN_C, *IN_SHELL)
        for line, words in find_in_text(path, pathlib.Path(root, path).read_text(encoding="utf-8"))
    ]


def find_violations(root, most=MOST):
    found = find_all(root)
    if len(found) <= most:
        return []
    return found + [f"{len(found)} sentences of comments begin with Of, As or Those, {most} before: say what they are about"]


if __name__ == "__main__":
    if len(sys.argv) > 2:
        print("\n".join(line for line in find_all(sys.argv[1]) if line.startswith(tuple(sys.argv[2:]))))
    else:
        sys.exit(tree.report(find_violations(sys.argv[1])))
