# SPDX-License-Identifier: Apache-2.0
"""Slow steps in real programs (irregular_programs.py): is there a change for their cause, at its line, and does it save what it says?

  irregular_steps.py --synctrace SYNCTRACE [--jobs 1] [--only NAME...] [--rounds 9] [--folder FOLDER [--stored]]
      needs a GPU, PyTorch and JAX; --stored: judges what an earlier run left in the folder

Each program is timed with the cause and without it, in turns, and then recorded, all in one process. Exit status: 1 when a row, a
line or a saving (by more than 3 points) is not right, 77 without PyTorch on a GPU."""
import argparse
import concurrent.futures
import inspect
import json
import pathlib
import subprocess
import sys
import tempfile

import irregular_programs as programs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

PROGRAM = pathlib.Path(programs.__file__)
RULES = {"collector": "ST056", "compile": "ST054", "jax shapes": "ST054"}
MOST_OFF_POINTS = 3


def run(command, limit_s=150):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True, timeout=limit_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))[-200:]}: status {done.returncode}\n{done.stdout[-500:]}\n{done.stderr[-1500:]}")
    return done.stdout


def slow_line(name):
    lines, first = inspect.getsourcelines(programs.PROGRAMS[name])
    return first + next(number for number, line in enumerate(lines) if line.rstrip().endswith("# slow"))


def tried(options, folder, name):
    """What is wrong, the figures, and what the report says first."""
    synctrace, trace = options.synctrace, folder / name.replace(" ", "_")
    told = trace.with_suffix(".json")
    if not options.stored:
        said = run([synctrace, "run", "--quiet", "-f", "--only-windows", "--capture-range=cudaProfilerApi", "--report=none", "-o", trace, "--", sys.executable, PROGRAM, name, options.rounds])
        told.write_text(said.splitlines()[-1], encoding="utf-8")
    [report] = json.loads(run([synctrace, "report", "--format", "json", f"{trace}.synctrace"]))["processes"]
    timed = json.loads(told.read_text(encoding="utf-8"))
    timed_share = 100 * (1 - timed["without_s"] / timed["with_s"])
    savings, line, rule = report["savings"], slow_line(name), RULES.get(name)
    changes = savings["remedies"]
    said = [f"{change['rule']} {change['title']} {100 * change['marginal_saving_ns'] / savings['base_ns']:.1f} % "
            f"{[fix.get('line') for fix in change['fixes'][:2]]}" for change in changes[:3]]
    # A collection runs at whatever line comes next; its row is known by its rule.
    found = [change for change in changes if (change["rule"] == rule if rule == "ST056" else
             any(fix.get("line") == line and fix.get("file", "").endswith(PROGRAM.name) for fix in change["fixes"]) and rule in (None, change["rule"]))]
    # What empties a cache and what fills it again are two lines of one cause.
    rows = [change for change in changes if change in found or " slow step" in change["title"]] if found else []
    share = 100 * sum(change["marginal_saving_ns"] for change in rows) / savings["base_ns"]
    wrong = [] if found else [f"no change at line {line}" + (f" with {rule}" if rule else "")]
    if found and abs(share - timed_share) > MOST_OFF_POINTS:
        wrong.append("saving")
    figures = f"{report['steps']['count']} steps, {report['steps']['irregular_count']} irregular; said {share:.1f} %, timed {timed_share:.1f} %"
    return wrong, figures, said, abs(share - timed_share)


def has_gpu():
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", required=True)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=list(programs.PROGRAMS), default=list(programs.PROGRAMS))
    parser.add_argument("--folder", type=pathlib.Path, help="for the traces")
    parser.add_argument("--stored", action="store_true")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if not options.stored and not has_gpu():
        sys.exit(77)
    right, offs = 0, []
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        waiting = {name: pool.submit(tried, options, folder, name) for name in options.only}
        for name, one in waiting.items():
            try:
                wrong, figures, said, off = one.result()
            except (RuntimeError, subprocess.TimeoutExpired, ValueError, KeyError) as failure:
                wrong, figures, said, off = [f"failed: {failure}"], "", [], None
            right += not wrong
            offs += [] if off is None else [off]
            print(f"{'ok   ' if not wrong else 'WRONG'} {name}: {figures} {', '.join(wrong)}\n      " + "\n      ".join(said), flush=True)
    print(f"{right} of {len(options.only)} right; worst saving off by {max(offs, default=0):.1f} points")
    rows = measured_rows.Rows("steps", gpus=1)
    rows.add_of("irregular", "irregular programs: row, line, saving within 3 points", right, len(options.only))
    return 0 if right == len(options.only) else 1


if __name__ == "__main__":
    sys.exit(main())
