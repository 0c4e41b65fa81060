# SPDX-License-Identifier: Apache-2.0
"""Sentences in the documentation are short: none has more than 30 words, and half of a page's have fewer than 18. The README is what
a stranger reads first, so half of its sentences have at most 16 words, and it has at most 110 lines.

  check_sentences.py ROOT           fails for the README and pages of docs/ and docs/measurements/
  check_sentences.py ROOT --list    prints the figures of each page, and its long sentences

Tables, what a script makes, headings and blocks of code are no sentences; a span of code counts as one word."""

import pathlib
import re
import statistics
import sys

import tree

MAX_WORDS = 30
MEDIAN_BELOW = 18
FRONT_PAGE = "README.md"
FRONT_MEDIAN = 16
FRONT_LINES = 110
PAGES = re.compile(r"README\.md|docs/([\w-]+|measurements/[\w-]+)\.md")

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"<!-- (rows: [\w-]+|claims) -->.*?<!-- end -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
CODE_SPAN = re.compile(r"`[^`\n]*(?:\n[^`\n]*)?`")
TARGET = re.compile(r"\]\([^)]*\)")
NO_PROSE = re.compile(r"\s*(\||#|$)")
ITEM = re.compile(r"\s*([*+-]|\d+\.)\s+")
END = re.compile(r"""(?<=[.!?])["')*\]_]*\s+(?=["'(*\[_]*[A-Z0-9])""")
WORD = re.compile(r"\w")


def blocks(text):
    """Paragraphs and items of lists, each as one line."""
    text = TARGET.sub("]", CODE_SPAN.sub("Code", COMMENT.sub("", MADE.sub("", FENCE.sub("", text)))))
    lines = []
    for line in text.splitlines():
        if NO_PROSE.match(line) or ITEM.match(line):
            yield " ".join(lines)
            lines = [] if NO_PROSE.match(line) else [ITEM.sub("", line, count=1)]
        else:
            lines.append(line.strip())
    yield " ".join(lines)


def sentences(text):
    """(words, sentence) of each one."""
    found = [sentence for block in blocks(text) for sentence in END.split(block)]
    return [(words, sentence) for sentence in found if (words := sum(bool(WORD.search(word)) for word in sentence.split()))]


def judge(text):
    """(sentences that are too long, the median)"""
    counted = sentences(text)
    return [(words, sentence) for words, sentence in counted if words > MAX_WORDS], statistics.median([words for words, _ in counted] or [0])


def pages(root):
    return [path for path in map(str, tree.files(root, ".md")) if PAGES.fullmatch(path)]


def find_violations(root):
    violations = []
    for path in pages(root):
        text = pathlib.Path(root, path).read_text(encoding="utf-8")
        long, median = judge(text)
        violations += [f"{path}: {words} words, at most {MAX_WORDS}: {sentence[:80]}..." for words, sentence in long]
        if median >= MEDIAN_BELOW:
            violations.append(f"{path}: half of the sentences have {median:g} words or more; it has to be below {MEDIAN_BELOW}")
        if path == FRONT_PAGE:
            violations += judge_front_page(text, median)
    return violations


def judge_front_page(text, median):
    lines = text.count("\n")
    too_long = [f"{FRONT_PAGE}: {lines} lines, at most {FRONT_LINES}"] if lines > FRONT_LINES else []
    return too_long + ([f"{FRONT_PAGE}: half of the sentences have more than {median:g} words, at most {FRONT_MEDIAN}"] if median > FRONT_MEDIAN else [])


def show(root):
    for path in pages(root):
        long, median = judge(pathlib.Path(root, path).read_text(encoding="utf-8"))
        print(f"{path}: {len(long)} sentences over {MAX_WORDS} words, median {median:g}")
        for words, sentence in long:
            print(f"  {words}: {sentence}")


if __name__ == "__main__":
    if "--list" in sys.argv:
        sys.exit(show(sys.argv[1]))
    sys.exit(tree.report(find_violations(sys.argv[1])))
