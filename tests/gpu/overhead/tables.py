# SPDX-License-Identifier: Apache-2.0
"""The results of overhead.py as tables in Markdown: tables.py FILE.jsonl... (the last of equal results counts)."""
import json
import pathlib
import statistics
import sys

import alternation

COLUMNS = ("cupti-only", "syncs", "timeline", "duty", "proton", "nsys", "torch.profiler", "torch.profiler with stacks")
HEADS = ("bare CUPTI, same kinds", "`syncs`", "`timeline`", "duty cycle", "Proton", "nsys", "torch.profiler", "with stacks")
TOOL_NAMES = {"none": "nothing", "syncs": "`syncs`", "timeline": "`timeline`", "proton": "Proton", "nsys": "nsys", "profiler": "torch.profiler",
              "profiler-stacks": "torch.profiler with stacks"}


def rows_of(paths):
    rows = []
    for path in paths:
        if pathlib.Path(path).exists():
            rows += [json.loads(line) for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.startswith("{")]
    return rows


def median_and_interval(name, values):
    low, high = alternation.interval_of_median(values)
    return {name: statistics.median(values), "low": low, "high": high, "rounds": len(values)}


def with_interval(values):
    """A mode of launch_cost or cupti_variants: its ratios become an interval."""
    low, high = alternation.interval_of_median(values["ratios"])
    kept = {key: value for key, value in values.items() if key != "ratios"}
    return {**kept, "low": low, "high": high, "rounds": len(values["ratios"])}


def markdown(head, body):
    rule = ["---"] * len(head)
    return "".join("| " + " | ".join(row) + " |\n" for row in [head, rule, *body])


def shown(number, form="{:.2f}", missing=""):
    return missing if number is None else form.format(number)


def compared_rounds(rows):
    """(tool, workload) -> the ratio of whole runs with a tool to those without, of the same rounds."""
    by_round = {(row["round"], row["tool"]): row["step_ms"] for row in rows if row.get("part") == "rounds" and "step_ms" in row}
    ratios = {}
    for (number, tool), step_ms in by_round.items():
        base = by_round.get((number, "none"))
        if tool == "none" or not base:
            continue
        for workload, value in step_ms.items():
            if workload in base:
                ratios.setdefault((tool, workload), []).append(value / base[workload])
    return {key: median_and_interval("ratio", values) for key, values in ratios.items()}


def compared_modes(rows):
    """((workload, mode) -> its ratio to nothing; workload -> ms of a step with nothing; mode -> its fewest rounds)"""
    cells, base_ms, fewest = {}, {}, {}
    for row in rows:
        if row.get("part") != "windows" or "modes" not in row:
            continue
        for mode, values in row["modes"].items():
            cells[row["workload"], mode] = values
            fewest[mode] = min(values["rounds"], fewest.get(mode, values["rounds"]))
        off = row["modes"]["off"]
        base_ms.setdefault(row["workload"], off["median_ms"] if "median_ms" in off else off["median_ns"] / 1e6)
    for (tool, workload), values in compared_rounds(rows).items():
        cells.setdefault((workload, tool), {**values, "whole_runs": True})
    return cells, base_ms, fewest


def add_rows(results, rows):
    """Rows of docs/measurements/results."""
    cells, base_ms, _ = compared_modes(results)
    names = dict(zip(COLUMNS, ("bare CUPTI", "syncs", "timeline", "duty cycle", "Proton", "Nsight Systems", "torch.profiler", "torch.profiler with stacks")))
    for (workload, mode), values in cells.items():
        if mode in names:
            rows.add("windows", f"{workload}: {names[mode]}", f"{values['ratio']:.3f}", error=f"{values['low']:.3f} to {values['high']:.3f}", n=values["rounds"])
    for workload, step_ms in base_ms.items():
        rows.add("windows", f"{workload}: step", f"{step_ms:.4g}", "ms")


def cost_table(rows):
    cells, base_ms, fewest = compared_modes(rows)
    workloads = list(dict.fromkeys(workload for workload, _ in cells))
    if not workloads:
        return ""

    def cell(workload, mode):
        values = cells.get((workload, mode))
        if not values:
            return ""
        return f"{values['ratio']:.3f} ({values['low']:.3f} to {values['high']:.3f})" + (" *" if values.get("whole_runs") else "")

    body = [[f"{workload}, {shown(base_ms.get(workload), '{:.4g}')} ms", *(cell(workload, mode) for mode in COLUMNS)] for workload in workloads]
    duty = next((f" Duty cycle: timeline for {values['on_ms']:.0f} of every {values['period_ms']:.0f} ms." for values in cells.values() if "on_ms" in values), "")
    rounds = ", ".join(f"{mode} {count}" for mode, count in fewest.items())
    return ("Time of a step, ratio to nothing: median and its interval of 95 %. `*`: of whole runs in turns." + duty + "\n\n"
            + markdown(["step", *HEADS], body) + f"\nFewest rounds: {rounds}.\n")


def runs_table(rows):
    last = {row["tool"]: row for row in rows if row.get("part") == "runs"}
    none = last.get("none")
    if not none or "failed" in none:
        return ""
    kernels = last.get("timeline", {}).get("kernels")
    body = []
    for tool, row in last.items():
        if "failed" in row:
            body.append([TOOL_NAMES[tool], "failed: " + row["failed"], "", "", "", "", ""])
            continue
        count = row.get("kernels") or kernels
        per_kernel = row["bytes"] / count if count and tool not in ("none", "syncs") else None
        in_process = [row.get(key) for key in ("stop_s", "table_s", "export_s")]
        answer = sum(value or 0 for value in in_process) if row.get("stop_s") is not None else row.get("answer_s")
        parts = ", ".join(f"{key[:-2]} {row[key]:.2f}" for key in ("start_s", "stop_s", "table_s", "export_s", "answer_s") if row.get(key) is not None)
        body.append([TOOL_NAMES[tool], shown(per_kernel, "{:.1f}"), shown((row["resident_kib"] - none["resident_kib"]) / 1024, "{:+.0f}"),
                     shown((row["peak_kib"] - none["peak_kib"]) / 1024, "{:+.0f}"), shown(answer), shown(row["end_to_exit_s"]),
                     parts + (row.get("answer_failed") or "")])
    head = ["tool", "B a kernel", "peak memory at the last step, MiB more", "of any process until the end, MiB more", "stop, table and export, s",
            "end of the program's last line to exit, s", "parts, s"]
    return f"One run of the eager step each, {shown(kernels, '{}', 'an unknown number of')} kernels.\n\n" + markdown(head, body)


def variants_table(rows):
    body = [[mode, f"{values['median_ns']:.0f}", f"{values['ratio']:.3f} ({values['low']:.3f} to {values['high']:.3f})",
             shown(values.get("kernel_records"), "{:.2f}"), shown(values.get("call_records"), "{:.2f}")]
            for row in rows if row.get("part") == "variants" and "modes" in row for mode, values in row["modes"].items()]
    return "CUPTI alone, a launch and its share of the drain.\n\n" + markdown(["asked for", "ns", "ratio to off", "records of kernels a launch", "of calls"], body) if body else ""


def million_table(rows):
    own = [row for row in rows if row.get("part") == "million" and "failed" not in row]
    none = next((row for row in own if row["tool"] == "none"), None)
    body = [[TOOL_NAMES[row["tool"]], shown(row["ns_per_launch"], "{:.0f}"), shown(row["bytes"] / row["launches"], "{:.1f}"),
             shown((row["peak_resident_kib"] - none["peak_resident_kib"]) / 1024 if none else None, "{:+.1f}"), shown(row["end_to_answer_s"]),
             shown(row["end_to_exit_s"]), shown(row.get("report_s")), shown(row["report_peak_kib"] / 1024 if "report_peak_kib" in row else None, "{:.0f}")]
            for row in own]
    head = ["tool", "ns a launch", "B a launch", "peak memory, MiB more", "end of main to the first line of the answer, s", "to exit, s", "`report` later, s",
            "its memory, MiB"]
    return "A million launches of C++.\n\n" + markdown(head, body) if body else ""


def startup_table(rows):
    body = [[TOOL_NAMES[row["tool"]], f"{1000 * row['added_s']:.1f} ({1000 * row['low']:.1f} to {1000 * row['high']:.1f})", f"{1000 * row['none_s']:.0f}"]
            for row in rows if row.get("part") == "startup" and "added_s" in row]
    return "A program of one launch, start to end.\n\n" + markdown(["tool", "ms more", "ms without"], body) if body else ""


def remarks(rows):
    words = {}
    for row in rows:
        for key in ("failed", "not_run"):
            if key in row:
                words[f"* {row['part']} {row.get('tool', '')}: {key.replace('_', ' ')}: {row[key]}"] = True
        if row.get("part") == "windows" and "stop_ms" in row:
            words[f"* {row['tool']}, {row['workload']}: first start {row['first_start_ms']:.0f} ms, stop {row['stop_ms']:.0f} ms a window"] = True
    return "\n".join(words) + "\n" if words else ""


def text(rows):
    return "\n".join(part for part in (cost_table(rows), variants_table(rows), runs_table(rows), million_table(rows), startup_table(rows), remarks(rows)) if part)


if __name__ == "__main__":
    print(text(rows_of(sys.argv[1:])))
