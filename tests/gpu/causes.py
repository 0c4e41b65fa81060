# SPDX-License-Identifier: Apache-2.0
"""Programs with a known bottleneck, each recorded by `synctrace run`: is it the report's verdict and first cause?

  causes.py --build BUILD [--traces DIR] [--only WORD] [--json OUT]

One row a program: verdict, first cause with its line, and how much of the idle time in the steps is unknown or uncertain
(at most 5 %). Exit status 1 when a row is wrong; 77 when no GPU is here.
"""
import argparse
import json
import pathlib
import subprocess
import sys
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MOST_UNCERTAIN = 0.05


@dataclass
class Case:
    name: str
    command: list
    verdicts: tuple = ()  # any of them; () for any
    rules: tuple = ()     # the first cause's; () for any
    line: str = ""        # part of the first cause's source text
    files: tuple = ()     # ends of its file, any of them


def example(name, rules, *more_files):
    return Case(name, [name, "--steps", "100"], rules=rules, files=(f"{name}/main.cu", *more_files))


def lab(name, verdict, *options, rules=()):
    return Case(f"bottleneck_lab {name}", ["python3", str(ROOT / "examples/pytorch/bottleneck_lab/train.py"), *options],
                verdicts=(verdict,), rules=rules)


def images(stage, verdicts=(), rules=(), line=""):
    return Case(f"image_transfer {stage}", ["python3", str(ROOT / "examples/pytorch/image_transfer/train.py"), "--stage", stage],
                verdicts=verdicts, rules=rules, line=line)


def loop(name, script, *options, verdicts=(), rules=(), line=""):
    return Case(name, ["python3", str(HERE / script), *options], verdicts=verdicts, rules=rules, line=line)


CASES = [
    example("sync_per_step", ("ST001",)),
    example("event_sync", ("ST003",)),
    example("redundant_sync", ("ST001",)),
    example("polling", ("ST004",)),
    example("blocking_copy", ("ST010",)),
    example("default_stream", ("ST010",)),
    example("pageable_async", ("ST011",)),
    example("free_in_loop", ("ST031",)),
    example("late_launch", ("ST052",), "cuda/example.h"),  # where host_work() passes the time
    example("tiny_kernels", ("ST050",)),
    Case("healthy_pipeline", ["healthy_pipeline", "--steps", "100"], verdicts=("gpu-bound",)),
    lab("data, 0 workers", "input-bound", "--preset", "data", rules=("ST051",)),
    lab("data, 4 workers", "input-bound", "--preset", "data", "--workers", "4", rules=("ST051",)),
    lab("eager", "launch-bound", "--preset", "eager", "--steps", "100"),
    lab("kernel", "gpu-bound", "--preset", "kernel", "--steps", "100"),
    images("baseline", ("input-bound",), ("ST051",)),
    images("workers", (), ("ST051", "ST011")),
    images("pinned"),
    images("streams", ("gpu-bound",)),
    loop("eager step", "torch_eager.py", "eager", verdicts=("launch-bound", "host-bound"), line="# step: "),
    loop("graph replay", "torch_eager.py", "graph", verdicts=("gpu-bound",)),
    loop("graph replay, read", "torch_eager.py", "graph-read", rules=("ST020",), line="values[0].item()"),
    loop("JAX, read every step", "jax_loop.py", "--read-every", "1", verdicts=("sync-bound",), rules=("ST005",),
         line="float(loss)"),
    loop("JAX, read every 50", "jax_loop.py", "--read-every", "50", verdicts=("gpu-bound",)),
]


def in_steps(cause, has_steps):
    return cause["idle_in_steps_ns"] if has_steps else cause["idle_ns"]


def judge(case, report):
    """-> (row for the table, what is wrong or "")"""
    device = max(report["devices"], key=lambda d: d["compute_ns"])
    has_steps = report["steps"]["count"] > 0
    causes = [c for c in device["causes"] + device["copy_only_causes"]
              if c["cause"] not in ("startup", "shutdown", "capture-edge")]
    causes.sort(key=lambda c: -in_steps(c, has_steps))
    idle_ns = sum(in_steps(c, has_steps) for c in causes)
    uncertain_ns = sum(c["uncertain_in_steps_ns" if has_steps else "uncertain_ns"] for c in causes)
    first = causes[0] if causes else None
    row = {"name": case.name, "verdict": report["verdict"], "evidence": report["verdict_evidence"],
           "steps": report["steps"]["count"], "steps_by": report["steps"]["source"], "mean_ns": report["steps"]["mean_ns"],
           "rule": first and first["rule"], "cause": first and first["cause"],
           "where": first and first["file"] and f'{pathlib.Path(first["file"]).name}:{first["line"]}',
           "source": first and first["source"], "share": in_steps(first, has_steps) / idle_ns if idle_ns else 0,
           "uncertain": uncertain_ns / idle_ns if idle_ns else 0}
    wrong = []
    if case.verdicts and report["verdict"] not in case.verdicts:
        wrong.append(f"verdict is not {' or '.join(case.verdicts)}")
    if case.rules and row["rule"] not in case.rules:
        wrong.append(f"first cause is not {' or '.join(case.rules)}")
    if case.line and case.line not in (row["source"] or ""):
        wrong.append(f"line is not the one with {case.line!r}")
    if case.files and not (first["file"] or "").endswith(case.files):
        wrong.append(f"file is not {' or '.join(case.files)}")
    # If a program keeps the GPU busy, the little that is left may be anything.
    if row["uncertain"] > MOST_UNCERTAIN and report["verdict"] != "gpu-bound":
        wrong.append(f"{100 * row['uncertain']:.1f} % uncertain")
    return row, "; ".join(wrong)


def record(case, build, traces):
    command = [str(build / "bin" / case.command[0]) if case.command[0] != "python3" else "python3", *case.command[1:]]
    trace = traces / (case.name.replace(" ", "_").replace(",", "") + ".synctrace")
    synctrace = str(build / "bin" / "synctrace")
    run = subprocess.run([synctrace, "run", "--quiet", "--report=none", "--force-overwrite", "-o", str(trace), "--", *command],
                         capture_output=True, text=True, timeout=180)
    if run.returncode != 0:
        return None, f"exit status {run.returncode}: {run.stderr[-300:]}"
    report = subprocess.run([synctrace, "report", "--format", "json", str(trace)], capture_output=True, text=True, timeout=180)
    if report.returncode != 0:
        return None, f"no report: {report.stderr[-300:]}"
    return json.loads(report.stdout)["processes"][0], ""


def add_rows(rows, bad):
    added = measured_rows.Rows("causes")
    added.add_of("verdict-and-cause", "programs as expected", len(rows) - bad, len(rows))
    uncertain = [row["uncertain"] for row in rows if row.get("verdict") not in (None, "gpu-bound")]
    added.add("verdict-and-cause", "largest uncertain share in the steps", f"{100 * max(uncertain, default=0):.1f}", "%")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--traces", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--only", default="")
    parser.add_argument("--json", type=pathlib.Path)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
        print("no GPU here")
        return 77
    rows, bad = [], 0
    print("| program | verdict | first cause | at | its share | uncertain | |\n|---|---|---|---|---|---|---|")
    for case in CASES:
        if options.only not in case.name:
            continue
        report, wrong = record(case, options.build.resolve(), options.traces)
        row = {"name": case.name}
        if report is not None:
            row, wrong = judge(case, report)
            print(f"| {row['name']} | {row['verdict']} | {row['rule'] or '-'} {row['cause']} | {row['where'] or '-'} "
                  f"`{(row['source'] or '-')[:50]}` | {100 * row['share']:.0f} % | {100 * row['uncertain']:.1f} % | "
                  f"{wrong or 'right'} |", flush=True)
        else:
            print(f"| {case.name} | - | - | - | - | - | {wrong} |", flush=True)
        bad += bool(wrong)
        rows.append({**row, "wrong": wrong})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    if not options.only:
        add_rows(rows, bad)
    print(f"{len(rows) - bad} of {len(rows)} programs as expected")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
