# SPDX-License-Identifier: Apache-2.0
"""Holds what a report says of a program's steps against what the program itself counted
(tests/programs/step_shapes)."""
import os
from dataclasses import dataclass, field

MOST_OFF = 2           # steps
FEWEST_STEPS = 3       # a phase of fewer need not be found
SMALLEST_SHARE = 0.05  # share of the time in all phases; below, it need not be found either


@dataclass
class Found:
    name: str
    file: str
    line: int
    steps: int
    time_ns: int
    micro_steps: int

    told: str = ""  # the phase of the program that it is

    def where(self):
        return f"{os.path.basename(self.file)}:{self.line}" if self.line else "?"

    def words(self):
        """Which line of the loop is named is no other answer, as long as it is one of its own."""
        micro = f" x {self.micro_steps}" if self.micro_steps > 1 else ""
        return f"{self.steps}{micro}" + (f" {self.told}" if self.told else f" at {self.where()}")


@dataclass
class Row:
    """One shape in all its repetitions."""
    shape: str
    truth: list = field(default_factory=list)     # words, of the first repetition
    answers: list = field(default_factory=list)   # what was found, in words, one a repetition
    lines: list = field(default_factory=list)     # where it was found
    problems: list = field(default_factory=list)  # all repetitions' together

    def add(self, told, entry, lines_known):
        """One more repetition."""
        truth, found, problems = compare(told, entry, lines_known)
        self.truth = self.truth or truth
        self.answers.append("; ".join(phase.words() for phase in found) or "none")
        self.lines.append(" ".join(phase.where() for phase in found))
        self.problems += problems

    def is_right(self):
        return not self.problems and len(set(self.answers)) == 1


def found_phases(entry):
    """The phases of an entry of `processes`, the reported one first; it counts its steps with those of the warm-up."""
    steps = entry["steps"]
    reported = steps["count"] + steps["warm_up_count"]
    if "phases" not in entry:  # a command line from before phases
        name = steps.get("name", "")
        return [Found(name, "", 0, reported, 1, 1)] if reported else []
    phases = [Found(phase["name"] or "", phase["file"] or "", phase["line"] or 0, phase["steps"], phase["time_ns"],
                    phase.get("micro_steps", 1))
              for phase in sorted(entry["phases"], key=lambda phase: not phase["reported"])]
    if phases:
        phases[0].steps = reported
        phases[0].micro_steps = steps["micro_steps"]
    return phases


def _is_at(found, truth):
    same_file = [place for place in truth["places"] if os.path.basename(place["file"]) == os.path.basename(found.file)]
    return any(place["first"] <= found.line <= place["last"] for place in same_file)


def _pairs(truths, found):
    """(truth, found or None) for each phase of the program; those whose place is not known go by their steps."""
    pairs, left = [], list(found)
    for truth in truths:
        here = [each for each in left if each.line and _is_at(each, truth)]
        # Several at one place are a mistake, of those that are left over.
        best = min(here, key=lambda each: abs(each.steps - truth["steps"]), default=None)
        pairs.append([truth, best])
        if best:
            left.remove(best)
    for pair in sorted(pairs, key=lambda pair: -pair[0]["time_ns"]):
        nowhere = [each for each in left if not each.line]
        if pair[1] is None and nowhere:
            pair[1] = min(nowhere, key=lambda each: abs(each.steps - pair[0]["steps"]))
            left.remove(pair[1])
    return pairs, left


def compare(told, entry, lines_known=True):
    """-> (truth in words, what was found, what is wrong). `told`: the program's last line. `lines_known`: a phase
    without a line is wrong."""
    truths = told["phases"]
    found = found_phases(entry)
    pairs, left = _pairs(truths, found)
    total_ns = max(1, sum(truth["time_ns"] for truth in truths))
    problems = []
    for truth, phase in pairs:
        counts = truth["steps"] >= FEWEST_STEPS and truth["time_ns"] >= SMALLEST_SHARE * total_ns
        needed = counts and not truth["optional"]
        if phase is None:
            if needed:
                problems.append(f"{truth['name']} is missing")
            continue
        phase.told = truth["name"]
        if truth["optional"]:
            continue
        if abs(phase.steps - truth["steps"]) > MOST_OFF:
            problems.append(f"{truth['name']} has {truth['steps']} steps, not {phase.steps}")
        if phase.micro_steps != truth["micro_steps"]:
            problems.append(f"{truth['name']} has {truth['micro_steps']} micro-steps, not {phase.micro_steps}")
        if lines_known and not phase.line and "phases" in entry:
            problems.append(f"no line of {truth['name']}")
    longest = max(truths, key=lambda truth: truth["time_ns"])
    if found and [truth["name"] for truth, phase in pairs if phase is found[0]] != [longest["name"]]:
        problems.append(f"the report is not about {longest['name']}")
    found_ns = max(1, sum(phase.time_ns for phase in found))
    for phase in left:
        if phase.steps >= FEWEST_STEPS and phase.time_ns >= SMALLEST_SHARE * found_ns:
            problems.append(f"{phase.words()} is no phase")
    truth_words = [_truth_words(truth, total_ns) for truth in truths]
    return truth_words, found, problems


def _truth_words(truth, total_ns):
    micro = f" x {truth['micro_steps']}" if truth["micro_steps"] > 1 else ""
    lines = ", ".join(f"{place['first']}-{place['last']}" for place in truth["places"])
    return f"{truth['name']} {truth['steps']}{micro} at {lines}, {100 * truth['time_ns'] / total_ns:.0f} %"


def table(rows):
    """A table in Markdown; its last line says how many shapes are right."""
    lines = ["| shape | truth | found | |", "|---|---|---|---|"]
    for row in rows:
        answers = sorted(set(row.answers), key=row.answers.count, reverse=True)
        shown = " / ".join(f"{row.answers.count(each)} of {len(row.answers)}: {each}" for each in answers)
        if len(answers) == 1:
            shown = answers[0]
        wrong = sorted(set(row.problems), key=row.problems.index)
        if len(answers) > 1:
            wrong.append(f"{len(answers)} different answers")
        lines_seen = sorted(set(row.lines))
        shown += f" ({' or '.join(lines_seen)})" if any(lines_seen) else ""
        verdict = "right" if row.is_right() else "WRONG: " + ", ".join(wrong)
        lines.append(f"| {row.shape} | {'; '.join(row.truth)} | {shown} | {verdict} |")
    lines.append(f"{sum(row.is_right() for row in rows)} of {len(rows)} shapes are right")
    return "\n".join(lines)
