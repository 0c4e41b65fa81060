# SPDX-License-Identifier: Apache-2.0
"""Small faults that a person could make, found in the sources by their text: one fault changes one place of one line."""

import hashlib
import random
import re
from typing import NamedTuple

ROOMS = ("code", "steps", "attribution", "whatif", "findings", "timeline", "recordings", "render", "gate", "names")
LEFT_OUT = {"guarded_probe.cpp"}  # it makes and kills processes: with a fault, perhaps others than its own

# Operator, what it looks for in code without comments and strings, what it puts there. Binary operators have spaces around them
# (make format), brackets of templates have none.
OPERATORS = [
    ("lt-to-le", r" < ", " <= "), ("le-to-lt", r" <= ", " < "), ("gt-to-ge", r" > ", " >= "), ("ge-to-gt", r" >= ", " > "),
    ("less-to-greater", r" <=? ", " > "), ("greater-to-less", r" >=? ", " < "),
    ("equal-to-unequal", r" == ", " != "), ("unequal-to-equal", r" != ", " == "),
    ("and-to-or", r" && ", " || "), ("or-to-and", r" \|\| ", " && "),
    ("drop-one", r" [+-] 1U?\b(?!['.])", ""), ("drop-term", r" [+-] [a-z][\w.]*(?=[;,)])", ""),
    ("plus-to-minus", r" \+ ", " - "), ("minus-to-plus", r" - ", " + "), ("divide-to-multiply", r" / ", " * "),
    ("add-to-subtract", r" \+= ", " -= "), ("add-to-set", r" \+= ", " = "),
    ("min-to-max", r"\bstd::min\b", "std::max"), ("max-to-min", r"\bstd::max\b", "std::min"),
    ("lower-to-upper", r"\blower_bound\b", "upper_bound"), ("upper-to-lower", r"\bupper_bound\b", "lower_bound"),
    ("true-to-false", r"\breturn true;", "return false;"), ("false-to-true", r"\breturn false;", "return true;"),
    ("drop-not", r"(?<=[( ])!(?=[\w(])", ""), ("negate-if", r"(?<=\bif )\(", lambda found: f"(!{found})"),
    ("double", r"(?<=[ (])[2-9](?:[\d']*)(?=[;,)} ])", lambda found: f"2 * {found}"),
    ("drop-call", r"^ +[a-z][\w.>\[\]-]*\([^{}]*\);$", ""), ("drop-change", r"^ +(?:\+\+)?[a-z][\w.>\[\]-]*(?: [+|&-]= [^{}]*)?;$", ";"),
    ("drop-case", r"^ +case [\w:]+:(?: return [^;]*;)?$", ""),
]

# Faults planted by hand once, when nobody noticed them: file, text, what it becomes.
BY_HAND = {
    "hint-threshold": ("verdict.cpp", "starved_ns / 10)", "starved_ns / 2)"),
    "likeness-unchecked": ("step_period.cpp", " && likeness(tokens_, cuts) >= kAlike)", ")"),
    "sleeps-after-handover": ("waker.cpp", "next->span.begin_ns <= woken_ns + kHandoverNs", "next->span.begin_ns < woken_ns + kHandoverNs"),
    "worked-before-handover": ("waker.cpp", "woken_ns - now.span.begin_ns <= kHandoverNs", "woken_ns - now.span.begin_ns < kHandoverNs"),
}

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<!\w)\'(?:[^\'\\\n]|\\.)+\'|^#[^\n]*', re.S | re.M)
NO_CODE = re.compile(r" *(?:template|using|static_assert|friend|namespace)\b|.*(?:= default|= delete|operator)")


class Fault(NamedTuple):
    name: str
    path: str  # in the sources
    begin: int
    old: str
    new: str

    def line(self, text):
        return text.count("\n", 0, self.begin) + 1


def blanked(text):
    """Without comments, strings and directives, each character at its place."""
    return COMMENT_OR_TEXT.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)


def faults_of(path, text):
    """All faults of a file, by operator. A name stays while its line and the equal ones above it do."""
    found = {}
    seen = {}
    begin = 0
    for line, code in zip(text.split("\n"), blanked(text).split("\n")):
        bare = line.strip()
        seen[bare] = seen.get(bare, 0) + 1
        for operator, pattern, put in OPERATORS if not NO_CODE.match(code) else ():
            for place in re.finditer(pattern, code.rstrip("\0 ")):
                old = line[place.start():place.end()] if operator != "negate-if" else condition(line, code, place.start())
                if old:
                    digest = hashlib.sha1(f"{bare} {seen[bare]} {line.rindex(bare) - place.start()}".encode()).hexdigest()
                    new = put(old) if callable(put) else put
                    found.setdefault(operator, []).append(
                        Fault(f"{path.name}/{operator}/{digest[:6]}", str(path), begin + place.start(), old, new))
        begin += len(line) + 1
    return found


def condition(line, code, begin):
    """The bracket that begins there, if it ends on the line and declares nothing."""
    depth = 0
    for at in range(begin, len(code)):
        depth += (code[at] == "(") - (code[at] == ")")
        if depth == 0:
            return line[begin:at + 1] if ";" not in code[begin:at] else None
    return None


def sources(root, room):
    return sorted(path.relative_to(root) for path in (root / "libsynctrace" / room).rglob("*.cpp") if path.name not in LEFT_OUT)


def by_hand(root):
    for name, (file, old, new) in BY_HAND.items():
        for path in (path for room in ROOMS for path in sources(root, room) if path.name == file):
            begin = (root / path).read_text(encoding="utf-8").find(old)
            if begin >= 0:
                yield Fault(f"{file}/by-hand/{name}", str(path), begin, old, new)


def in_turn(root, room, seed):
    """Faults of a room in a random order that repeats: file after file, and in a file one operator after the other."""
    draw = random.Random(f"{seed} {room}")
    files = []
    for path in sources(root, room):
        operators = list(faults_of(path, (root / path).read_text(encoding="utf-8")).values())
        for places in operators:
            draw.shuffle(places)
        draw.shuffle(operators)
        files.append([places[turn] for turn in range(max(map(len, operators), default=0)) for places in operators if turn < len(places)])
    draw.shuffle(files)
    for turn in range(max(map(len, files), default=0)):
        yield from (faults[turn] for faults in files if turn < len(faults))
