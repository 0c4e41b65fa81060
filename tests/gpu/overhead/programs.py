# SPDX-License-Identifier: Apache-2.0
"""Starts a program with a time limit and says when each of its lines came, how long it took and what memory it needed."""
import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Done:
    status: int = -1
    timed_out: bool = False
    wall_s: float = 0.0
    ended_s: float = 0.0  # CLOCK_MONOTONIC, as all moments here
    peak_kib: int = 0  # the largest of the processes that were waited for
    out: list = field(default_factory=list)  # (moment, line)
    err: list = field(default_factory=list)

    def why(self):
        """What a row says where a program failed; empty where it did not."""
        if self.timed_out:
            return f"longer than {self.wall_s:.0f} s"
        last = self.err[-1][1] if self.err else "it said nothing"
        return f"status {self.status}: {last[:300]}" if self.status != 0 else ""


def run(words, environment, limit_s, on_line=None, cwd=None):
    """`on_line` gets each line of stdout as it comes. At the limit the whole process group is killed."""
    done = Done()
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in words], env={**environment, "STARTED_NS": str(time.monotonic_ns())}, cwd=cwd,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                               start_new_session=True)

    def read(stream, lines, callback):
        for line in stream:
            lines.append((time.monotonic(), line.rstrip("\n")))
            if callback:
                callback(lines[-1][1])

    readers = [threading.Thread(target=read, args=each, daemon=True)
               for each in ((process.stdout, done.out, on_line), (process.stderr, done.err, None))]
    for reader in readers:
        reader.start()

    def kill():
        done.timed_out = True
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    timer = threading.Timer(max(1.0, limit_s), kill)
    timer.start()
    _, status, usage = os.wait4(process.pid, 0)
    done.ended_s = time.monotonic()
    timer.cancel()
    process.returncode = done.status = os.waitstatus_to_exitcode(status)
    done.wall_s = done.ended_s - start
    done.peak_kib = usage.ru_maxrss
    for reader, stream in zip(readers, (process.stdout, process.stderr)):
        reader.join(2)
        if not reader.is_alive():  # a daemon that the program left behind may hold the pipe
            stream.close()
    return done


def fresh(folder):
    """An empty folder of that name."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def bytes_in(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
