# SPDX-License-Identifier: Apache-2.0
"""The ranks of one job, started to load their libraries and held by a file until it is their turn: for four_ranks.py."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ERROR = re.compile(r"^(\[rank\d+\]: )?[\w.]*(Error|Exception)\b")
END_S = 5  # what is told to end has so long


class Group:
    """Processes of one job; their output is in FOLDER/NAME.RANK.txt, and traces in FOLDER/NAME."""

    def __init__(self, folder, name, words, port, gpus, recorder=None, neighbour=None):
        """recorder: the words before those of a program. neighbour: the words of a process that shares its GPU with the rank of that number, and that rank."""
        self.name, self.port, self.folder, self.gpus = name, port, folder, gpus
        self.turn, self.flag, self.traces = folder / f"{name}.turn", folder / f"{name}.flag", folder / name
        for old in (self.turn, self.flag, self.flag.with_suffix(".ready"), *folder.glob(f"{name}.*.loaded")):
            old.unlink(missing_ok=True)
        shutil.rmtree(self.traces, ignore_errors=True)
        if recorder:
            self.traces.mkdir(parents=True)
            words = [*recorder, "-o", f"{self.traces}/rank%r", "--", *words]
        self.outputs, self.loaded = [], []
        self.ranks = [self.start(rank, rank, words) for rank in range(len(gpus))]
        self.others = [self.start("neighbour", neighbour[1], neighbour[0])] if neighbour else []

    def start(self, label, rank, words):
        loaded = self.folder / f"{self.name}.{label}.loaded"
        self.loaded.append(loaded)
        environment = dict(os.environ, RANK_LOADED=str(loaded), RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(len(self.gpus)), MASTER_ADDR="127.0.0.1",
                           MASTER_PORT=str(self.port), RANK_TURN=str(self.turn), NEIGHBOUR=str(self.flag))
        if self.gpus[0] != 0:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, self.gpus))
        output = open(self.folder / f"{self.name}.{label}.txt", "w", encoding="utf-8")
        self.outputs.append(output)
        return subprocess.Popen([str(word) for word in words], env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                start_new_session=True)

    def is_loaded(self):
        """Whether each process waits for its turn, or one has ended before it."""
        return all(file.exists() for file in self.loaded) or any(process.poll() is not None for process in (*self.ranks, *self.others))

    def begin(self):
        self.turn.touch()

    def result(self, deadline):
        """The line of JSON of the first rank when each rank has printed one; an exception where a rank failed or is not done at the deadline."""
        while time.monotonic() < deadline:
            results = [self.said_by(output) for output in self.outputs[:len(self.ranks)]]
            if all(result is not None for result in results):
                return results[0]
            if any(process.poll() for process in (*self.ranks, *self.others)):
                break
            time.sleep(0.05)
        time.sleep(0.3)  # where several fail, the first one's reason is there
        problem = self.problem()
        self.stop()
        raise RuntimeError(problem)

    @staticmethod
    def said_by(output):
        lines = pathlib.Path(output.name).read_text(encoding="utf-8", errors="replace").splitlines()
        return next((json.loads(line) for line in lines if line.startswith("{") and line.endswith("}")), None)

    def problem(self):
        """The last line of each rank that failed, or of all where none ended."""
        found = []
        for process, output in zip((*self.ranks, *self.others), self.outputs):
            status, file = process.poll(), pathlib.Path(output.name)
            lines = [line for line in file.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
            last = ([line for line in lines if ERROR.match(line)] or lines or ["-"])[-1][:300]
            found.append((status, f"{file.stem}, {'not done' if status is None else f'status {status}'}: {last}"))
        return " / ".join(text for status, text in found if status) or " / ".join(text for _, text in found)

    def stop(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in (*self.ranks, *self.others):
                self.signal(process, number)
            until = time.monotonic() + END_S
            while any(process.poll() is None for process in (*self.ranks, *self.others)) and time.monotonic() < until:
                time.sleep(0.05)
        self.close()

    @staticmethod
    def signal(process, number):
        """Signals a process and all that it started."""
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            pass

    def stop_neighbour(self):
        for process in self.others:
            self.signal(process, signal.SIGKILL)
            process.wait()
        self.others.clear()

    def end(self, patience_s):
        """Waits for ranks that are done: they still write their traces. Says what failed in that, if anything did."""
        until = time.monotonic() + patience_s
        for process in self.ranks:
            try:
                process.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.signal(process, signal.SIGKILL)
                process.wait()
        self.stop_neighbour()
        self.close()
        return self.problem() if any(process.returncode for process in self.ranks) else None

    def close(self):
        for output in self.outputs:
            output.close()
        for file in (self.turn, *self.loaded):
            file.unlink(missing_ok=True)


def python(program, *words):
    return [sys.executable, "-B", str(program), *map(str, words)]
