# SPDX-License-Identifier: Apache-2.0
"""Windows of two ranks that run, on two GPUs: does one of them say what a recording of the whole job says?

  live_ranks.py --synctrace BIN --out OUT [--jobs ddp.host20,ddp.loader,fsdp.kernel] [--record FOLDER]

Each job of rank_programs.py is recorded as a whole. Then it runs dormant, and `synctrace start JOB` opens a window of two seconds at
level timeline and one at level syncs. Asked of the first: the late rank and the line are those of the whole recording. Asked of both: a
file for each rank, whose first records are at most 200 ms apart. Exit status: 0 when all of that is so and both ranks lived; 77 without two GPUs."""
import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import measured_rows  # noqa: E402

PROGRAM = HERE / "rank_programs.py"
LIMIT_S = 120
WARM_S = 6  # behind the first window's answer steps are even
TOGETHER_MS = 200


class Job:
    def __init__(self, options, name, port):
        self.options, self.name, self.port = options, name, port
        self.pattern, self.fault = name.split(".")

    def ranks(self, steps, *words):
        started = []
        for rank in range(2):
            environment = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=str(self.port),
                               TORCHELASTIC_RUN_ID=self.name)
            command = [self.options.synctrace, "run", "-q", *words, "--", sys.executable, "-B", PROGRAM, self.pattern, "record", self.fault, "--steps", steps]
            started.append(subprocess.Popen([str(word) for word in command], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                            start_new_session=True))
        return started

    def told(self, folder):
        """What the report of a folder says of the job."""
        done = subprocess.run([self.options.synctrace, "report", "--format", "json", folder], capture_output=True, text=True, timeout=LIMIT_S, check=True)
        job = json.loads(done.stdout).get("job") or {}  # level syncs has none
        cause = (job.get("causes") or [{}])[0]
        return {"verdict": job.get("verdict"), "late": job.get("late_rank"), "function": cause.get("function"), "kernel": cause.get("kernel")}

    def recorded(self):
        folder = self.options.out / f"{self.name}.whole"
        for rank in self.ranks(60, "--report=none", "-f", "-o", f"{folder}/rank%r"):
            rank.wait(timeout=LIMIT_S)
        return self.told(folder)

    def window(self, level):
        folder = self.options.out / f"{self.name}.{level}"
        done = subprocess.run([self.options.synctrace, "start", self.name, "--duration", "2s", "--level", level, "-o", f"{folder}/rank%r", "-f", "-q",
                               "--report=none"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-300:])
        begins = [self.begin_of(trace) for trace in sorted(folder.glob("*.synctrace"))]
        return {**self.told(folder), "files": len(begins), "apart_ms": round((max(begins) - min(begins)) / 1e6, 1)}

    def begin_of(self, trace):
        dump = subprocess.run([self.options.synctrace, "dump", trace], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout
        return min(map(int, re.findall(r"^(?:call|sample) thread=\d+ begin_ns=(\d+)", dump, re.MULTILINE)))

    def dormant(self):
        ranks = self.ranks(1_000_000, "--dormant")
        try:
            deadline = time.monotonic() + LIMIT_S
            while time.monotonic() < deadline:
                listed = subprocess.run([self.options.synctrace, "ps"], capture_output=True, text=True, timeout=LIMIT_S, check=False).stdout
                if listed.count(self.name) == 2:
                    break
                time.sleep(0.3)
            time.sleep(WARM_S)
            windows = {level: self.window(level) for level in ("syncs", "timeline")}
            return windows, all(rank.poll() is None for rank in ranks)
        finally:
            for rank in ranks:
                os.killpg(rank.pid, signal.SIGKILL)
                rank.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", default="ddp.host20,ddp.loader,fsdp.kernel")
    parser.add_argument("--port", type=int, default=29900)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace, options.out = options.synctrace.resolve(), options.out.resolve()
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.count("GPU ") < 2:
        print("there are not two GPUs here")
        return 77
    options.out.mkdir(parents=True, exist_ok=True)
    same = together = unharmed = 0
    names = options.jobs.split(",")
    for number, name in enumerate(names):
        job = Job(options, name, options.port + 2 * number)
        whole = job.recorded()
        job.port += 1
        windows, lived = job.dormant()
        print(json.dumps({"job": name, "whole": whole, **windows, "lived": lived}), flush=True)
        seen = windows["timeline"]
        same += all(seen[key] == whole[key] for key in ("verdict", "late", "function", "kernel"))
        together += all(one["files"] == 2 and one["apart_ms"] < TOGETHER_MS for one in windows.values())
        unharmed += lived
    rows = measured_rows.Rows("live_gpu", gpus=2)
    rows.add_of("ranks", "jobs whose window names the same rank and line", same, len(names))
    rows.add_of("ranks", "jobs whose ranks began windows of both levels within 200 ms", together, len(names))
    rows.add_of("ranks", "jobs that lived on", unharmed, len(names))
    return 0 if same == together == unharmed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
