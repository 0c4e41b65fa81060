# SPDX-License-Identifier: Apache-2.0
"""What each output says of causes and waits, read back from it as a script or a reader would."""
import base64
import csv
import gzip
import html
import io
import json
import re

TIME = r"[\d.,]+ (?:ns|us|ms|s)"
TEXT_CAUSE = re.compile(rf" {{2,}}(?:(?:ST\d+|-) +)?(\S.*?) +({TIME}) +([\d.]+ %|-) +({TIME}|-) +(\d+) +({TIME}|-) +(\S+ ?%|none|-)(?:  .*)?")
TEXT_WAIT = re.compile(rf" {{2,}}(?:(?:ST\d+|-) +)?(\S.*?) +(\d+) +(\d+) +({TIME}) +({TIME}) +([\d.]+ [KMGT]?i?B|-)  (.*)")
TEXT_POLL = re.compile(rf" {{2,}}(?:(?:ST\d+|-) +)?(\S.*?) +(\d+) +(\d+) +(\d+) +({TIME}|-)")
PAGE_CAUSE = re.compile(r'<tbody class="cause [^"]*" id="[^"]*" data-device="(\d+)" data-kind="(\w+)" data-row="(\d+)">(.*?)</tbody>', re.DOTALL)


def duration(ns):
    """The text that people read (base/quantity_text.h)."""
    if ns < 1_000:
        return f"{ns} ns"
    for limit, unit, name, digits in ((999_950, 1e3, "us", 1), (999_950_000, 1e6, "ms", 1)):
        if ns < limit:
            return f"{ns / unit:.{digits}f} {name}"
    return f"{ns / 1e9:.3f} s"


def share(part, whole):
    if whole <= 0:
        return "-"
    return "100.0 %" if part == whole else f"{min(100.0 * part / whole, 99.9):.1f} %"


def value(cell):
    """The value of a cell that shows a number, or a dash for none."""
    found = re.search(r'value="(\d+)"', cell)
    return int(found[1]) if found else 0


def text_table(text, title):
    """The lines of the first table whose title begins so."""
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith(title):
            return list(iter(lambda: next(lines, ""), ""))[1:]
    return []


def text_causes(text, title):
    """(name, idle, share, times, waiting) of each row, sums left out."""
    found = [TEXT_CAUSE.fullmatch(line) for line in text_table(text, title)]
    return [(m[1], m[2], m[3], int(m[5]), m[6]) for m in found if m]


def text_waits(text):
    found = [TEXT_WAIT.fullmatch(line) for line in text_table(text, "The host waited")]
    return [(int(m[2]), int(m[3]), m[4], m[7].strip()) for m in found if m]


def text_polls(text):
    found = [TEXT_POLL.fullmatch(line) for line in text_table(text, "Polling")]
    return [(int(m[2]), int(m[4]), m[5]) for m in found if m]


def markdown_table(text, title):
    """The cells of the rows below the first heading that begins so."""
    lines = iter(text.split("\n"))
    for line in lines:
        if line.startswith("### " + title):
            next(lines)
            rows = list(iter(lambda: next(lines, ""), ""))[2:]
            return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return []


def csv_rows(text):
    return list(csv.DictReader(io.StringIO(text)))


class Page:
    def __init__(self, text):
        self.text = text
        packed = re.search(r'<script type="application/gzip" id="timeline-0">(.*?)</script>', text, re.DOTALL)
        self.payload = None
        if packed:
            data = gzip.decompress(base64.b64decode(packed[1]))
            size = int.from_bytes(data[:4], "little")
            self.payload = json.loads(data[4:4 + size])

    def causes(self):
        """(device's place, kind, row) -> (idle, its share, count, host waited), as shown and as values."""
        result = {}
        for device, kind, row, body in PAGE_CAUSE.findall(self.text):
            idle = re.search(r'class="num idle"><data value="(\d+)">([^<]*)</data><span class="share">([^<]*)</span>', body)
            count = re.search(r'class="num count"><data value="(\d+)">', body)
            waited = re.search(r'class="num waited"><data value="(\d+)">', body)
            result[int(device), kind, int(row)] = (int(idle[1]), idle[2], idle[3], int(count[1]), int(waited[1]) if waited else 0)
        return result

    def sets(self):
        """What changes save together, by a bit for each in the order of the page: (saving, least, most); the last bit may be that of
        the changes that are left out."""
        found = re.search(r' data-sets="([\d: ]+)"', self.text)
        rows = [list(map(int, one.split(":"))) for one in found[1].split()] if found else []
        return {chosen: tuple(saving) for chosen, *saving in rows}

    def changes(self):
        """The titles of changes in their order."""
        return [html.unescape(title) for title in re.findall(r'<li class="remedy" id="p\d+-change-\d+">\n<div class="head"><h4>([^<]*)</h4>', self.text)]

    def rows(self, title):
        table = re.search(rf"<h3>{title}.*?</table>", self.text, re.DOTALL)
        rows = re.findall(r"<tr>(<td.*?)</tr>", table[0], re.DOTALL) if table else []
        return [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in rows]

    def waits(self):
        return [(value(row[3]), value(row[4]), value(row[5]), html.unescape(row[8])) for row in self.rows("Calls that can wait for the GPU")]

    def polls(self):
        return [(value(row[2]), value(row[4]), value(row[5])) for row in self.rows("Polling")]

    def tile(self, name):
        found = re.search(rf"<dt>{name}</dt><dd>([^<]*)</dd>", self.text)
        return found and found[1]
