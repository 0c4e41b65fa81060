# SPDX-License-Identifier: Apache-2.0
"""Do the lines that make a host thread wait come back from a recording: at their exact line, with their length, with the
thread that ended the wait? PyTorch, CuPy and JAX where they are installed, and plain Python.

  host_waits.py --synctrace PATH [--cases torch,cupy,jax,python] [--simgpu] [--json FILE]

Each line is timed by the program itself (host_waits_program.py). What it waited is what its thread spent in recorded CUDA calls
and host waits meanwhile. Exit status: 0 all agree, 1 some do not, 77 nothing could be run.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from trace_records import Records  # noqa: E402
from trace_stacks import Stacks  # noqa: E402

sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PROGRAM = HERE / "host_waits_program.py"
MODULES = {"torch": "torch", "cupy": "cupy", "jax": "jax", "python": None}
CALLS = ("?", "condition", "semaphore", "futex", "poll", "epoll", "read", "munmap", "join", "sleep", "mutex", "select")
WITH_WAKERS = {1, 2, 3}
TIMED_OUT = 1
TOLERANCE = 0.05
SLACK_NS = 5_000


def is_installed(module):
    return module is None or subprocess.run([sys.executable, "-c", f"import {module}"], stderr=subprocess.DEVNULL,
                                            check=False).returncode == 0


def record(options, case, folder):
    """What the program says of itself, and the records of its trace."""
    truth, trace = folder / f"{case}.json", folder / f"{case}.synctrace"
    command = [options.synctrace, "run", "--quiet", "--report=none", "-o", trace] + ["--simgpu"] * options.simgpu
    environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
    done = subprocess.run([*command, "--", sys.executable, PROGRAM, case, truth], timeout=300, env=environment, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{case} ended with status {done.returncode}")
    dumped = subprocess.run([options.synctrace, "dump", trace], stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    return json.loads(truth.read_text(encoding="utf-8")), Records(dumped.stdout)


def waited_ns(found):
    """Time covered by spans, which may lie within each other."""
    total, last = 0, 0
    for record_ in sorted(found, key=lambda each: each["begin_ns"]):
        begin, end = record_["begin_ns"], record_["begin_ns"] + record_["duration_ns"]
        total += max(0, end - max(begin, last))
        last = max(last, end)
    return total


def describe(records, found):
    names = sorted({CALLS[each["call"]] if "call" in each else records.api_names[each["api"]] for each in found})
    return ", ".join(names)


def judge(case, line, records, stacks):
    inside = [each for kind in ("host_wait", "call") for each in records.of(kind)
              if each["thread"] == line["thread"] and line["begin_ns"] - SLACK_NS <= each["begin_ns"]
              and each["begin_ns"] + each["duration_ns"] <= line["end_ns"] + SLACK_NS]
    found = [each for each in inside if each["duration_ns"] >= 50_000]
    row = {"case": case, "name": line["name"], "line": line["line"], "timed_ns": line["end_ns"] - line["begin_ns"],
           "waited_ns": waited_ns(found), "in": describe(records, found), "problems": []}
    if not found:
        row["problems"].append("not recorded")
        return row
    longest = max(found, key=lambda each: each["duration_ns"])
    row["named"] = stacks.line_in(longest["stack"], PROGRAM)
    if row["named"] != line["line"]:
        row["problems"].append(f"line {row['named']}")
    if row["waited_ns"] < (1 - TOLERANCE) * row["timed_ns"]:
        row["problems"].append("length")
    wakeable = longest.get("call") in WITH_WAKERS and not longest["flags"] & TIMED_OUT
    row["waker"] = longest.get("waker")
    if wakeable and not longest["waker"] or line["waker"] and longest["waker"] != line["waker"]:
        row["problems"].append(f"waker {longest['waker']}, should be {line['waker'] or 'known'}")
    return row


def agrees(name, rows):
    """Lines repeat: the interpreter lock is contended only by chance, and the others have one slow first time."""
    good = [row for row in rows if not row["problems"]]
    if name == "interpreter lock":
        return bool(good)
    return len(good) >= len(rows) - (len(rows) > 2)


def table(rows):
    lines = [f"{'':<7} {'line':<26} {'timed ms':>9} {'waited ms':>10} {'share':>6} {'waker':>8}  in"]
    for row in rows:
        share = row["waited_ns"] / max(row["timed_ns"], 1)
        lines.append(f"{row['case']:<7} {row['name']:<26} {row['timed_ns'] / 1e6:>9.3f} {row['waited_ns'] / 1e6:>10.3f} {share:>6.1%} "
                     f"{row.get('waker') or '':>8}  {row['in']}  {'; '.join(row['problems'])}".rstrip())
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--cases", default=",".join(MODULES))
    parser.add_argument("--simgpu", action="store_true")
    parser.add_argument("--json")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    rows, wrong, names, failed = [], [], 0, []
    with tempfile.TemporaryDirectory(prefix="synctrace-waits-") as folder:
        for case in options.cases.split(","):
            if not is_installed(MODULES[case]):
                print(f"{case}: not installed, skipped")
                continue
            try:
                truth, records = record(options, case, pathlib.Path(folder))
            except (RuntimeError, subprocess.SubprocessError) as error:
                print(f"{case}: {error}")
                failed.append(case)
                continue
            stacks = Stacks(records)
            mine = [judge(case, line, records, stacks) for line in truth]
            rows += mine
            for name in dict.fromkeys(row["name"] for row in mine):
                names += 1
                if not agrees(name, [row for row in mine if row["name"] == name]):
                    wrong.append(f"{case} {name}")
            if records.losses():
                print(f"{case}: losses {records.losses()}")
    print(table(rows))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if options.cases == ",".join(MODULES) and not failed:
        measured_rows.Rows("lines", simulated=options.simgpu).add_of("host-waits", "lines that agree within 5 %", names - len(wrong), names)
    print(f"{names - len(wrong)} of {names} lines agree" + "".join(f"; {each} does not" for each in wrong)
          + "".join(f"; {each} did not run" for each in failed))
    if not rows and not failed:
        return 77
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
