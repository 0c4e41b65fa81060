# SPDX-License-Identifier: Apache-2.0
"""What this recorder and other profilers cost, side by side, on a GPU.

  overhead.py --build BUILD --out FOLDER [--seconds 340] [--window-seconds 6] [--only PART,...] [--simgpu]

Parts, in this order, each program of which is a process of its own with a time limit; what fails or does not fit says so:
  windows-synctrace, windows-profiler, windows-proton   PyTorch in alternating windows, W seconds for each workload, twice for
                                                        the first (all of it again for the duty cycle of synctrace)
  calls      C++ loops in alternating windows (launch_cost)
  million    a million launches: from the end of main to the answer; bytes; memory
  runs       one run of each tool: bytes for a kernel, memory, start, stop, time to an answer
  startup    a program of one launch, 9 rounds
  variants   ways of asking CUPTI about launches, without the recorder (cupti_variants)
  nsys       Nsight Systems, which cannot be switched: 9 rounds of runs without and with it (and with Proton, if that had no windows)

FOLDER/overhead.jsonl gets each result as it comes (a second call appends), FOLDER/overhead.md the tables of all of them.
"""
import argparse
import glob
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

import programs
import tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import measured_rows  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
LAUNCHES = 1_000_000
ROUNDS = 9
EAGER_STEPS = 40
NSYS_PLACES = ("/opt/nvidia/nsight-systems*/**/nsys", "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys",
               "/usr/local/cuda*/bin/nsys", "/usr/local/cuda*/nsight*/**/nsys", "/usr/lib/nsight-*/**/nsys")
NSYS_FLAGS = (["--trace=cuda", "--sample=none", "--cpuctxsw=none", "--force-overwrite=true"], ["-t", "cuda", "-s", "none", "-f", "true"], [])
ALL_WORKLOADS = "eager_step,resnet50_step,scalar_reads,graph_replay_400"


class Session:
    """Where things are, how much time is left, and where results go."""

    def __init__(self, options):
        self.build, self.out = options.build.resolve(), options.out.resolve()
        self.window_seconds = options.window_seconds
        self.deadline = time.monotonic() + options.seconds
        self.synctrace = self.build / "bin" / "synctrace"
        self.out.mkdir(parents=True, exist_ok=True)
        self.results = self.out / "overhead.jsonl"
        self.traces = tempfile.TemporaryDirectory(prefix="synctrace-overhead-")  # hundreds of MB, some of them
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCTRACE_") and name != "LD_PRELOAD"}
        self.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        folder = self.build / "simgpu" if options.simgpu else runtime_folder(self.program("launch_many"))
        if folder:
            self.environment["LD_LIBRARY_PATH"] = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}".rstrip(":")
        self.nsys = find_nsys()

    def program(self, name):
        return self.build / "tests" / "bin" / name

    def left_s(self):
        return self.deadline - time.monotonic()

    def run(self, words, limit_s, on_line=None, **environment):
        return programs.run(words, {**self.environment, **environment}, min(limit_s, self.left_s()), on_line)

    def say(self, **row):
        line = json.dumps(row)
        print(line, flush=True)
        with open(self.results, "a", encoding="utf-8") as stream:
            stream.write(line + "\n")

    def rows(self):
        return tables.rows_of([self.results])

    def scratch(self, name):
        return programs.fresh(pathlib.Path(self.traces.name) / name)

    def preloaded(self, name, **more):
        return {"LD_PRELOAD": str(self.build / "lib" / "libsynctrace.so"), "SYNCTRACE_OUTPUT": str(self.scratch(name) / "trace"), **more}


def runtime_folder(program):
    """Where the CUDA runtime is when only a Python wheel has it."""
    words = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    if "libcudart.so.13 => not found" not in words:
        return None
    for base in sys.path:
        for found in glob.glob(os.path.join(base, "nvidia", "*", "lib", "libcudart.so.13")):
            return os.path.dirname(found)
    return None


def find_nsys():
    found = shutil.which("nsys")
    places = [found] if found else [path for pattern in NSYS_PLACES for path in sorted(glob.glob(pattern, recursive=True))]
    return next((path for path in places if os.path.isfile(path) and os.access(path, os.X_OK)), None)


def forward(session):
    """Hands the JSON lines of a program on."""
    def on_line(line):
        if line.startswith("{"):
            session.say(**json.loads(line))
    return on_line


def say_failure(session, part, done, **more):
    if done.why():
        session.say(part=part, failed=done.why(), **more)


def windows(tool, times):
    def part(session):
        seconds = session.window_seconds
        more = session.preloaded("windows", SYNCTRACE_TEST_CONTROL="1", SYNCTRACE_QUIET="1") if tool == "synctrace" else {}
        done = session.run([sys.executable, HERE / "torch_windows.py", tool, "--seconds", seconds], 40 + 8 * times * seconds, forward(session), **more)
        say_failure(session, "windows", done, tool=tool)
    return part


def calls(session):
    done = session.run([session.program("launch_cost"), "--rounds", "40"], 90, **session.preloaded("calls", SYNCTRACE_TEST_CONTROL="1", SYNCTRACE_QUIET="1"))
    say_failure(session, "windows", done, tool="launch_cost")
    if done.status != 0:
        return
    for row in json.loads("\n".join(line for _, line in done.out))["results"]:
        session.say(part="windows", tool="synctrace", workload=row["workload"],
                    modes={mode: tables.with_interval(values) for mode, values in row["modes"].items()})


def variants(session):
    done = session.run([session.program("cupti_variants")], 90)
    say_failure(session, "variants", done)
    if done.status == 0:
        modes = json.loads("\n".join(line for _, line in done.out))["modes"]
        session.say(part="variants", modes={mode: tables.with_interval(values) for mode, values in modes.items()})


def launch_many(session, before, launches, limit_s=90, **environment):
    """(the run, what the program said of itself, the moment at which it did: the end of its main)"""
    done = session.run([*before, session.program("launch_many"), launches, 1], limit_s, **environment)
    for moment, line in done.err:
        if line.startswith("{"):
            return done, json.loads(line), moment
    return done, None, None


def million(session):
    for tool, before in (("none", []), ("syncs", ["--level=syncs"]), ("timeline", ["--level=timeline"]), ("timeline", ["--level=timeline"])):
        folder = session.scratch("million")
        words = [session.synctrace, "run", *before, "-o", folder / "trace", "--"] if before else []
        done, said, ended_s = launch_many(session, words, LAUNCHES)
        if not said:
            session.say(part="million", tool=tool, failed=done.why() or "no line of the program")
            continue
        answers = [moment for moment, line in done.err if moment > ended_s and line and not line.startswith("synctrace:")]
        row = {"part": "million", "tool": tool, "launches": said["launches"], "ns_per_launch": 1e9 / said["launches_per_second"],
               "peak_resident_kib": said["peak_rss_kib"], "bytes": programs.bytes_in(folder),
               "end_to_exit_s": max(0.0, round(done.ended_s - ended_s, 3)), "end_to_answer_s": round(answers[0] - ended_s, 3) if answers else None}
        trace = folder / "trace.synctrace"
        if trace.exists():
            report = session.run([session.synctrace, "report", trace], 60)
            row.update(report_s=round(report.wall_s, 3), report_peak_kib=report.peak_kib, report_status=report.status)
        session.say(**row)


def nsys_words(session, folder, flags):
    return [session.nsys, "profile", *flags, "-o", folder / "report"]


def nsys_flags(session):
    """The first set of flags with which it collects anything; None where there is none, which is said."""
    if not session.nsys:
        session.say(part="nsys", not_run="no nsys was found")
        return None
    for flags in NSYS_FLAGS:
        folder = session.scratch("nsys-probe")
        done, said, _ = launch_many(session, nsys_words(session, folder, flags), 1000, 40)
        files = {path.suffix: path.stat().st_size for path in folder.iterdir()}
        session.say(part="nsys-probe", nsys=session.nsys, flags=flags, status=done.status, files=files, said=[line for _, line in done.err[-3:]])
        if said and files:
            return flags
    session.say(part="nsys", not_run="it collected nothing, with whatever flags")
    return None


def nsys_answer(session, folder):
    """Seconds until its summary of kernels is there, or why it is not."""
    report = next(iter(folder.glob("*.nsys-rep")), None)
    if not report:
        return None, "it left no .nsys-rep, only " + ", ".join(sorted(path.suffix for path in folder.iterdir()))
    done = session.run([session.nsys, "stats", "--report", "cuda_gpu_kern_sum", report], 60)
    return (round(done.wall_s, 3), "") if done.status == 0 else (None, done.why())


def torch_run(session, tool, flags, arguments, limit_s=90):
    """(row, folder) of one run of torch_run.py; the row says `failed` where it did."""
    folder = session.scratch(tool)
    program = [sys.executable, HERE / "torch_run.py", tool if tool in ("profiler", "profiler-stacks", "proton") else "none", folder, *arguments]
    before = []
    if tool in ("syncs", "timeline"):
        before = [session.synctrace, "run", f"--level={tool}", "-o", folder / "trace", "--"]
    if tool == "nsys":
        before = nsys_words(session, folder, flags)
    done = session.run(before + program, limit_s)
    said = next((json.loads(line) for _, line in done.out if line.startswith("{")), None)
    if not said:
        return {"tool": tool, "failed": done.why() or "no line of the program"}, folder
    ended_s = said.pop("ended_ns") / 1e9
    return {**said, "tool": tool, "status": done.status, "bytes": programs.bytes_in(folder), "peak_kib": done.peak_kib,
            "end_to_exit_s": max(0.0, round(done.ended_s - ended_s, 3)), "wall_s": round(done.wall_s, 2)}, folder


def kernels_in(session, folder):
    done = session.run([session.synctrace, "report", "--format", "json", folder / "trace.synctrace"], 60)
    if done.status != 0:
        return None
    report = json.loads("\n".join(line for _, line in done.out))["processes"][0]
    return sum(work["count"] for work in report["work"] if work["what"] == "kernels")


def runs(session):
    flags = nsys_flags(session)
    for tool in ("none", "timeline", "syncs", "profiler", "profiler-stacks", "proton") + (("nsys",) if flags is not None else ()):
        row, folder = torch_run(session, tool, flags, ["--steps", str(EAGER_STEPS)])
        if "failed" not in row and tool == "timeline":
            row["kernels"] = kernels_in(session, folder)
        if "failed" not in row and tool == "nsys":
            row["answer_s"], row["answer_failed"] = nsys_answer(session, folder)
        session.say(part="runs", **row)
        if session.left_s() < 5:
            return


def startup(session):
    order_of = random.Random(1)
    wall_s = {"none": [], "syncs": [], "timeline": []}
    for _ in range(ROUNDS):
        order = list(wall_s)
        order_of.shuffle(order)
        for tool in order:
            more = session.preloaded("startup", SYNCTRACE_LEVEL=tool, SYNCTRACE_QUIET="1") if tool != "none" else {}
            done, said, _ = launch_many(session, [], 1, 30, **more)
            if not said:
                return session.say(part="startup", tool=tool, failed=done.why())
            wall_s[tool].append(done.wall_s)
    for tool in ("syncs", "timeline"):
        added = [with_it - without for with_it, without in zip(wall_s[tool], wall_s["none"])]
        session.say(part="startup", tool=tool, **tables.median_and_interval("added_s", added), none_s=sorted(wall_s["none"])[ROUNDS // 2])
    return None


def nsys(session):
    """Rounds of whole runs: what cannot be switched on and off in a process."""
    flags = nsys_flags(session)
    tools = ["none"] + (["nsys"] if flags is not None else [])
    if not any(row.get("tool") == "proton" and row.get("modes") for row in session.rows()):
        tools.append("proton")
    if len(tools) == 1:
        return
    order_of = random.Random(2)
    for number in range(ROUNDS):
        order_of.shuffle(tools)
        for tool in tools:
            row, folder = torch_run(session, tool, flags, ["--workloads", ALL_WORKLOADS, "--seconds", "0.6"])
            if tool in ("none", "nsys") and "failed" not in row:
                _, said, _ = launch_many(session, nsys_words(session, folder, flags) if tool == "nsys" else [], 300_000, 60)
                if said:
                    row["step_ms"]["launch_and_drain"] = 1000 / said["launches_per_second"]
            session.say(part="rounds", round=number, **row)
            if session.left_s() < 15:
                return


PARTS = {"windows-synctrace": windows("synctrace", 2), "windows-profiler": windows("profiler", 1), "windows-proton": windows("proton", 1), "calls": calls,
         "million": million, "runs": runs, "startup": startup, "variants": variants, "nsys": nsys}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=340)
    parser.add_argument("--window-seconds", type=float, default=6)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--simgpu", action="store_true", help="to try the parts that need no PyTorch; times then mean nothing")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    session = Session(options)
    for name in options.only.split(","):
        start = time.monotonic()
        if session.left_s() < 10:
            session.say(part=name, not_run="out of time")
            continue
        try:
            PARTS[name](session)
        except Exception:  # whatever it was, the other parts still have something to say
            session.say(part=name, failed=traceback.format_exc()[-600:])
        session.say(part="time", of=name, seconds=round(time.monotonic() - start, 1))
        (session.out / "overhead.md").write_text(tables.text(session.rows()), encoding="utf-8")
    tables.add_rows(session.rows(), measured_rows.Rows("cost", simulated=options.simgpu))
    print((session.out / "overhead.md").read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
