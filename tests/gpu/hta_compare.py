# SPDX-License-Identifier: Apache-2.0
"""A real trace through HTA's rule for idle time, and through ours. Shown: the export is valid for viewers; the idle time read
off it is the report's, to the nanosecond; a device is never idle for longer than the least of its streams; and, where Meta's
package is installed (`pip install HolisticTraceAnalysis`), its own sums per stream are those of our copy of its rule.

hta_compare.py --synctrace PATH TRACE...
Prints a table in Markdown. Exit status: 0 all agrees, 1 not so.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "support"))
import chrome_json  # noqa: E402
import hta_rule  # noqa: E402

# For one gap, in microseconds: the package adds up doubles of some 1e12 us.
TOLERANCE_US = 0.002


def run(*command):
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode != 0:
        sys.exit(f"{command[1]} failed with status {done.returncode}")
    return done.stdout


def work_of(document):
    """GPU work as hta_rule.Work, on the trace's own clock."""
    base = document["baseTimeMonotonicNanoseconds"]
    issued = {one.args["correlation"]: one.begin + base
              for one in chrome_json.slices(document, chrome_json.CALL_CATEGORIES) if "correlation" in one.args}
    return [hta_rule.Work(one.args["device"], one.args["stream"], one.begin + base, one.end + base,
                          issued.get(one.args.get("correlation")))
            for one in chrome_json.slices(document, chrome_json.GPU_CATEGORIES)]


def check_devices(work, report):
    """Problems, and of each device its idle time beside that of its least idle stream over the same time."""
    problems, rows = [], []
    windows = [(window["begin_ns"], window["end_ns"]) for window in report["windows"]]
    for device in report["devices"]:
        own = [one for one in work if one.device == device["id"]]
        idle = hta_rule.idle_ns(own, windows)
        if idle != device["idle_ns"]:
            problems.append(f"GPU {device['id']}: idle for {idle} ns by the export, {device['idle_ns']} ns by the report")
        for name, stream in hta_rule.by_stream(own).items():
            gaps, life = hta_rule.stream_gaps_ns(stream)
            inside = hta_rule.idle_ns(own, [span for window in windows for span in hta_rule.clipped([life], window)])
            rows.append((device["id"], name, inside, gaps))
            if inside > gaps:
                problems.append(f"GPU {device['id']}: idle for {inside} ns in the life of stream {name}, whose gaps sum to {gaps} ns")
    return problems, rows


def split_by_package(export):
    """Stream -> category -> us, by Meta's package; None where it is not installed."""
    os.environ["HTA_DISABLE_NS_ROUNDING"] = "1"
    try:
        from hta.trace_analysis import TraceAnalysis
    except ImportError:
        return None
    table, _ = TraceAnalysis(trace_files={0: str(export)}).get_idle_time_breakdown(ranks=[0], visualize=False)
    result = collections.defaultdict(lambda: dict.fromkeys(hta_rule.CATEGORIES, 0.0))
    for row in table.itertuples():
        result[row.stream][row.idle_category] += row.idle_time
    return result


def compare_split(own, package, work):
    problems = []
    for stream, categories in own.items():
        gaps = len(hta_rule.by_stream(work)[stream])
        for category, ns in categories.items():
            theirs = package[stream][category]
            # The package rounds its sums to two decimals.
            if abs(ns / 1000 - theirs) > 0.01 + TOLERANCE_US * gaps:
                problems.append(f"stream {stream}, {category}: {ns / 1000:.3f} us by the rule, {theirs:.3f} us by the package")
    return problems


def compare(synctrace, trace, folder):
    export = pathlib.Path(folder, pathlib.Path(trace).name + ".json")
    run(synctrace, "export", trace, "-o", export, "--force-overwrite")
    document = chrome_json.load(export)
    report = json.loads(run(synctrace, "report", "--no-symbols", "--format", "json", trace))["processes"][0]
    work = work_of(document)
    problems, rows = check_devices(work, report)
    problems += chrome_json.violations(document)
    split = hta_rule.idle_split(work)
    steps = {one.name for one in chrome_json.slices(document, {"user_annotation"}) if one.name.startswith("ProfilerStep")}
    # With two steps or more the package leaves out work, and looks at other calls than those that issued the rest.
    package = split_by_package(export) if work and len(steps) < 2 else None
    if package is not None:
        problems += compare_split(split, package, work)
    print(f"\n{trace}: {len(work)} pieces of GPU work; the package was {'not ' if package is None else ''}compared\n")
    print("| GPU | stream | host wait | kernel wait | other | gaps | device idle meanwhile |\n|---|---|---|---|---|---|---|")
    for device, stream, inside, gaps in rows:
        words = " | ".join(f"{split[stream][category] / 1e6:.3f} ms" for category in hta_rule.CATEGORIES)
        print(f"| {device} | {stream} | {words} | {gaps / 1e6:.3f} ms | {inside / 1e6:.3f} ms |")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("traces", nargs="+")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        for trace in options.traces:
            problems += [f"{trace}: {problem}" for problem in compare(options.synctrace, trace, folder)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
