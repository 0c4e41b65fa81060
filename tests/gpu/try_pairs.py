# SPDX-License-Identifier: Apache-2.0
"""`synctrace try` on real changes: each program of advice/ and gpu_bound/ beside itself with a change typed as printed.

  try_pairs.py --synctrace PATH --out DIR [--limit 60] [--time-limit S] [--table] [--record FOLDER] [NAME | NAME.CHANGE...]

A program is recorded once, unless DIR/NAME.synctrace is there; the promise is that of the row whose words were typed. Then
`try --fix N --from TRACE --step .. --same ..` runs both in turns, unrecorded. A row goes to DIR/pairs.csv, and what is there is not
run again. Programs are spread over all GPUs, one at a time on each."""
import argparse
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import advice

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PRINTED = "printed"
COLUMNS = ["program", "change", "verdict", "agreement", "pairs", "seconds", "gain", "low", "high", "predicted", "predicted_low", "predicted_high", "same",
           "notes"]


def rows_of(path):
    if not path.exists():
        return []
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def recorded(options, path, cores, environment, command):
    trace = options.out / f"{path.stem}.synctrace"
    if not trace.exists():
        done = subprocess.run([*cores, options.synctrace, "run", "--quiet", "--report=none", "-o", trace, "--", *command], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=150)
        if done.returncode != 0:
            raise ValueError(f"recording it: status {done.returncode}: {done.stderr[-200:]}")
    return trace


def number_of(options, trace, words):
    """Which change of the report has these words, in one or more of its lines: its number for --fix; None where no row has them."""
    said = subprocess.run([options.synctrace, "report", "--format", "json", "--changes", trace], stdout=subprocess.PIPE, timeout=60, check=True).stdout
    parts = words.split("; ")
    return next((change["number"] for change in json.loads(said)["changes"]
                 if all(any(part in line for line in change["to_type"]) for part in parts)), None)


def percent(value):
    return "" if value is None else f"{100 * value:.2f}"


def pair(options, case, cores, environment):
    name, change = case
    path = advice.programs([name])[name]
    what = advice.changes_of(path)[change]
    folder = options.out / "typed" / name
    folder.mkdir(parents=True, exist_ok=True)
    after = folder / f"{change}{path.suffix}"
    after.write_text(advice.with_change(path.read_text(), what))
    commands = [[*advice.command_of(one, folder), *advice.steps_of(path)] for one in (path, after)]
    trace = recorded(options, path, cores, environment, commands[0])
    number = number_of(options, trace, what["words"])
    promise = ["--fix", str(number), "--from", str(trace)] if number else []
    tolerance = advice.stored_row(path).get("tolerance", 0.01)
    words = [*cores, options.synctrace, "try", "--format", "json", "--time-limit", f"{options.limit}s", "--step", "ms/step=([0-9.e+-]+)",
             "--same", "result=([0-9.e+-]+)", "--tolerance", str(tolerance), *promise, "--", *commands[0], "--", *commands[1]]
    done = subprocess.run([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=options.limit + 150)
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        raise ValueError(f"status {done.returncode}: {done.stderr[-300:]}") from None
    (folder / f"{change}.json").write_text(done.stdout)
    said = result["prediction"] or {"answer": "", "gain": {"value": None, "low": None, "high": None}}
    gain, promised = result["gain"], said["gain"]
    row = {"program": name, "change": change, "verdict": result["verdict"], "agreement": said["answer"], "pairs": len(result["pairs"]),
           "seconds": f"{result['seconds']:.0f}", "gain": percent(gain["value"]), "low": percent(gain["low"]), "high": percent(gain["high"]),
           "predicted": percent(promised["value"]), "predicted_low": percent(promised["low"]), "predicted_high": percent(promised["high"]),
           "same": (result["same"] or {"equal": ""})["equal"], "notes": " ".join(map(str, result["notes"]))}
    table = options.out / "pairs.csv"
    with options.lock:
        is_new = not table.exists()
        with open(table, "a", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=COLUMNS)
            writer.writerows([dict(zip(COLUMNS, COLUMNS))] if is_new else [])
            writer.writerow(row)
    return json.dumps({key: row[key] for key in ("verdict", "agreement", "pairs", "gain", "predicted", "same")})


def cases_of(options):
    wanted = [name.partition(".") for name in options.names] or [(name, "", "") for name in advice.programs([])]
    done = {(row["program"], row["change"]) for row in rows_of(options.out / "pairs.csv")}
    cases = [(name, change or PRINTED) for name, _, change in wanted]
    return [(name, change) for name, change in cases if (name, change) not in done
            and change in advice.changes_of(advice.programs([name])[name], by_hand=False)]


def run(options):
    options.lock, end = threading.Lock(), time.monotonic() + options.time_limit

    def one(case, cores, environment):
        return pair(options, case, cores, environment) if time.monotonic() < end else "no time left"

    advice.over_gpus(one, cases_of(options))


def table(options):
    found = rows_of(options.out / "pairs.csv")
    print("| program | change | verdict | gain, % | predicted, % | agreement | pairs | same |\n|---|---|---|---|---|---|---|---|")
    for row in found:
        print(f"| {row['program']} | {row['change']} | {row['verdict']} | {row['gain']} ({row['low']} to {row['high']}) | {row['predicted']} "
              f"({row['predicted_low']} to {row['predicted_high']}) | {row['agreement']} | {row['pairs']} | {row['same']} |")
    return found


def add_rows(found):
    rows = measured_rows.Rows("try-pairs")
    for row in found:
        case = f"{row['program']}, {row['change']}"
        rows.add("pairs", f"{case}: {row['verdict']}", row["gain"], "%", f"{row['low']} to {row['high']}", row["pairs"])
        if row["predicted"]:
            rows.add("pairs", f"{case}: predicted, {row['agreement']}", row["predicted"], "%", f"{row['predicted_low']} to {row['predicted_high']}")
    decided = [row for row in found if row["verdict"] in ("faster", "slower")]
    said = [row for row in decided if row["predicted"]]
    rows.add_of("before-after", "pairs that were decided", len(decided), len(found))
    rows.add_of("before-after", "pairs with a prediction that agrees", sum(row["agreement"] == "agrees" for row in said), len(said))
    errors = [abs(float(row["gain"]) - float(row["predicted"])) for row in said]
    if errors:
        rows.add("before-after", "predicted beside timed, median error", f"{statistics.median(errors):.1f}", "points", n=len(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--synctrace", type=pathlib.Path, default="build/release/bin/synctrace")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--time-limit", type=float, default=1e9)
    parser.add_argument("--table", action="store_true", help="run nothing")
    measured_rows.add_option(parser)
    options = parser.parse_intermixed_args()
    options.out, options.synctrace = options.out.resolve(), options.synctrace.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.table:
        run(options)
    add_rows(table(options))
    return 0


if __name__ == "__main__":
    sys.exit(main())
