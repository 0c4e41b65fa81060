# SPDX-License-Identifier: Apache-2.0
"""What the rows of whole_programs.py say: mean ratios with their standard errors, as tables in Markdown."""
import json
import math
import statistics

STAGES = (("steps 0 to 20", lambda row: row["round"] == 0), ("20 to 100", lambda row: row["round"] == 1), ("later", lambda row: row["round"] > 1))


def said(report):
    """Of a report: ms of a step with and without the recorder, and the share that the fix asked about saves, with its range."""
    savings = report["processes"][0]["savings"]
    if not savings or savings["refused"]:
        return {"refused": savings and savings["refused"]}
    steps, base = max(1, savings["steps"]), savings["base_ns"]
    result = {"steps": savings["steps"], "with_ms": savings["recorded_ns"] / steps / 1e6, "without_ms": base / steps / 1e6}
    asked = savings["asked"]
    return result | {"saves": [asked["saving"][key] / base for key in ("ns", "lo_ns", "hi_ns")]} if asked else result


def ratios_to_bare(rows):
    """(mode, process) -> the logarithms of its ratios, one a round. On one GPU, to the bare ones of the round, a bare one to the others of its
    kind; in pairs, to the other one, both places of a pair together."""
    ratios = {}
    for number in sorted({row["round"] for row in rows}):
        now = [row for row in rows if row["round"] == number]
        if any(len(row["turn"]) > 1 for row in now):
            pairs_to_bare(now, ratios)
            continue
        bare = [row for row in now if row["mode"] == "bare"]
        for row in now:
            others = [other["step_ms"] for other in bare if other is not row]
            if others:
                ratios.setdefault((row["mode"], row["copy"]), []).append(math.log(row["step_ms"] / statistics.fmean(others)))
    return ratios


def pairs_to_bare(rows, ratios):
    places = {}
    for bare, other in zip(rows[::2], rows[1::2]):
        places.setdefault((other["mode"], other["copy"]), []).append(math.log(other["step_ms"] / bare["step_ms"]))
    for key, values in places.items():
        ratios.setdefault(key, []).append(statistics.fmean(values))


def mean_ratio(rows, mode):
    """(ratio, its standard error, processes). In turns each process counts once, as rounds of one are more alike than processes are. Of pairs each
    round does: the host, which differs most from second to second, is the same for both."""
    ratios = ratios_to_bare(rows)
    if len(rows[0]["turn"]) > 1:
        own = [values for key, values in ratios.items() if key[0] == mode]
        values = [value for one in own for value in one]
        error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
        return (math.exp(statistics.fmean(values)), error, 2 * len(own)) if values else None
    means = {key: statistics.fmean(values) for key, values in ratios.items()}
    own = [value for key, value in means.items() if key[0] == mode]
    if not own:
        return None
    bare = [statistics.fmean(math.log(row["step_ms"]) for row in rows if row["mode"] == "bare" and row["copy"] == copy)
            for copy in {row["copy"] for row in rows if row["mode"] == "bare"}] if mode != "bare" else []
    error = sum(statistics.variance(values) / len(values) for values in (own, bare) if len(values) > 1)
    return math.exp(statistics.fmean(own)), math.sqrt(error), len(own)


def bare_ms(rows, mode="bare"):
    return statistics.fmean(row["step_ms"] for row in rows if row["mode"] == mode)


def cost_rows(case, rows):
    modes = list(dict.fromkeys(row["mode"] for row in sorted(rows, key=lambda row: row["mode"])))
    for mode in modes:
        cells = [mean_ratio([row for row in rows if belongs(row)], mode) for _, belongs in STAGES]
        shown = ["" if not cell else f"{cell[0]:.3f}" if math.isnan(cell[1]) else f"{cell[0]:.3f} ({cell[1]:.3f})" for cell in cells]
        later = [row for row in rows if row["round"] > 1]
        yield [case, mode, f"{bare_ms(later, mode):.3f}", *shown, str(cells[-1][2]) if cells[-1] else ""]


def said_rows(case, rows, reports):
    """Each report beside the programs that ran without us."""
    later = [row for row in rows if row["round"] > 1]
    before = bare_ms(later)
    saved = 1 - bare_ms(later, "after") / before if any(row["mode"] == "after" for row in later) else None
    for name, one in reports.items():
        if not one or "without_ms" not in one:
            yield [case, name, "", "", f"{before:.3f}", "refused", "", "", ""]
            continue
        own = [row["step_ms"] for row in later if row["mode"] == name.split(".")[1] and str(row["copy"]) == name.split(".")[2]]
        shares = one.get("saves")
        yield [case, name, f"{statistics.fmean(own):.3f}" if own else "", f"{one['with_ms']:.3f}", f"{before:.3f}", f"{one['without_ms']:.3f}",
               f"{100 * (one['without_ms'] / before - 1):+.1f}", "{:.1f} ({:.1f} to {:.1f})".format(*(100 * share for share in shares)) if shares else "",
               f"{100 * saved:.1f}" if saved is not None else ""]


def table(head, body):
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, ["---"] * len(head), *body])


def markdown(folder):
    costs, words = [], []
    for path in sorted(folder.glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if not any(row["round"] > 1 for row in rows):
            continue
        costs += cost_rows(path.stem, rows)
        reports = path.with_suffix(".said.json")
        if reports.exists():
            words += said_rows(path.stem, rows, json.loads(reports.read_text(encoding="utf-8")))
    text = table(["program", "mode", "ms a step, later", *(name for name, _ in STAGES), "processes"], costs)
    if words:
        text += "\n" + table(["program", "recording", "ms a step: timed", "report: with", "bare, timed", "report: without", "error, %", "fix saves, %: said",
                              "timed"], words)
    return text
