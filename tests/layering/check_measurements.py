# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/measurements are what the rows in its folder results/ say, and a page there has at most 60 lines.

  check_measurements.py ROOT [--write]       --write makes the tables anew

A page FILE.md has tables behind `<!-- rows: CLAIM -->`, of the rows of that claim in results/FILE.csv: the last row of each case. A case
"ROW: COLUMN" stands in that row and column. The table behind `<!-- claims -->` has the last row of each case in claims.csv."""

import csv
import dataclasses
import decimal
import pathlib
import re
import sys

import tree

FOLDER = "docs/measurements"
MAX_LINES = 60
COLUMNS = ["claim", "case", "value", "unit", "error", "n", "gpu", "driver", "versions", "commit", "utc"]
CLAIM_COLUMNS = ["page", "claim", "case", "says", "target"]

MARK = re.compile(r"<!-- (?:rows: ([\w-]+)|(claims)) -->\n(.*?)<!-- end -->\n", re.DOTALL)
UTC = re.compile(r"\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}Z)?")
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
TARGET = re.compile(r"(<=|>=) (-?\d+(?:\.\d+)?)")


@dataclasses.dataclass(frozen=True)
class Row:
    claim: str
    case: str
    value: str
    unit: str
    error: str
    n: str
    gpu: str
    driver: str
    versions: str
    commit: str
    utc: str

    def figure(self):
        if self.unit == "of":
            return f"{grouped(self.value)} of {grouped(self.n)}"
        return grouped(self.value)

    def with_unit(self):
        return f"{self.figure()} {self.unit}" if self.unit not in ("", "of") else self.figure()

    def brackets(self):
        return f" ({'; '.join(filter(None, (self.error, '' if self.unit == 'of' else grouped(self.n))))})" if self.error else ""

    def source(self):
        return ", ".join(filter(None, (self.gpu, self.commit, self.utc[:10])))


def grouped(number):
    """1234567.8 -> 1,234,567.8"""
    return re.sub(r"(?<![\d.])\d{4,}(?![\d,])", lambda digits: f"{int(digits[0]):,}", number) if NUMBER.fullmatch(number) else number


def read(file, columns):
    with open(file, encoding="utf-8", newline="") as lines:
        first, *rows = csv.reader(lines)
    if first != columns:
        raise ValueError(f"the columns are not {','.join(columns)}")
    for number, row in enumerate(rows, 2):
        if len(row) != len(columns):
            raise ValueError(f"row {number} has {len(row)} columns")
    return rows


def read_rows(file):
    rows = [Row(*cells) for cells in read(file, COLUMNS)]
    for row in rows:
        if not (row.claim and row.case and row.value and row.gpu and UTC.fullmatch(row.utc)):
            raise ValueError(f"{row.claim}, {row.case}: a row needs a claim, a case, a value, a gpu and a time")
        if row.unit == "of" and not (NUMBER.fullmatch(row.value) and row.n.isdigit()):
            raise ValueError(f"{row.claim}, {row.case}: so many of so many need two numbers")
    return rows


def last_rows(rows):
    """(claim, case) -> its last row, in the order of first mention."""
    found = {}
    for row in rows:
        key = row.claim, row.case
        if key not in found or row.utc >= found[key].utc:
            found[key] = row
    return found


def table(head, body):
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, ["---"] * len(head), *body])


def rows_table(page, link, claim, last):
    rows = {case: row for (name, case), row in last.items() if name == claim}
    if not rows:
        raise ValueError(f"there are no rows of {claim}")
    places = {case: tuple(case.split(": ", 1)) if ": " in case else (case, "figure") for case in rows}
    lines = list(dict.fromkeys(line for line, _ in places.values()))
    columns = list(dict.fromkeys(column for _, column in places.values()))
    units = {column: {row.unit for case, row in rows.items() if places[case][1] == column} for column in columns}
    cells = {places[case]: (row.figure() if len(units[places[case][1]]) == 1 else row.with_unit()) + row.brackets() for case, row in rows.items()}
    head = [column + "".join(f", {unit}" for unit in units[column] if len(units[column]) == 1 and unit not in ("", "of")) for column in columns]
    sources = sorted({row.source() for row in rows.values()})
    shown = "; ".join(sources[:4]) + (f"; {len(sources) - 4} more" if len(sources) > 4 else "")
    return table(["", *head], [[line, *(cells.get((line, column), "") for column in columns)] for line in lines]) + \
        f"\n[Rows]({link}results/{page}.csv) of `{claim}`: {shown}.\n"


def verdict(row, target):
    """What is said of a figure: reached, or missed by how much; nothing without a target."""
    if not target:
        return ""
    value = decimal.Decimal(row.value)
    if target == "all":
        return "reached" if value == int(row.n) else f"**missed by {int(row.n) - value}**"
    found = TARGET.fullmatch(target)
    if not found:
        raise ValueError(f"{target} is no target")
    over = value - decimal.Decimal(found[2])
    over = over if found[1] == "<=" else -over
    return "reached" if over <= 0 else f"**missed by {over}**"


def claims_table(claims, last_of):
    body, before = [], None
    for page, claim, case, says, target in claims:
        row = last_of.get(page, {}).get((claim, case))
        if not row:
            raise ValueError(f"claims.csv: {page} has no row of {claim}, {case}")
        body.append([says + (f" ([page]({page}.md))" if page != before else ""), target.replace("<=", "at most").replace(">=", "at least"),
                     row.with_unit(), row.error, "" if row.unit == "of" else grouped(row.n), row.gpu, row.commit, row.utc[:10], verdict(row, target)])
        before = page
    return table(["claim", "target", "figure", "error", "n", "machine", "commit", "date", ""], body)


class Tables:
    def __init__(self, root):
        self.folder = pathlib.Path(root, FOLDER)
        self.violations = []
        self.last_of = {}
        for file in sorted(self.folder.glob("results/*.csv")):
            self.last_of[file.stem] = self.checked(file, lambda file=file: last_rows(read_rows(file)), {})
        self.claims = self.checked(self.folder / "claims.csv", lambda: read(self.folder / "claims.csv", CLAIM_COLUMNS), [])

    def checked(self, file, function, otherwise):
        try:
            return function()
        except (ValueError, OSError, decimal.InvalidOperation) as error:
            self.violations.append(f"{file.relative_to(self.folder.parents[1])}: {error}")
            return otherwise

    def made(self, file):
        """The page with its tables as the rows have them."""
        link = "" if file.parent == self.folder else f"{self.folder.name}/"

        def one(mark):
            make = (lambda: claims_table(self.claims, self.last_of)) if mark[2] else \
                (lambda: rows_table(file.stem, link, mark[1], self.last_of.get(file.stem, {})))
            text = self.checked(file, make, None)
            return mark[0] if text is None else mark[0][:mark.start(3) - mark.start()] + text + "<!-- end -->\n"
        return MARK.sub(one, file.read_text(encoding="utf-8"))

    def pages(self):
        """The pages of the folder, and the ones beside it that have tables of rows."""
        others = [file for file in self.folder.parent.glob("*.md") if "<!-- rows: " in file.read_text(encoding="utf-8")]
        return sorted([*self.folder.glob("*.md"), *others])


def find_violations(root):
    if not pathlib.Path(root, FOLDER).exists():
        return []
    tables = Tables(root)
    for file in tables.pages():
        name, text = file.relative_to(root), file.read_text(encoding="utf-8")
        if tables.made(file) != text:
            tables.violations.append(f"{name}: a table is not what the rows say; python3 tests/layering/check_measurements.py . --write makes it")
        lines = text.count("\n")
        if lines > MAX_LINES and file.parent == tables.folder and file.name != "README.md":
            tables.violations.append(f"{name}: {lines} lines; a page has at most {MAX_LINES}")
    return tables.violations


def write(root):
    tables = Tables(root)
    for file in tables.pages():
        file.write_text(tables.made(file), encoding="utf-8")
    return tables.violations


if __name__ == "__main__":
    sys.exit(tree.report(write(sys.argv[1]) if "--write" in sys.argv else find_violations(sys.argv[1])))
