# SPDX-License-Identifier: Apache-2.0
"""The Python frames of a trace's stacks, from the records that `synctrace dump` prints: which line each is at."""
import re

_FRAME = re.compile(r"p(\d+):(-?\d+)!?$")


def _line_in_steps(table, line, offset):
    """3.8 and 3.9: pairs of a byte step and a signed line step."""
    address = 0
    for step, lines in zip(table[0::2], table[1::2]):
        address += step
        if address > offset:
            break
        line += lines - 256 if lines > 127 else lines
    return line


def _line_in_ranges(table, line, offset):
    """3.10: pairs of a length and a signed line step; -128 is a range without a line."""
    end = 0
    for length, lines in zip(table[0::2], table[1::2]):
        end += length
        line += 0 if lines == 128 else lines - 256 if lines > 127 else lines
        if offset < end:
            return None if lines == 128 else line
    return None


def _line_in_locations(table, line, offset):
    """3.11 and later: a head byte with kind and length, then what the kind needs."""
    end, i = 0, 0

    def varint():
        nonlocal i
        value, shift = 0, 0
        while True:
            byte = table[i]
            i += 1
            value |= (byte & 63) << shift
            shift += 6
            if not byte & 64:
                return value

    while i < len(table):
        kind, length = (table[i] >> 3) & 15, (table[i] & 7) + 1
        i += 1
        if kind in (13, 14):
            step = varint()
            line += -(step >> 1) if step & 1 else step >> 1
            for _ in range(3 if kind == 14 else 0):
                varint()
        elif kind >= 10 and kind != 15:
            line += kind - 10
            i += 2
        elif kind < 10:
            i += 1
        end += 2 * length
        if offset < end:
            return None if kind == 15 else line
    return None


class Stacks:
    """frames(id) of the Python frames of a stack, innermost first: (file, line, function)."""

    def __init__(self, records):
        self._codes = {code["id"]: code for code in records.of("code")}
        self._texts = {stack["id"]: stack["frames"] for stack in records.of("stack")}

    def frames(self, stack):
        found = (_FRAME.match(frame) for frame in self._texts.get(stack, "").split())
        return [self._place(int(match.group(1)), int(match.group(2))) for match in found if match]

    def line_in(self, stack, file):
        """The line of the innermost frame in a file, or None."""
        return next((line for name, line, _ in self.frames(stack) if name == str(file)), None)

    def _place(self, code, offset):
        code = self._codes.get(code)
        if code is None:
            return "?", None, "?"
        minor = (code["python_version"] >> 16) & 0xff
        find = _line_in_steps if minor < 10 else _line_in_ranges if minor == 10 else _line_in_locations
        table = code["line_table"].encode("utf-8", "surrogateescape")
        line = code["first_line"] if offset < 0 else find(table, code["first_line"], offset)
        return code["file"], line, code["function"]
