# SPDX-License-Identifier: Apache-2.0
"""Windows of programs that run (run --dormant, start, stop, attach), on a real GPU.

  live.py --synctrace BIN --out OUT [--only cycles,left,attach] [--cycles 200] [--attaches 50] [--kinds eager,read,graph,jax] [--record FOLDER]

cycles: windows opened and closed again and again in each kind of live_program.py; the program ends as it should, the last window
  says what the first said, memory stays, two threads of ours stay.
left: what a closed window leaves behind: the median step of the seconds before the first window and of those behind each.
attach: programs that were not prepared, attached to at random moments, recorded once.
Exit status: 0 when no program was harmed. OUT/live.jsonl has each result.
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
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PROGRAM = HERE / "live_program.py"
LIMIT_S = 120


class Program:
    """One of live_program.py; what it prints is read as it comes."""

    def __init__(self, kind, seconds, synctrace=None):
        command = [sys.executable, PROGRAM, kind, str(seconds)]
        if synctrace:
            command = [synctrace, "run", "--dormant", "-q", "--", *command]
        environment = {**os.environ, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        self.process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
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


def threads_of_ours(pid):
    names = [(task / "comm").read_text().strip() for task in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return sum(name.startswith("synctrace") for name in names)


class Live:
    def __init__(self, options):
        self.options = options
        self.rng = random.Random(1)
        self.rows = measured_rows.Rows("live", gpus=1)
        self.harmed = 0

    def tell(self, **result):
        with open(self.options.out / "live.jsonl", "a", encoding="utf-8") as out:
            out.write(json.dumps(result) + "\n")
        print(result, flush=True)

    def cli(self, *arguments):
        return subprocess.run([str(word) for word in (self.options.synctrace, *arguments)], capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def window(self, pid, trace, *arguments):
        return self.cli("start", pid, "-o", trace, "-f", "-q", "--report=none", "--no-symbols", *arguments)

    def summary(self, trace):
        done = self.cli("report", "--format", "json", "--no-symbols", trace)
        if done.returncode != 0:
            return {"unreadable": done.stderr[-300:]}
        report = json.loads(done.stdout)["processes"][0]
        kernels = sum(row.get("count", row.get("launches", 0)) for row in report["top_kernels"])
        return {"verdict": report["verdict"], "kernels": kernels, "ms": round(report["process"]["recorded_ns"] / 1e6), "losses": report["losses"],
                "steps": (report["steps"] or {}).get("count")}

    def cycles(self, kind):
        count = self.options.cycles
        program = Program(kind, count * 0.5 + 20, self.options.synctrace)
        program.ready.wait(LIMIT_S)
        pid = program.pid
        trace = self.options.out / f"{kind}.synctrace"
        done, times, after_few, first = 0, [], 0, {}
        for number in range(count):
            begin = time.monotonic()
            answer = self.window(pid, self.options.out / f"{kind}.first.synctrace" if number == 0 else trace, "--duration",
                                 "300ms" if number in (0, count - 1) else "20ms")
            if answer.returncode != 0:
                self.tell(part="cycles", kind=kind, number=number, error=answer.stderr[-300:])
                break
            times.append(1000 * (time.monotonic() - begin))
            done += 1
            if number == 0:
                first = self.summary(self.options.out / f"{kind}.first.synctrace")
            if number == min(20, count - 1):
                after_few = memory_kib(pid)
            if number > 0 and number < count - 1:
                for old in self.options.out.glob(f"{kind}.*synctrace"):
                    if "first" not in old.name:
                        old.unlink()
        alive = program.process.poll() is None
        grown = memory_kib(pid) - after_few if alive else None
        ours = threads_of_ours(pid) if alive else None
        last = max(self.options.out.glob(f"{kind}*synctrace"), key=lambda path: path.stat().st_mtime, default=None)
        fault = program.fault()
        self.harmed += bool(fault)
        self.tell(part="cycles", kind=kind, cycles=done, fault=fault, ms=round(statistics.median(times)) if times else None, grown_kib=grown,
                  threads_of_ours=ours, first=first, last=self.summary(last) if last else {})
        self.rows.add_of("cycles", f"windows of {kind} behind which the program goes on", done if not fault else 0, count)

    def left(self, kind):
        """Seconds before any window, then windows and the seconds behind each."""
        program = Program(kind, 24, self.options.synctrace)
        program.ready.wait(LIMIT_S)
        pid = program.pid
        marks = [time.monotonic_ns()]
        time.sleep(6)
        marks.append(time.monotonic_ns())
        behind = []
        for _ in range(3):
            answer = self.window(pid, self.options.out / "left.synctrace", "--duration", "1s")
            if answer.returncode != 0:
                self.tell(part="left", kind=kind, error=answer.stderr[-300:])
            begin = time.monotonic_ns()
            time.sleep(3.5)
            behind.append((begin, time.monotonic_ns()))
        fault = program.fault()
        self.harmed += bool(fault)
        before = statistics.median(program.steps_us(*marks) or [0])
        after = [statistics.median(program.steps_us(*span) or [0]) for span in behind]
        self.tell(part="left", kind=kind, fault=fault, before_us=before, behind_us=after, ratios=[round(each / before, 4) for each in after] if before else None)
        if before:
            self.rows.add("left", f"step behind a closed window beside before it: {kind}", f"{statistics.median(after) / before:.3f}", n=len(after))

    def attach(self):
        counts = {"attached": 0, "recorded": 0, "refused": 0, "harmed": 0}
        reasons = {}
        kinds = ["eager", "jax", "graph"]
        for number in range(self.options.attaches):
            program = Program(kinds[number % len(kinds)], 2.5)
            if number % 2:
                program.ready.wait(LIMIT_S)
            time.sleep(self.rng.uniform(0, 2))
            answer = self.cli("attach", program.process.pid)
            if answer.returncode == 0:
                counts["attached"] += 1
                recorded = self.window(program.process.pid, self.options.out / "attached.synctrace", "--duration", "100ms")
                counts["recorded"] += recorded.returncode == 0
                if recorded.returncode != 0:
                    reasons[recorded.stderr[-200:]] = reasons.get(recorded.stderr[-200:], 0) + 1
            else:
                counts["refused"] += 1
                reason = re.sub(r"\d+", "N", answer.stderr)[:200]
                reasons[reason] = reasons.get(reason, 0) + 1
            fault = program.fault()
            counts["harmed"] += bool(fault)
            if fault:
                self.tell(part="attach", number=number, fault=fault)
        self.harmed += counts["harmed"]
        self.tell(part="attach", counts=counts, reasons=reasons)
        self.rows.add_of("attach", "programs attached to that ended as they should", self.options.attaches - counts["harmed"], self.options.attaches)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="cycles,left,attach")
    parser.add_argument("--cycles", type=int, default=200)
    parser.add_argument("--attaches", type=int, default=50)
    parser.add_argument("--kinds", default="eager,read,graph,jax")
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace, options.out = options.synctrace.resolve(), options.out.resolve()
    options.out.mkdir(parents=True, exist_ok=True)
    live = Live(options)
    for part in options.only.split(","):
        if part == "attach":
            live.attach()
            continue
        for kind in options.kinds.split(","):
            getattr(live, part)(kind)
    return 1 if live.harmed else 0


if __name__ == "__main__":
    sys.exit(main())
