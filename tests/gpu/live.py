# SPDX-License-Identifier: Apache-2.0
"""Windows of programs that run (run --dormant, start, stop, attach), on a real GPU.

  live.py --synctrace BIN --out OUT [--only cycles,told,left,attach] [--cycles 200] [--rounds 1] [--attaches 50] [--kinds eager,read,graph,jax]
      [--matrix PROGRAM] [--record FOLDER]

cycles: windows opened and closed again and again in each kind of live_program.py, and in graph_matrix (--matrix), all at once; the
  programs end as they should, the last window says what the first said, memory stays.
told: windows of a loop that waits for the GPU nearly all the time, and of one that launches nearly all the time. Each has all waits,
  and each call its own number. Once CUPTI lost both behind the first windows (docs/decisions/0049).
left: what a closed window leaves behind, one program at a time: its median step of the seconds behind a window beside those before it,
  the window of level timeline, of level syncs, or none (the drift of the program itself).
attach: programs that were not prepared, attached to at random moments, eight at a time, and recorded once.
Exit status: 0 when no program was harmed. OUT/live.jsonl has each result.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PROGRAM = HERE / "live_program.py"
LIMIT_S = 120
MATRIX = ("threads", "many", "xla", "updated")
FOREVER = 100_000_000
AT_ONCE = 8
LEFT_S = 3.5
TOLD, TOLD_WINDOWS = ("waits", "eager", "read"), 12
WAITS = ("33554563", "33554597")  # cudaStreamSynchronize, cudaDeviceSynchronize


class Program:
    """One of live_program.py; what it prints is read as it comes."""

    def __init__(self, kind, seconds, synctrace=None, matrix=None):
        command = [sys.executable, PROGRAM, kind, str(seconds)] if matrix is None else [matrix, kind, f"launches={FOREVER}", f"background={FOREVER}"]
        if synctrace:
            command = [synctrace, "run", "--dormant", "-q", "--", *command]
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.is_endless = matrix is not None
        self.lines, self.errors = [], []
        self.ready = threading.Event()
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.split())
            self.ready.set()
        self.ready.set()

    @property
    def pid(self):
        """That of the loop: the child of `synctrace run`, or the process itself."""
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0]) if children else self.process.pid

    def steps_us(self, begin_ns, end_ns):
        return [float(line[2]) for line in self.lines if line[0].isdigit() and begin_ns <= int(line[0]) < end_ns]

    def fault(self):
        """"" when it ended as it should."""
        if self.is_endless and self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()
            return ""
        try:
            self.process.wait(timeout=LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return "it hangs"
        if self.process.returncode != 0 or not self.lines or self.lines[-1][0] != "end":
            return f"status {self.process.returncode}: {''.join(self.errors)[-800:]}"
        return ""


def memory_kib(pid):
    return int(re.search(r"^VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)[1])


class Live:
    def __init__(self, options):
        self.options = options
        self.kinds = options.kinds.split(",")
        self.rng = random.Random(1)
        self.rows = measured_rows.Rows("live_gpu", gpus=1)
        self.harmed = 0

    def tell(self, **result):
        with open(self.options.out / "live.jsonl", "a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
        print(result, flush=True)

    def cli(self, *arguments):
        return subprocess.run([str(word) for word in (self.options.synctrace, *arguments)], capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def window(self, pid, trace, *arguments, level="timeline"):
        return self.cli("start", pid, "-o", trace, "-f", "-q", "--report=none", "--no-symbols", "--level", level, *arguments)

    def summary(self, trace):
        done = self.cli("report", "--format", "json", "--no-symbols", trace)
        if done.returncode != 0:
            return {"unreadable": done.stderr[-300:]}
        report = json.loads(done.stdout)["processes"][0]
        kernels = sum(row.get("count", row.get("launches", 0)) for row in report["top_kernels"])
        return {"verdict": report["verdict"], "kernels": kernels, "ms": round(report["process"]["recorded_ns"] / 1e6), "losses": report["losses"],
                "steps": (report["steps"] or {}).get("count")}

    def cycle(self, kind, matrix=None):
        count = self.options.cycles
        program = Program(kind, count * 0.25 + 10, self.options.synctrace, matrix)
        program.ready.wait(LIMIT_S if matrix is None else AT_ONCE)
        pid = program.pid
        trace, first_trace = (self.options.out / f"{kind}{name}.synctrace" for name in ("", ".first"))
        done, times, memory, first = 0, [], [], {}
        for number in range(count):
            begin = time.monotonic()
            is_long = number in (0, count - 1)
            answer = self.window(pid, trace if number else first_trace, "--duration", "300ms" if is_long else "20ms")
            if answer.returncode != 0:
                self.tell(part="cycles", kind=kind, number=number, error=answer.stderr[-300:])
                break
            done += 1
            if number == 0:
                first = self.summary(first_trace)
            elif number < count - 1:
                trace.unlink()
            if not is_long:
                times.append(1000 * (time.monotonic() - begin))
                memory.append(memory_kib(pid))
        last = self.summary(trace)
        fault = program.fault()
        grown = memory[-1] - memory[len(memory) // 4] if len(memory) > 4 else None
        self.tell(part="cycles", kind=kind, cycles=done, fault=fault, ms=round(statistics.median(times)) if times else None, grown_kib=grown, first=first,
                  last=last)
        return bool(fault), done, count

    def cycles(self):
        jobs = [(kind, None) for kind in self.kinds] + [(kind, self.options.matrix) for kind in MATRIX if self.options.matrix]
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as threads:
            results = list(threads.map(lambda job: self.cycle(*job), jobs))
        self.harmed += sum(fault for fault, _, _ in results)
        self.rows.add_of("unharmed", f"programs that ended as they should behind {self.options.cycles} windows each", sum(not fault for fault, _, _ in results), len(results))
        self.rows.add_of("unharmed", "windows of these that were recorded", sum(done for _, done, _ in results), sum(count for _, _, count in results))

    def told(self):
        good = count = 0
        for kind in TOLD:
            program = Program(kind, TOLD_WINDOWS * 3, self.options.synctrace)
            program.ready.wait(LIMIT_S)
            for number in range(TOLD_WINDOWS):
                trace, level = self.options.out / "told.synctrace", ("timeline", "syncs")[number // 2 % 2]
                self.window(program.pid, trace, "--duration", "400ms", level=level)
                calls = re.findall(r"^(?:call|launch) .*api=(\d+) correlation=(\d+)", self.cli("dump", trace).stdout, re.MULTILINE)
                waits = sum(api in WAITS for api, _ in calls)
                expected = 400_000 / statistics.median(program.steps_us(0, 1 << 63))
                is_good = waits >= 0.6 * expected - 1 and len({one for _, one in calls}) == len(calls)
                good, count = good + is_good, count + 1
                if not is_good:
                    self.tell(part="told", kind=kind, number=number, level=level, calls=len(calls), waits=waits, expected=expected)
            os.kill(program.pid, signal.SIGKILL)
            program.process.wait()
        self.rows.add_of("unharmed", "windows of loops of waits and of launches that have all calls", good, count)

    def left(self):
        ratios = {}
        for _ in range(self.options.rounds):
            for kind in self.kinds:
                for level in ("none", "syncs", "timeline"):
                    ratio = self.left_by(kind, level)
                    if ratio:
                        ratios.setdefault((kind, level), []).append(ratio)
        for (kind, level), values in ratios.items():
            column = "no window" if level == "none" else f"level {level}"
            self.rows.add("left", f"{kind}: {column}", f"{statistics.median(values):.3f}", n=len(values))

    def left_by(self, kind, level):
        program = Program(kind, 2 * LEFT_S + 3, self.options.synctrace)
        program.ready.wait(LIMIT_S)
        pid = program.pid
        time.sleep(0.5)
        before = (time.monotonic_ns(), time.monotonic_ns() + int(LEFT_S * 1e9))
        time.sleep(LEFT_S)
        if level != "none":
            answer = self.window(pid, self.options.out / "left.synctrace", "--duration", "1s", level=level)
            if answer.returncode != 0:
                self.tell(part="left", kind=kind, level=level, error=answer.stderr[-300:])
        time.sleep(0.3)
        begin = time.monotonic_ns()
        fault = program.fault()
        self.harmed += bool(fault)
        steps = [statistics.median(program.steps_us(*span) or [0]) for span in (before, (begin, begin + int(LEFT_S * 1e9)))]
        ratio = round(steps[1] / steps[0], 4) if all(steps) else None
        self.tell(part="left", kind=kind, level=level, fault=fault, steps_us=steps, ratio=ratio)
        return ratio

    def attach_one(self, number, kind, wait_s):
        program = Program(kind, 2.5)
        if number % 2:
            program.ready.wait(LIMIT_S)
        time.sleep(wait_s)
        answer = self.cli("attach", program.process.pid)
        told = answer.stderr
        recorded = False
        if answer.returncode == 0:
            window = self.window(program.process.pid, self.options.out / f"attached{number}.synctrace", "--duration", "100ms")
            recorded, told = window.returncode == 0, window.stderr
        fault = program.fault()
        if fault:
            self.tell(part="attach", number=number, fault=fault)
        return {"attached": answer.returncode == 0, "recorded": recorded, "harmed": bool(fault), "reason": "" if recorded else re.sub(r"\d+", "N", told)[:200]}

    def attach(self):
        kinds = ["eager", "jax", "graph"]
        jobs = [(number, kinds[number % len(kinds)], self.rng.uniform(0, 2)) for number in range(self.options.attaches)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as threads:
            results = list(threads.map(lambda job: self.attach_one(*job), jobs))
        counts = {key: sum(result[key] for result in results) for key in ("attached", "recorded", "harmed")}
        self.harmed += counts["harmed"]
        self.tell(part="attach", counts=counts, reasons=dict(collections.Counter(result["reason"] for result in results if result["reason"])))
        self.rows.add_of("unharmed", "programs that ended as they do alone", len(jobs) - counts["harmed"], len(jobs))
        self.rows.add_of("unharmed", "programs that were attached to and recorded", counts["recorded"], len(jobs))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="cycles,told,left,attach")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--matrix", type=pathlib.Path)
    parser.add_argument("--attaches", type=int, default=50)
    parser.add_argument("--kinds", default="eager,read,graph,jax")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace, options.out = options.synctrace.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    live = Live(options)
    for part in options.only.split(","):
        getattr(live, part)()
    return 1 if live.harmed else 0


if __name__ == "__main__":
    sys.exit(main())
