# SPDX-License-Identifier: Apache-2.0
"""What the rows of whole_programs.py say: mean ratios with their standard errors, as tables in Markdown."""
import json
import math
import statistics

STAGES = (("steps 0 to 20", lambda row: row["round"] == 0), ("20 to 100", lambda row: row["round"] == 1), ("later", lambda row: row["round"] > 1))


def said(report):
    """What a report says: ms of a step with and without the recorder, and the share that the fix asked about saves, both with their ranges."""
    savings = report["processes"][0]["savings"]
    if not savings or savings["refused"]:
        return {"refused": savings and savings["refused"]}
    steps, base = max(1, savings["steps"]), savings["base_ns"]
    without = {f"without{end}_ms": savings[f"base{end}_ns"] / steps / 1e6 for end in ("", "_lo", "_hi")}
    result = {"steps": savings["steps"], "with_ms": savings["recorded_ns"] / steps / 1e6, **without}
    asked = savings["asked"]
    return result | {"saves": [asked["saving"][key] / base for key in ("ns", "lo_ns", "hi_ns")]} if asked else result


def ratios_to_bare(rows):
    """(mode, process) -> the logarithms of its ratios, one a round. On one GPU, to the bare ones of the round, a bare one to the others of its
    kind; in pairs, to the other one, both places of a pair together, under the name of the pair."""
    ratios = {}
    for number in sorted({row["round"] for row in rows}):
        now = [row for row in rows if row["round"] == number]
        if any(len(row["turn"]) > 1 for row in now):
            pairs_to_other(now, ratios)
            continue
        bare = [row for row in now if row["mode"] == "bare"]
        for row in now:
            others = [other["step_ms"] for other in bare if other is not row]
            if others:
                ratios.setdefault((row["mode"], row["copy"]), []).append(math.log(row["step_ms"] / statistics.fmean(others)))
    return ratios


def pair_of(turn):
    """What whole_programs.py was asked for, of the modes of a turn: the second one beside the first."""
    return turn[-1] if turn[0] == "bare" or len(turn) == 1 else f"{turn[1]}/{turn[0]}"


def pairs_to_other(rows, ratios):
    places = {}
    for first, second in zip(rows[::2], rows[1::2]):
        places.setdefault((pair_of(second["turn"]), second["copy"]), []).append(math.log(second["step_ms"] / first["step_ms"]))
    for key, values in places.items():
        ratios.setdefault(key, []).append(statistics.fmean(values))


def mean_ratio(rows, mode):
    """(ratio, its standard error, processes). Each process, or each pair of places, counts once, as rounds of one are more alike than processes
    are. Where there is only one pair each of its rounds does: the host, which differs most from second to second, is the same for both."""
    ratios = ratios_to_bare(rows)
    own = [values for key, values in ratios.items() if key[0] == mode]
    if not own:
        return None
    means = [statistics.fmean(values) for values in own]
    if len(rows[0]["turn"]) > 1:
        units = means if len(means) > 1 else own[0]
        error = statistics.stdev(units) / math.sqrt(len(units)) if len(units) > 1 else math.nan
        return math.exp(statistics.fmean(means)), error, 2 * len(means)
    bare = [statistics.fmean(math.log(row["step_ms"]) for row in rows if row["mode"] == "bare" and row["copy"] == copy)
            for copy in {row["copy"] for row in rows if row["mode"] == "bare"}] if mode != "bare" else []
    error = sum(statistics.variance(values) / len(values) for values in (means, bare) if len(values) > 1)
    return math.exp(statistics.fmean(means)), math.sqrt(error), len(means)


def bare_ms(rows, mode="bare"):
    return statistics.fmean(row["step_ms"] for row in rows if row["mode"] == mode)


def cost_rows(case, rows):
    for mode in sorted({pair_of(row["turn"]) for row in rows}):
        cells = [mean_ratio([row for row in rows if belongs(row)], mode) for _, belongs in STAGES]
        shown = ["" if not cell else f"{cell[0]:.3f}" if math.isnan(cell[1]) else f"{cell[0]:.3f} ({cell[1]:.3f})" for cell in cells]
        later = [row for row in rows if row["round"] > 1]
        yield [case, mode, f"{bare_ms(later, mode.partition('/')[0]):.3f}", *shown, str(cells[-1][2]) if cells[-1] else ""]


def said_rows(case, rows, reports):
    """Each report beside the programs that ran without us. In pairs these say how much slower the recorded ones are; a report says so of itself."""
    later = [row for row in rows if row["round"] > 1]
    before, after = bare_ms(later), mean_ratio(later, "after")
    slower = mean_ratio(later, "timeline") if len(later[0]["turn"]) > 1 else None
    for name, one in reports.items():
        if not one or "without_ms" not in one:
            yield [case, name, "", "", f"{before:.3f}", "refused", "", "", ""]
            continue
        own = [row["step_ms"] for row in later if row["mode"] == name.split(".")[1] and str(row["copy"]) == name.split(".")[2]]
        error = slower[0] * one["without_ms"] / one["with_ms"] if slower else one["without_ms"] / before
        shares = one.get("saves")
        yield [case, name, f"{statistics.fmean(own):.3f}" if own else "", f"{one['with_ms']:.3f}", f"{before:.3f}", f"{one['without_ms']:.3f}",
               f"{100 * (error - 1):+.1f}", "{:.1f} ({:.1f} to {:.1f})".format(*(100 * share for share in shares)) if shares else "",
               f"{100 * (1 - after[0]):.1f} ({100 * after[1]:.1f})" if after else ""]


WORDS = {"off": "loaded and off", "timeline/cupti-only": "timeline beside CUPTI's records alone", "cupti-only": "CUPTI's records alone beside bare",
         "dormant": "dormant", "closed": "dormant, a window has closed"}
CLAIMED = ("syncs", "off", "dormant", "closed", "timeline/cupti-only", "timeline")


def add_rows(folder, rows):
    """Rows of docs/measurements/results: what later steps of each program take, and what reports say of it."""
    errors, held = [], []
    for path in sorted(folder.glob("*.jsonl")):
        later = [row for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()) if row["round"] > 1]
        for mode in sorted({pair_of(row["turn"]) for row in later} - {"bare", "after"}):
            ratio = mean_ratio(later, mode)
            if ratio:
                rows.add("whole-programs" if mode in CLAIMED and path.stem in ("eager", "resnet", "reads") else "pairs",
                         f"{WORDS.get(mode, f'{mode} beside bare')}: {path.stem}", f"{ratio[0]:.3f}",
                         error="" if math.isnan(ratio[1]) else f"{ratio[1]:.3f}", n=ratio[2])
        reports = path.with_suffix(".said.json")
        if later and len(later[0]["turn"]) > 1 and reports.exists():
            one = json.loads(reports.read_text(encoding="utf-8"))
            errors += add_said(path.stem, mean_ratio(later, "timeline"), [each for each in one.values() if each and "without_ms" in each], held, rows)
    if len(errors) == 8:
        rows.add("without-us", "eight programs, median: error", f"{statistics.median(errors):.2f}", "%", n=len(errors))
        rows.add("without-us", "eight programs, worst: error", f"{max(errors):.1f}", "%", n=len(errors))
        rows.add("without-us", "eight programs: recordings whose range holds it", sum(held), "of", n=len(held))


def add_said(case, timed, reports, held, rows):
    """What the reports of a program say it takes without the recorder, beside `timed`; the error of their mean in %."""
    if not timed or not reports:
        return []
    ratios = [one["with_ms"] / one["without_ms"] for one in reports]
    inside = [one["with_ms"] / one["without_hi_ms"] <= timed[0] <= one["with_ms"] / one["without_lo_ms"] for one in reports]
    held += inside
    error = 100 * (timed[0] / statistics.fmean(ratios) - 1)
    rows.add("without-us-programs", f"{case}: timed", f"{timed[0]:.3f}", error=f"{timed[1]:.3f}")
    rows.add("without-us-programs", f"{case}: said, mean (least to most)", f"{statistics.fmean(ratios):.3f}", error=f"{min(ratios):.3f} to {max(ratios):.3f}")
    rows.add("without-us-programs", f"{case}: error", f"{error:+.1f}", "%")
    rows.add_of("without-us-programs", f"{case}: recordings whose range holds it", sum(inside), len(inside))
    return [abs(error)]


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
        if reports.exists() and any(row["mode"] == "bare" for row in rows):
            words += said_rows(path.stem, rows, json.loads(reports.read_text(encoding="utf-8")))
    text = table(["program", "mode", "ms a step, later", *(name for name, _ in STAGES), "processes"], costs)
    if words:
        text += "\n" + table(["program", "recording", "ms a step: timed", "report: with", "bare, timed", "report: without", "error, %", "fix saves, %: said",
                              "timed"], words)
    return text
