# SPDX-License-Identifier: Apache-2.0
"""Whether `synctrace try` is right, on a real GPU: it calls equal programs equal, and known differences by their sign.

  try_trials.py store --out DIR            times bare runs of programs: rows of DIR/runs.csv
  try_trials.py aa --out DIR --synctrace PATH        trials of a program against itself: rows of DIR/aa.csv
  try_trials.py known --out DIR --synctrace PATH     differences of 1, 2, 5 and 20 % of the work: rows of DIR/known.csv
  try_trials.py draw --out DIR --draws PATH          1,000 trials a program drawn from DIR/runs.csv, by the same statistics: DIR/draws.csv
  try_trials.py table --out DIR            what all of it says, in Markdown

Each ends after --seconds, and goes on where it ended when it is called again. Programs: try_program.py. Python and its
standard library are enough for `spin` and `calls`; the others need PyTorch. PATH of --draws is bin/trial_draws of the build.
With --record FOLDER `table` adds rows to the measurements."""
import argparse
import collections
import csv
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAM = pathlib.Path(__file__).resolve().with_name("try_program.py")
STEP = r"ms/step ([0-9.]+)"
UNITS = 100
SHARES = [1, 2, 5, 20]
ALL = ["spin", "calls", "eager", "read", "matmul"]


def command(kind, units, steps):
    return [sys.executable, str(PROGRAM), kind, "--units", str(units), "--steps", str(steps)]


def rows_of(path):
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def add_row(path, row):
    is_new = not path.exists()
    with open(path, "a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(row))
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def bare_run(kind, steps):
    """(seconds of the run, ms of a step), or None where it failed."""
    begin = time.monotonic()
    done = subprocess.run(command(kind, UNITS, steps), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    seconds = time.monotonic() - begin
    values = [float(value) for value in re.findall(STEP, done.stdout)]
    if done.returncode != 0 or not values:
        print(f"{kind}: status {done.returncode}: {done.stderr.strip()[-300:]}", flush=True)
        return None
    return seconds, statistics.median(values[len(values) // 5:])


def store(options, deadline):
    path = options.out / "runs.csv"
    counts = collections.Counter(row["program"] for row in rows_of(path))
    kinds = list(options.programs)
    warm = set()
    while kinds and time.monotonic() < deadline:
        for kind in list(kinds):
            run = bare_run(kind, options.steps) if counts[kind] < options.runs and time.monotonic() < deadline else None
            if run is None:
                if time.monotonic() < deadline:
                    kinds.remove(kind)
                continue
            if kind not in warm:  # the first of each call fills caches
                warm.add(kind)
                continue
            counts[kind] += 1
            add_row(path, {"program": kind, "run": counts[kind], "wall_s": f"{run[0]:.6f}", "step_ms": f"{run[1]:.4f}", "utc": now()})
    print(dict(counts))


def trial(options, kind, units, by_steps):
    """The result of one trial as JSON, or None; `units` of both sides."""
    words = [options.synctrace, "try", "--format", "json", "--time-limit", f"{options.limit}s"]
    if by_steps:
        words += ["--step", STEP]
    for side in units:
        words += ["--", *command(kind, side, options.steps)]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.limit + 60)
    try:
        return json.loads(done.stdout)
    except json.JSONDecodeError:
        print(f"{kind}: status {done.returncode}: {done.stderr.strip()[-500:]}", flush=True)
        return None


def row_of(kind, by_steps, result):
    figures = [[pair[side] for pair in result["pairs"]] for side in ("before", "after")]
    spreads = [statistics.stdev(side) / statistics.mean(side) for side in figures if len(side) > 1]
    gain = result["gain"]
    shown = {name: "" if gain[name] is None else f"{100 * gain[name]:.3f}" for name in gain}
    return {"program": kind, "figure": "step" if by_steps else "run", "verdict": result["verdict"], "end": result["end"],
            "pairs": len(result["pairs"]), "seconds": f"{result['seconds']:.1f}", "gain": shown["value"], "low": shown["low"], "high": shown["high"],
            "spread": f"{100 * statistics.mean(spreads):.2f}" if spreads else "", "notes": " ".join(result["notes"]), "utc": now()}


def equal(options, deadline):
    path = options.out / "aa.csv"
    done = len(rows_of(path))
    while done < options.trials and time.monotonic() < deadline:
        kind = options.programs[done % len(options.programs)]
        by_steps = done // len(options.programs) % 2 == 0
        result = trial(options, kind, [UNITS, UNITS], by_steps)
        if result is not None:
            add_row(path, row_of(kind, by_steps, result))
        done += 1
    print(f"{len(rows_of(path))} trials in {path}")


def known(options, deadline):
    path = options.out / "known.csv"
    have = collections.Counter((row["program"], row["share"], row["side"]) for row in rows_of(path))
    for repetition in range(options.repetitions):
        for kind in options.programs:
            for share in SHARES:
                side = "after" if (repetition + SHARES.index(share)) % 2 == 0 else "before"
                key = (kind, str(share), side)
                if have[key] > repetition // 2:
                    continue
                if time.monotonic() >= deadline:
                    return
                less = UNITS - share
                result = trial(options, kind, [UNITS, less] if side == "after" else [less, UNITS], True)
                if result is None:
                    continue
                have[key] += 1
                add_row(path, {"share": share, "side": side, **row_of(kind, True, result)})


def draw(options, deadline):
    path = options.out / "draws.csv"
    path.unlink(missing_ok=True)
    runs = collections.defaultdict(list)
    for row in rows_of(options.out / "runs.csv"):
        for figure in ("wall_s", "step_ms"):
            runs[row["program"], figure].append(row[figure])
    for (kind, figure), times in runs.items():
        file = options.out / f"times-{kind}-{figure}.txt"
        file.write_text("\n".join(times) + "\n", encoding="utf-8")
        values = [float(one) for one in times]
        for effect in [0, *SHARES]:
            if time.monotonic() >= deadline:
                return
            # `share` less work, or as much more for the other sign: the trial's second side takes 1 - share of the first.
            words = [options.draws, "stored", str(file), str(options.draws_each), str(options.pairs), str(-effect / 100)]
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            for row in csv.DictReader(done.stdout.splitlines()):
                add_row(path, {"program": kind, "figure": figure, "runs": len(values), "effect": effect,
                               "spread": f"{100 * statistics.stdev(values) / statistics.mean(values):.2f}", **row})


def print_table(title, head, rows):
    print(f"\n{title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(str(cell) for cell in row)} |")


def is_called(row):
    return row["verdict"] in ("faster", "slower")


def table_of_equal(options, rows):
    trials = rows_of(options.out / "aa.csv")
    called = sum(map(is_called, trials))
    counts = collections.Counter((row["program"], row["figure"], row["verdict"]) for row in trials)
    print_table(f"Equal programs: {called} of {len(trials)} trials are called faster or slower.", ["program", "figure", "verdict", "trials"],
                [[*key, count] for key, count in sorted(counts.items())])
    if trials:
        rows.add_of("equal", "trials of equal programs called different", called, len(trials))


def table_of_known(options, rows):
    groups = collections.defaultdict(list)
    for row in rows_of(options.out / "known.csv"):
        groups[row["program"], int(row["share"])].append(row)
    cells = []
    for (kind, share), trials in sorted(groups.items()):
        right = sum(row["verdict"] == ("faster" if row["side"] == "after" else "slower") for row in trials)
        wrong = sum(is_called(row) for row in trials) - right
        middle = [statistics.median(float(row[name]) for row in trials) for name in ("pairs", "seconds")]
        cells.append([kind, f"{share} %", f"{right} of {len(trials)}", wrong, f"{middle[0]:.0f}", f"{middle[1]:.0f} s"])
    print_table("Known differences.", ["program", "less work", "right sign", "wrong sign", "pairs, median", "time, median"], cells)
    for share in SHARES:
        trials = [cell for cell in cells if cell[1] == f"{share} %"]
        right, all_of = (sum(int(cell[2].split(" of ")[i]) for cell in trials) for i in (0, 1))
        if all_of:
            rows.add_of("known", f"differences of {share} % with the right sign", right, all_of)


def table_of_draws(options, rows):
    draws = rows_of(options.out / "draws.csv")
    cells, called, trials = [], 0, 0
    for row in draws:
        verdicts = {name: int(row[name]) for name in ("faster", "slower", "same", "undecided")}
        if row["effect"] == "0":
            called += verdicts["faster"] + verdicts["slower"]
            trials += sum(verdicts.values())
        cells.append([row["program"], row["figure"], f"{row['spread']} %", f"{row['effect']} %", row["kind"], *verdicts.values(), row["pairs_median"]])
    print_table(f"Drawn from stored runs: {called} of {trials} trials of equal programs are called faster or slower.",
                ["program", "figure", "spread", "difference", "runs", *["faster", "slower", "same", "undecided"], "pairs, median"], cells)
    if trials:
        rows.add_of("equal", "drawn trials of equal programs called different", called, trials)


def table(options, _):
    rows = measured_rows.Rows("try", gpus=1)
    table_of_equal(options, rows)
    table_of_known(options, rows)
    table_of_draws(options, rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["store", "aa", "known", "draw", "table"])
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--synctrace", default=os.environ.get("SYNCTRACE_BIN", "synctrace"))
    parser.add_argument("--draws", default="trial_draws")
    parser.add_argument("--programs", type=lambda text: text.split(","), default=ALL)
    parser.add_argument("--seconds", type=float, default=540.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--repetitions", type=int, default=4)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--limit", type=int, default=60, help="time limit of a trial, in seconds")
    parser.add_argument("--draws-each", type=int, default=1000)
    parser.add_argument("--pairs", type=int, default=15, help="most pairs of a drawn trial")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    parts = {"store": store, "aa": equal, "known": known, "draw": draw, "table": table}
    parts[options.what](options, time.monotonic() + options.seconds)


if __name__ == "__main__":
    main()
