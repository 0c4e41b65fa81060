# SPDX-License-Identifier: Apache-2.0
"""Runs programs many times, some at a time, and says how each run ended: for soak.py, graph_matrix.py and cupti_pairs.py.

Each run has a folder of its own, a time limit for its whole process group, and core files where the kernel writes them.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402  (for those that include this)

CORE_LIMIT = 4 << 30
BACKTRACES = 12  # each takes many seconds
_backtraces_left = threading.BoundedSemaphore(BACKTRACES)


@dataclasses.dataclass
class Run:
    status: int  # negative: the signal
    hung: bool
    output: str
    errors: str
    seconds: float
    folder: pathlib.Path

    @property
    def crashed(self):
        return self.status < 0 and not self.hung

    @property
    def end(self):
        return "hang" if self.hung else signal.Signals(-self.status).name if self.status < 0 else f"status {self.status}"


def allow_cores():
    """Core files in the working folder where that can be had. Returns what stands in the way, or an empty text."""
    limit = min((l for l in (resource.getrlimit(resource.RLIMIT_CORE)[1], CORE_LIMIT) if l != resource.RLIM_INFINITY))
    resource.setrlimit(resource.RLIMIT_CORE, (limit, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    pattern = pathlib.Path("/proc/sys/kernel/core_pattern")
    try:
        if pattern.read_text().startswith(("|", "/")):
            pattern.write_text("core")
        if limit == 0:
            return "no core files: the hard limit is 0"
    except OSError as error:
        return f"no core files in the working folder: {pattern} has {pattern.read_text().strip()!r} ({error.strerror})"
    return ""


def execute(command, folder, limit_s, environment=None):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    begin = time.monotonic()
    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as errors:
        process = subprocess.Popen([str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                   env=environment, start_new_session=True)
        hung = False
        try:
            process.wait(timeout=limit_s)
        except subprocess.TimeoutExpired:
            hung = True
        end_group(process.pid)  # also what the program left behind
        process.wait()
    text = {name: (folder / name).read_text(errors="replace") for name in ("stdout", "stderr")}
    return Run(process.returncode, hung, text["stdout"], text["stderr"], time.monotonic() - begin, folder)


def end_group(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


def backtrace(program, folder):
    """The stacks of a core file in the folder, by cuda-gdb or gdb. The core files are gone afterwards: they are large."""
    cores = sorted(folder.rglob("core*"))
    debugger = shutil.which("cuda-gdb") or ("/usr/local/cuda/bin/cuda-gdb" if pathlib.Path("/usr/local/cuda/bin/cuda-gdb").exists() else shutil.which("gdb"))
    text = "(no core file)\n" if not cores else "(no debugger)\n"
    if cores and debugger:
        text = f"(not looked at: {BACKTRACES} were before)\n"
        if _backtraces_left.acquire(blocking=False):
            command = [debugger, "-batch", "-ex", "bt", "-ex", "info registers rip", "-ex", "thread apply all bt 12", os.path.realpath(program), cores[0]]
            try:
                done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
                text = "\n".join(line for line in done.stdout.splitlines() if not line.startswith("[New ")) + "\n" + done.stderr[-2000:]
            except subprocess.TimeoutExpired:
                text = "(the debugger took more than 60 s)\n"
    for core in cores:
        core.unlink(missing_ok=True)
    return text


class Log:
    """One text file that several threads add to."""

    def __init__(self, path):
        self.path, self.lock = path, threading.Lock()
        if path:
            path.parent.mkdir(parents=True, exist_ok=True)

    def add(self, title, *texts):
        if not self.path:
            return
        with self.lock, open(self.path, "a", encoding="utf-8") as file:
            file.write(f"==== {title}\n" + "".join(text if text.endswith("\n") else text + "\n" for text in texts if text))


def run_jobs(jobs, work, at_a_time, deadline):
    """Calls work(job) for each job, until the deadline (time.monotonic): a list of (job, result). The others are not begun."""
    waiting, lock = iter(jobs), threading.Lock()

    def next_job():
        with lock:
            return next(waiting, None) if time.monotonic() < deadline else None

    def work_off(results):
        while (job := next_job()) is not None:
            results.append((job, work(job)))

    results = []
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        for worker in [pool.submit(work_off, results) for _ in range(at_a_time)]:
            worker.result()
    return results


def environment_of(shared):
    """What keeps many frameworks on one GPU and few cores apart from each other, and away from a network."""
    folders = {name: str(shared / name.lower()) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR", "HF_HOME", "NUMBA_CACHE_DIR")}
    for folder in folders.values():
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    return {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "2", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false", "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **folders}


def markdown(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def traces_in(folder):
    return sorted(folder.rglob("*.synctrace")), sorted(folder.rglob("*.synctrace.partial"))


def readable(synctrace, trace):
    done = subprocess.run([synctrace, "report", "--format", "json", trace], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    return "" if done.returncode == 0 else f"report ends with {done.returncode}: {done.stderr.strip()[-300:]}"


def say(text):
    print(text, flush=True)

