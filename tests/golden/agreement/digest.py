# SPDX-License-Identifier: Apache-2.0
"""What the digest and the JSON of changes must say, made of the full report's JSON."""
import re

import outputs

MOST_TEXT_BYTES, MOST_JSON_BYTES = 6000, 5000


def is_worth_showing(change, savings):
    return 100 * change["marginal_saving_ns"] >= savings["base_ns"] and change["cumulative"]["grade"] != "none"


def shown_changes(report):
    savings = report["savings"]
    return [each for each in savings["remedies"] if is_worth_showing(each, savings)] if savings and report["verdict"] else []


def place(row):
    return row["file"], row["line"], row["function"]


def disagreements(digest, report):
    """Between the JSON of changes and the report: pairs that must be equal."""
    savings = report["savings"] or {}
    yield digest["verdict"], report["verdict"]
    yield digest["simulated"], report["simulated"]
    yield digest["program"], report["process"]["program"] or report["process"]["executable"]
    yield digest["trace"], report["process"]["trace"]
    if savings.get("base_ns"):
        for name in ("base_ns", "recorded_ns", "basis"):
            yield digest[name], savings[name]
        yield digest["steps"], savings["steps"] if savings["basis"] == "steps" else None
    if digest["lacked_work_of_ns"]:
        lacked = outputs.share(digest["lacked_work_ns"], digest["lacked_work_of_ns"])
        yield f"lacked work for {lacked}" in report["verdict_evidence"].replace("only ", ""), True
    expected = shown_changes(report)
    yield len(digest["changes"]) + digest["more_changes"], len(expected)
    for number, (change, full) in enumerate(zip(digest["changes"], expected), 1):
        yield change["number"], number
        for name in ("rule", "title", "to_type", "alone", "marginal_saving_ns", "cumulative"):
            yield change[name], full[name]
        yield change["cumulative_saving_ns"], full["cumulative"]["ns"]
        yield len(change["places"]) + change["more_places"], len(full["fixes"]) + full["more_fixes"]
        fixes = [(*place(fix), fix["alone_ns"]) for fix in full["fixes"]]
        for each in change["places"]:
            yield (*place(each), each["alone_ns"]) in fixes, True
    for left in digest["leave_alone"]:
        yield left["host_blocked_ns"], sum(wait["host_blocked_ns"] for wait in report["waits"] if place(wait) == place(left) and "not_ready_count" not in wait)
        yield [each["title"] for each in expected for fix in each["fixes"] if place(fix) == place(left)], []
    for wait in digest["waits"]:
        yield any(all(full[name] == wait[name] for name in wait) for full in report["waits"]), True


def saving_words(saving, savings):
    parts = savings["steps"] if savings["basis"] == "steps" else 1
    return (f"{outputs.share(saving['ns'], savings['base_ns'])} ({span(saving, savings)}), {outputs.duration(saving['ns'] // parts)}"
            f"{' a step' if savings['basis'] == 'steps' else ''}, confidence {saving['grade']}")


def span(saving, savings):
    low, high = (100.0 * saving[end] / max(1, savings["base_ns"]) for end in ("lo_ns", "hi_ns"))
    return f"{low:.0f} - {high:.0f} %"


def lines_of_changes(report):
    """The lines of the text that have figures of changes, for all changes."""
    savings = report["savings"]
    for number, change in enumerate(shown_changes(report), 1):
        words = saving_words(change["alone"], savings) if change["alone"]["grade"] != "none" else "nothing"
        if number > 1:
            words = (f"{outputs.share(change['marginal_saving_ns'], savings['base_ns'])} after those above; alone {words}; "
                     f"all so far {outputs.share(change['cumulative']['ns'], savings['base_ns'])} ({span(change['cumulative'], savings)})")
        yield f"  saves {words}"


def lines_with_figures(text):
    return [line for line in text.split("\n") if line.startswith("  saves ")]


def ids(text):
    return re.findall(r"^change \d+, id (\S+): ", text, re.MULTILINE)


def outside_of_marks(text):
    """What no program wrote."""
    return "".join(text.split("`")[::2])
