# SPDX-License-Identifier: Apache-2.0
"""What a user pays: whole programs without us beside recorded ones. A window that is off inside a recorded process is not that.

  whole_programs.py --out DIR [--synctrace PATH] [--cupti-only LIBRARY] [--cases CASE,...] [--modes MODE*COPIES,...] [--rounds N]
                    [--turn-seconds S] [--limit-seconds S] [--gpus 0 | 0,1] [--cpus 2-15] [-- COMMAND...]
  whole_programs.py --table DIR

A program is any command that prints one line a step, and needs no other change: those of whole_cases.py, or COMMAND. All processes are started
and held (SIGSTOP) behind their first line. On one GPU they take turns on the same processors, a few steps each in a new random order every
round, and are compared with the bare ones of the round. On two GPUs a turn is a pair at the same time, each copy of a mode beside a bare
program, or beside the one it names (timeline/cupti-only), and two more processes in each other's place. Turns are the steps 0 to 20, 20 to 100,
and then --turn-seconds each: many short ones, as a host's speed changes from second to second. A report counts the step in which its program
was held; with 50 steps a turn or more it tells these apart. A case ends after --limit-seconds with the rounds it has; stderr says how far it is.
MODE: bare, after (bare, without what stops it), cupti-only (or some of its parts: 'cupti-only subscribe waits', see cupti_only.cpp), off (loaded,
and nothing is recorded), delayed (the timeline never begins), syncs, timeline, duty, dormant (nothing before a window is asked for), closed (dormant;
behind round 2 a window of level syncs opens for a second and closes), or what a mark switches to, as in 'timeline -stacks' (docs/overhead.md). Rows go to DIR/CASE.jsonl, traces to DIR, what reports say to DIR/CASE.said.json.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import random
import re
import selectors
import signal
import statistics
import subprocess
import sys
import time

import whole_tables

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))
import measured_rows  # noqa: E402

CASES = pathlib.Path(__file__).resolve().with_name("whole_cases.py")
LEAD = 5  # steps at the begin of a later turn that are not counted: the host gets ahead of the GPU again
OPTIONS = {"off": ["--delay", "3600s", "--only-windows"], "delayed": ["--delay", "3600s"], "syncs": ["--level", "syncs"], "duty": ["--duty", "1s/10s"],
           "dormant": ["--dormant"], "closed": ["--dormant"]}
HAS_WINDOWS = ("dormant", "closed")


def numbers(text):
    """2-5,8 -> {2, 3, 4, 5, 8}"""
    parts = [[int(end) for end in part.split("-")] for part in text.split(",")]
    return {number for part in parts for number in range(part[0], part[-1] + 1)}


class Program:
    """One process, held unless it has a turn."""

    def __init__(self, options, case, mode, copy, gpu, cpus):
        self.mode, self.copy, self.gpu, self.steps = mode, copy, gpu, 0
        self.trace = options.out / f"{case}.{mode.replace(' ', '')}.{copy}.{gpu}.synctrace"
        command = options.command or [sys.executable, str(CASES), case, "after" if mode == "after" else "before"]
        environment = os.environ | {"CUDA_VISIBLE_DEVICES": str(gpu)}
        level, _, switched = mode.partition(" ")
        if level == "cupti-only":
            environment |= {"CUDA_INJECTION64_PATH": str(options.cupti_only), "CUPTI_PARTS": switched.replace(" ", ",") or "records"}
            switched = ""
        elif mode not in ("bare", "after"):
            to_file = [] if mode in HAS_WINDOWS else ["--report=none", "--force-overwrite", "-o", str(self.trace)]
            command = [str(options.synctrace), "run", "--quiet", *to_file, *OPTIONS.get(level, []), "--", *command]
        if switched:
            environment |= {"SYNCTRACE_TEST_CONTROL": "1", "RECORDER_MARK": "synctrace:" + mode}
        self.errors = open(options.out / f"{case}.{mode.replace(' ', '')}.{copy}.{gpu}.txt", "wb")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, env=environment, start_new_session=True,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        self.lines = self.process.stdout.fileno()
        os.set_blocking(self.lines, False)

    def signal(self, number):
        os.killpg(self.process.pid, number)

    def read(self):
        """Lines that it printed since it was last asked."""
        try:
            text = os.read(self.lines, 1 << 16)
        except BlockingIOError:
            return 0
        if not text:
            raise EOFError(f"{self.process.args} ended; see {self.errors.name}")
        return text.count(b"\n")

    def leave(self):
        self.process.stdout.close()  # its next line ends it
        self.signal(signal.SIGCONT)

    def wait(self, until):
        try:
            self.process.wait(timeout=max(1.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait()
        self.errors.close()


def with_lines(waiting, until):
    """The keys of programs that printed something."""
    ready = waiting.select(max(0.0, until - time.monotonic()))
    if not ready:
        raise TimeoutError(f"no line more of {', '.join(sorted({key.data.mode for key in waiting.get_map().values()}))}")
    return ready


def hold_at_first_line(programs, until):
    waiting = selectors.DefaultSelector()
    for program in programs:
        waiting.register(program.lines, selectors.EVENT_READ, program)
    while waiting.get_map():
        for key, _ in with_lines(waiting, until):
            if key.data.read():
                key.data.signal(signal.SIGSTOP)
                waiting.unregister(key.fd)


def turn(together, steps, from_begin, until):
    """These programs run at the same time until each has done its steps; the ms of a step of each, without those it is led in by."""
    waiting = selectors.DefaultSelector()
    seen = {program: [] for program in together}
    for program in together:
        waiting.register(program.lines, selectors.EVENT_READ, program)
    begin = time.perf_counter()
    for program in random.sample(together, len(together)):
        program.signal(signal.SIGCONT)
    while any(len(times) < steps for times in seen.values()):
        if time.monotonic() >= until:
            raise TimeoutError("in the middle of a turn")
        for key, _ in with_lines(waiting, until):
            seen[key.data] += [time.perf_counter()] * key.data.read()
    for program in together:
        program.signal(signal.SIGSTOP)
        program.steps += len(seen[program]) + program.read()
    lead = 0 if from_begin or steps < 4 * LEAD else LEAD
    return {program: 1000 * ((times[steps - 1] - begin) / steps if from_begin else (times[steps - 1] - times[lead]) / (steps - 1 - lead))
            for program, times in seen.items()}


def turns_of(options, case, modes):
    """Lists of programs that run together."""
    cpus = sorted(options.cpus)
    if len(options.gpus) == 1:
        return [[Program(options, case, mode, copy, options.gpus[0], cpus)] for mode, copies in modes for copy in range(copies)]
    half = len(cpus) // 2
    places = [(options.gpus[0], cpus[:half]), (options.gpus[1], cpus[half:])]
    turns = []
    for pair, copies in modes:
        mode, _, other = pair.partition("/")
        for number, place in itertools.product(range(copies), (0, 1)):
            copy = f"{number}-beside-{other}" if other else number  # files go by it, so it is another one in each pair
            wanted = [(other or "bare", f"{copy}-of-{mode.replace(' ', '')}", places[place]), (mode, copy, places[1 - place])]
            order = 1 - 2 * place  # neither is always started first
            turns.append([Program(options, case, *what, *where) for *what, where in wanted[::order]][::order])
    return turns


def open_windows(options, turns, until):
    """Each program that is to have had one has a window now, all at one time."""
    programs = [program for together in turns for program in together if program.mode == "closed"]
    for program in programs:
        program.signal(signal.SIGCONT)
    windows = []
    for program in programs:
        pid = pathlib.Path(f"/proc/{program.process.pid}/task/{program.process.pid}/children").read_text(encoding="ascii").split()[0]
        windows.append(subprocess.Popen([options.synctrace, "start", pid, "--duration", "1s", "--level", "syncs", "-o", program.trace, "-f", "-q", "--report=none",
                                         "--no-symbols"], stdout=subprocess.DEVNULL))
    refused = sum(window.wait(timeout=max(1.0, until - time.monotonic())) != 0 for window in windows)
    if refused:
        raise OSError(f"{refused} of {len(windows)} windows were refused")
    for program in programs:
        program.signal(signal.SIGSTOP)
        program.steps += program.read()


def one_round(turns, number, steps, until):
    """What each program took, as rows."""
    rows = []
    for together in turns:
        times = turn(together, steps, number == 0, until)
        rows += [{"round": number, "turn": [one.mode for one in together], "mode": program.mode, "copy": program.copy, "gpu": program.gpu,
                  "steps": program.steps, "step_ms": round(max(step_ms, 1e-5), 5)} for program, step_ms in times.items()]
    return rows


def all_rounds(options, case, turns, say):
    """Only whole rounds are written: each is compared within itself."""
    order_of, most, until = random.Random(20261124), 100, time.monotonic() + options.limit_seconds
    with open(options.out / f"{case}.jsonl", "w", buffering=1, encoding="utf-8") as file:
        try:
            hold_at_first_line([program for one in turns for program in one], until)
            say("all programs have started")
            for number in range(options.rounds + 2):
                if number == 2:
                    open_windows(options, turns, until)
                order_of.shuffle(turns)
                steps = (20, 80)[number] if number < 2 else most
                rows = one_round(turns, number, steps, until)
                file.writelines(json.dumps(row) + "\n" for row in rows)
                say(f"round {number + 1} of {options.rounds + 2}, {steps} steps of {statistics.median(row['step_ms'] for row in rows):.2f} ms each")
                if number == 1:
                    most = max(4 * LEAD, min(2000, int(1000 * options.turn_seconds / statistics.median(row["step_ms"] for row in rows))))
        except TimeoutError as problem:
            say(f"ended by --limit-seconds {options.limit_seconds:g}: {problem}")


def measure(options, case):
    begin = time.monotonic()
    modes = [(name, int(copies or 1)) for name, _, copies in (one.partition("*") for one in options.modes.split(","))]
    turns = turns_of(options, case, modes)
    programs = [program for one in turns for program in one]
    try:
        all_rounds(options, case, turns, lambda words: print(f"{case}, {time.monotonic() - begin:.0f} s: {words}", file=sys.stderr, flush=True))
    finally:
        for program in programs:
            program.leave()
        until = time.monotonic() + 60
        for program in programs:
            program.wait(until)
    traces = [program.trace for program in programs if program.mode.startswith("timeline") and program.trace.exists()]
    with concurrent.futures.ThreadPoolExecutor() as readers:
        said = dict(zip((trace.name for trace in traces), readers.map(lambda trace: reported(options, case, trace), traces)))
    (options.out / f"{case}.said.json").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")


def reported(options, case, trace):
    lines = enumerate(CASES.read_text(encoding="utf-8").splitlines(), 1)
    marks = [(re.search(rf"# ([a-z-]+): {case}$", line), number) for number, line in lines]
    wishes = [f"{mark[1]}@{CASES.name}:{number}" for mark, number in marks if mark]  # by name: a line may have launches too
    question = ["--what-if", ",".join(wishes)] if wishes else []
    report = subprocess.run([options.synctrace, "report", "--format", "json", *question, trace], stdout=subprocess.PIPE, check=False)
    return whole_tables.said(json.loads(report.stdout)) if report.returncode == 0 else None


def main():
    arguments = sys.argv[1:]
    command = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path)
    parser.add_argument("--synctrace", type=pathlib.Path)
    parser.add_argument("--cupti-only", type=pathlib.Path)
    parser.add_argument("--cases", default="eager,resnet,reads")
    parser.add_argument("--modes", default="bare*4,cupti-only*3,off*2,syncs*3,timeline*3")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--turn-seconds", type=float, default=0.3)
    parser.add_argument("--limit-seconds", type=float, default=300)
    parser.add_argument("--gpus", type=lambda text: text.split(","), default=["0"])
    parser.add_argument("--cpus", type=numbers, default=os.sched_getaffinity(0))
    measured_rows.add_option(parser)
    options = parser.parse_args(arguments[:len(arguments) - len(command) - 1] if command else arguments)
    options.command = command
    if options.table is None:
        options.out.mkdir(parents=True, exist_ok=True)
        for case in ["command"] if command else options.cases.split(","):
            try:
                measure(options, case)
            except (EOFError, OSError) as problem:
                print(f"{case}: {problem}", file=sys.stderr)
        whole_tables.add_rows(options.out, measured_rows.Rows("cost", gpus=len(options.gpus)))
    print(whole_tables.markdown(options.table or options.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
