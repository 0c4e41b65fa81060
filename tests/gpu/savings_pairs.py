# SPDX-License-Identifier: Apache-2.0
"""Predicted savings against measured ones, on a real GPU. For every case of savings_programs.py, "before" is recorded and
what each fix would save is written to predictions.json; only then are all variants timed, without the recorder, in turns.

savings_pairs.py --synctrace PATH RESULTS_DIR [--only CASE,CASE] [--steps N] [--repetitions R]
Writes predictions.json, measured.json, and a table in Markdown to stdout and pairs.md. Exit status: 0 when every case ran.
All cases with --steps 30 --repetitions 7 take some five minutes. measured.json grows case by case.

Cases marked "held out" are not used to choose any constant of the model.
"""
import argparse
import json
import pathlib
import random
import re
import statistics
import subprocess
import sys

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
    subprocess.run(record + [sys.executable, str(PROGRAMS), "trace", case, "--steps", str(options.steps)], check=True, timeout=300)
    result = {}
    for fix, (what, lines) in questions_of(case, text).items():
        wishes = ",".join(f"fix@{PROGRAMS.name}:{line}" for line in lines)
        question = ["--assume", "graph:step"] if what == "graph" else ["--what-if", wishes]
        report = subprocess.run([options.synctrace, "report", "--format", "json", *question, str(trace)], check=True,
                                stdout=subprocess.PIPE, timeout=300)
        savings = json.loads(report.stdout)["savings"]
        if savings is None or savings["refused"] is not None:
            result[fix] = {"refused": savings and savings["refused"]}
            continue
        asked = savings["asked"]
        base = savings["base_ns"]
        ceilings = [way["gain_ns"] for way in asked["ways"] if way["fixes"] == ["none"]]
        count = max(1, savings["steps"])
        result[fix] = {"lines": lines, "step_ns": base / count, "recorded_step_ns": savings["recorded_ns"] / count,
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
    true, low, high = gain(seconds, fix)
    before = statistics.median(seconds["before"])
    if "saving" not in prediction:
        return f"| {case} | {fix} | {1e3 * before:.3f} | refused: {prediction['refused']} | {100 * true:.1f} | | | |", None
    after = statistics.median(seconds[fix])
    expected = before * (1 - prediction["saving"])
    errors = (abs(expected - after) / after, abs(prediction["saving"] - true))
    zero = prediction["grade"] == "none"
    held = " (held out)" if case in HELD_OUT else ""
    ceiling = f", {100 * prediction['ceiling']:.1f} % if it were" if prediction["ceiling"] > 0 else ""
    row = (f"| {case}{held} | {fix}: {'; '.join(prediction['fixes']) or 'nothing legal' + ceiling} | {1e3 * before:.3f} | "
           f"{100 * prediction['saving']:.1f} ({100 * prediction['lo']:.1f} to {100 * prediction['hi']:.1f}) | "
           f"{100 * true:.1f} ({100 * low:.1f} to {100 * high:.1f}) | {100 * errors[0]:.1f} | {100 * errors[1]:.1f} | "
           f"{'no gain' if zero else prediction['grade']}{', truly none' if abs(true) < ZERO else ''} |")
    changes_work = (case, fix) in OTHER_WORK or not prediction["fixes"]
    return row, errors + (zero, abs(true) < ZERO, prediction["lo"] <= true <= prediction["hi"], not changes_work, case in HELD_OUT)


def baseline_error(predictions, seconds):
    """How far the predicted time of an unrecorded step is from the measured one; median over the cases whose steps it found."""
    errors = []
    for case, times in seconds.items():
        step = next((fix["step_ns"] for fix in predictions[case].values() if "step_ns" in fix), None)
        before = statistics.median(times["before"])
        if step is not None and 0.5 < step * 1e-9 / before < 2:
            errors.append(abs(step * 1e-9 - before) / before)
    return f"The unrecorded step: error median {100 * statistics.median(errors):.1f} %, worst {100 * max(errors):.1f} %." if errors else ""


def error_words(errors):
    def at(values, part):
        return 100 * sorted(values)[int(part * (len(values) - 1))]

    times = [one[0] for one in errors]
    savings = [one[1] for one in errors]
    return (f"step time after the fix: error median {at(times, .5):.1f} %, p90 {at(times, .9):.1f} %; saving: error median "
            f"{at(savings, .5):.1f} points, p90 {at(savings, .9):.1f}")


def summary(errors):
    """Over all, and over those fixes that only change when things happen: not what the GPU does, and no value the host needs."""
    nil = [one for one in errors if one[3]]
    timing = [one for one in errors if one[5]]
    held_out = [one for one in timing if one[6]]
    return (f"All {len(errors)} fixes: {error_words(errors)}.\n\nThe {len(timing)} that change nothing but times: {error_words(timing)}; "
            f"the {len(held_out)} held out among them: {error_words(held_out)}.\n\n"
            f"Of {len(nil)} without a true gain {sum(one[2] for one in nil)} were called so. "
            f"The interval held the measured saving in {sum(one[4] for one in errors)} of {len(errors)}.")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--only", help="names of cases, with commas between")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--repetitions", type=int, default=9)
    options = parser.parse_args()
    options.results.mkdir(parents=True, exist_ok=True)
    text = PROGRAMS.read_text()
    listed = subprocess.run([sys.executable, str(PROGRAMS), "list"], check=True, stdout=subprocess.PIPE, text=True, timeout=120)
    cases = options.only.split(",") if options.only else listed.stdout.split()
    unknown = set(cases) - set(listed.stdout.split())
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")

    predictions = {}
    for case in cases:
        try:
            predictions[case] = predicted(options, case, text, options.results)
        except (subprocess.SubprocessError, ValueError, KeyError, TypeError) as problem:
            print(f"{case}: {problem}", file=sys.stderr)
    (options.results / "predictions.json").write_text(json.dumps(predictions, indent=2) + "\n")

    seconds = {}
    for case in predictions:
        try:
            seconds[case] = measured(options, case)
            (options.results / "measured.json").write_text(json.dumps(seconds, indent=2) + "\n")
        except (subprocess.SubprocessError, ValueError) as problem:
            print(f"{case}: {problem}", file=sys.stderr)

    table = ["| case | fix | before, ms a step | predicted, % | measured, % | error of the step time, % | error of the saving, points | verdict |",
             "|---|---|---|---|---|---|---|---|"]
    errors = []
    for case, times in seconds.items():
        for fix, prediction in predictions[case].items():
            row, error = row_of(case, fix, prediction, times)
            table.append(row)
            errors += [error] if error else []
    if any(one[5] and one[6] for one in errors):
        table += ["", summary(errors), "", baseline_error(predictions, seconds)]
    (options.results / "pairs.md").write_text("\n".join(table) + "\n")
    print("\n".join(table))
    return 0 if len(seconds) == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
