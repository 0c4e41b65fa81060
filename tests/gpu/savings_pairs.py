# SPDX-License-Identifier: Apache-2.0
"""Predicted savings against measured ones, on a real GPU. For every case of savings_programs.py, "before" is recorded and
what each fix would save is written to predictions.json; only then are all variants timed, without the recorder, in turns.

savings_pairs.py --synctrace PATH RESULTS_DIR [--only CASE,CASE] [--steps N] [--repetitions R]
savings_pairs.py --table RESULTS_DIR...
Writes predictions.json, measured.json, and a table in Markdown to stdout and pairs.md. Exit status: 0 when every case ran.
All cases with --steps 30 --repetitions 7 take five to eleven minutes, by the host's speed. measured.json grows case by case.
--table makes the table of what several folders hold, such as those of parts that ran side by side, a GPU each.

Cases marked "held out" are not used to choose any constant of the model.
"""
import argparse
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAMS = pathlib.Path(__file__).resolve().with_name("savings_programs.py")
MARK = re.compile(r"  # (fix|graph): (.+)$")
HELD_OUT = {"absorbing", "allocation", "decode", "polling", "dependency", "harmless", "sampling", "prefetched", "workers"}
OTHER_WORK = {("optimizer", "fused"), ("workers", "eight")}  # the GPU, or the loader, does something else afterwards
ZERO = 0.01  # a gain of less than 1 % is none


def questions_of(case, text):
    """What to ask the report for each fix of a case: name -> (what, lines)."""
    questions = {}
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"(def|class) |@", line):
            inside = inside and line.startswith("@") or line.startswith(f"def {case}(")
        found = MARK.search(line)
        if inside and found:
            for name in found.group(2).split(", "):
                questions.setdefault(name, (found.group(1), []))[1].append(number)
    return questions


def predicted(options, case, text, folder):
    trace = folder / f"{case}.synctrace"
    record = [options.synctrace, "run", "--quiet", "--report=none", "--force-overwrite", "-o", str(trace), "--"]
    done = subprocess.run(record + [sys.executable, str(PROGRAMS), "trace", case, "--steps", str(options.steps)], check=True,
                          stdout=subprocess.PIPE, env=os.environ | {"SYNCTRACE_TEST_CONTROL": "1"}, timeout=300)
    unrecorded_ns = 1e9 * statistics.median(json.loads(done.stdout)["before"])
    result = {}
    for fix, (what, lines) in questions_of(case, text).items():
        wishes = ",".join(f"fix@{PROGRAMS.name}:{line}" for line in lines)
        question = ["--assume", "graph:step"] if what == "graph" else ["--what-if", wishes]
        report = subprocess.run([options.synctrace, "report", "--format", "json", *question, str(trace)], check=True,
                                stdout=subprocess.PIPE, timeout=300)
        savings = json.loads(report.stdout)["processes"][0]["savings"]
        if savings is None or savings["refused"] is not None:
            result[fix] = {"refused": savings and savings["refused"]}
            continue
        asked = savings["asked"]
        base = savings["base_ns"]
        ceilings = [way["gain_ns"] for way in asked["ways"] if way["fixes"] == ["none"]]
        count = max(1, savings["steps"])
        result[fix] = {"lines": lines, "step_ns": base / count, "unrecorded_step_ns": unrecorded_ns, "recorded_step_ns": savings["recorded_ns"] / count,
                       "steps": savings["steps"], "ceiling": max(ceilings, default=0) / base, "saving": asked["saving"]["ns"] / base,
                       "lo": asked["saving"]["lo_ns"] / base, "hi": asked["saving"]["hi_ns"] / base, "grade": asked["saving"]["grade"],
                       "fixes": [f"{one['fix']} at {one['line']}" if one["line"] else one["fix"] for one in asked["fixes"]],
                       "moves_to": [one["moves_to"] for one in asked["fixes"]], "notes": asked["notes"]}
    return result


def measured(options, case):
    run = [sys.executable, str(PROGRAMS), "time", case, "--steps", str(options.steps), "--repetitions", str(options.repetitions)]
    done = subprocess.run(run, check=True, stdout=subprocess.PIPE, timeout=600)
    return json.loads(done.stdout)


def gain(seconds, fix):
    """The share of time saved, by the medians of pairs of neighbouring repetitions, with a 95 % interval."""
    ratios = [1 - after / before for before, after in zip(seconds["before"], seconds[fix])]
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(1000))
    return statistics.median(ratios), medians[25], medians[975]


def row_of(case, fix, prediction, seconds):
    """The case's row, and (error of the step's time, of the saving, of the step's time with the share of the measured step
    before taken as saved, called nil, truly nil, interval held, only times change, held out); None where nothing was predicted."""
    true, low, high = gain(seconds, fix)
    before = statistics.median(seconds["before"])
    if "saving" not in prediction:
        return f"| {case} | {fix} | {1e3 * before:.3f} | refused: {prediction['refused']} | {100 * true:.1f} | | | | |", None
    after = statistics.median(seconds[fix])
    saved = prediction["saving"]
    expected = 1e-9 * prediction["step_ns"] * (1 - saved)
    errors = (abs(expected - after) / after, abs(saved - true), abs(before * (1 - saved) - after) / after)
    zero = prediction["grade"] == "none"
    held = " (held out)" if case in HELD_OUT else ""
    ceiling = f", {100 * prediction['ceiling']:.1f} % if it were" if prediction["ceiling"] > 0 else ""
    steps = (1e-6 * prediction["step_ns"], 1e-6 * prediction["unrecorded_step_ns"], 1e3 * before)
    row = (f"| {case}{held} | {fix}: {'; '.join(prediction['fixes']) or 'nothing legal' + ceiling} | "
           f"{steps[0]:.3f}, {steps[1]:.3f}, {steps[2]:.3f} | "
           f"{100 * saved:.1f} ({100 * prediction['lo']:.1f} to {100 * prediction['hi']:.1f}) | "
           f"{100 * true:.1f} ({100 * low:.1f} to {100 * high:.1f}) | {1e3 * expected:.3f}, {1e3 * after:.3f} | {100 * errors[0]:.1f} | "
           f"{100 * errors[1]:.1f} | {'no gain' if zero else prediction['grade']}{', truly none' if abs(true) < ZERO else ''} |")
    changes_work = (case, fix) in OTHER_WORK or not prediction["fixes"]
    return row, errors + (zero, abs(true) < ZERO, prediction["lo"] <= true <= prediction["hi"], not changes_work, case in HELD_OUT)


def baseline_error(predictions, seconds):
    """How far the predicted time of an unrecorded step is from that of the same process with the recorder off, and from the
    one measured in another; over the cases whose steps it found."""
    own, other = [], []
    for case, times in seconds.items():
        found = next((fix for fix in predictions[case].values() if "step_ns" in fix), None)
        before_ns = 1e9 * statistics.median(times["before"])
        if found is not None and 0.5 < found["step_ns"] / before_ns < 2:
            own.append(abs(found["step_ns"] / found["unrecorded_step_ns"] - 1))
            other.append(abs(found["step_ns"] / before_ns - 1))
    return (f"The step without the recorder, predicted, beside the same process with the recorder off: error median {percent(own, .5)}, "
            f"p90 {percent(own, .9)}; beside another process: {percent(other, .5)}, {percent(other, .9)}.") if own else ""


def at(values, part):
    return 100 * sorted(values)[int(part * (len(values) - 1))]


def percent(values, part):
    return f"{at(values, part):.1f} %"


def error_words(errors):
    times, savings, shares = ([one[i] for one in errors] for i in range(3))
    return (f"step time after the fix: error median {percent(times, .5)}, p90 {percent(times, .9)} (as a share of the measured step "
            f"before: {percent(shares, .5)}, {percent(shares, .9)}); saving: error median {at(savings, .5):.1f} points, "
            f"p90 {at(savings, .9):.1f}")


def summary(errors):
    """Over all, and over those fixes that only change when things happen: not what the GPU does, and no value the host needs."""
    nil = [one for one in errors if one[4]]
    timing = [one for one in errors if one[6]]
    held_out = [one for one in timing if one[7]]
    return (f"All {len(errors)} fixes: {error_words(errors)}.\n\nThe {len(timing)} that change nothing but times: {error_words(timing)}; "
            f"the {len(held_out)} held out among them: {error_words(held_out)}.\n\n"
            f"Of {len(nil)} without a true gain {sum(one[3] for one in nil)} were called so. "
            f"The interval held the measured saving in {sum(one[5] for one in errors)} of {len(errors)}.")


def table_of(predictions, seconds):
    table = ["| case | fix | step before, ms: predicted, same process, measured | saving predicted, % | measured, % | "
             "step after, ms: predicted, measured | error, % | error of the saving, points | verdict |", "|---|---|---|---|---|---|---|---|---|"]
    errors = []
    for case, times in seconds.items():
        for fix, prediction in predictions[case].items():
            row, error = row_of(case, fix, prediction, times)
            table.append(row)
            errors += [error] if error else []
    if any(one[6] and one[7] for one in errors):
        table += ["", summary(errors), "", baseline_error(predictions, seconds)]
    return "\n".join(table)


def add_rows(predictions, seconds, are_all):
    """Rows of docs/measurements/results; a summary only of all cases, as parts say little."""
    rows, timing, nil = measured_rows.Rows("savings"), [], []
    for case, times in seconds.items():
        for fix, prediction in predictions[case].items():
            _, error = row_of(case, fix, prediction, times)
            if error is None:
                continue
            true, low, high = gain(times, fix)
            name = f"{case}{', held out' if case in HELD_OUT else ''}, {fix}"
            rows.add("fixes", f"{name}: saving predicted", f"{100 * prediction['saving']:.1f}", "%", f"{100 * prediction['lo']:.1f} to {100 * prediction['hi']:.1f}")
            rows.add("fixes", f"{name}: saving timed", f"{100 * true:.1f}", "%", f"{100 * low:.1f} to {100 * high:.1f}")
            rows.add("fixes", f"{name}: error of the step", f"{100 * error[0]:.1f}", "%")
            rows.add("fixes", f"{name}: error of the saving", f"{100 * error[1]:.1f}", "points")
            timing += [error] if error[6] else []
            nil += [error] if error[4] else []
    if are_all and timing:
        for part, words in ((.5, "median"), (.9, "p90")):
            rows.add("summary", f"step time after the fix, {words}", f"{at([one[0] for one in timing], part):.1f}", "%", n=len(timing))
            rows.add("summary", f"saving, {words}", f"{at([one[1] for one in timing], part):.1f}", "points", n=len(timing))
        rows.add_of("summary", "fixes without a gain that are called so", sum(one[3] for one in nil), len(nil))


def stored(folders, name):
    return {case: one for folder in folders for case, one in json.loads((folder / name).read_text()).items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("results", type=pathlib.Path, nargs="+")
    parser.add_argument("--only", help="names of cases, with commas between")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=9)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if options.table:
        print(table_of(stored(options.results, "predictions.json"), stored(options.results, "measured.json")))
        return 0
    if not options.synctrace or len(options.results) != 1:
        parser.error("a run needs --synctrace and one folder for its results")
    folder = options.results[0]
    folder.mkdir(parents=True, exist_ok=True)
    text = PROGRAMS.read_text()
    listed = subprocess.run([sys.executable, str(PROGRAMS), "list"], check=True, stdout=subprocess.PIPE, text=True, timeout=120)
    cases = options.only.split(",") if options.only else listed.stdout.split()
    unknown = set(cases) - set(listed.stdout.split())
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")

    predictions = {}
    for case in cases:
        try:
            predictions[case] = predicted(options, case, text, folder)
        except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as problem:
            print(f"{case}: {problem}", file=sys.stderr)
    (folder / "predictions.json").write_text(json.dumps(predictions, indent=2) + "\n")

    seconds = {}
    for case in predictions:
        try:
            seconds[case] = measured(options, case)
            (folder / "measured.json").write_text(json.dumps(seconds, indent=2) + "\n")
        except (subprocess.SubprocessError, ValueError) as problem:
            print(f"{case}: {problem}", file=sys.stderr)

    table = table_of(predictions, seconds)
    add_rows(predictions, seconds, not options.only and len(seconds) == len(cases))
    (folder / "pairs.md").write_text(table + "\n")
    print(table)
    return 0 if len(seconds) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
