# SPDX-License-Identifier: Apache-2.0
"""What the tests of dormant programs share: one that waits at a call until it is told to go on (SIMGPU_HOLD), and what is
said to it, by the command line and at its socket."""
import contextlib
import os
import pathlib
import socket
import subprocess
import time

import harness
from survival_case import SurvivalCase

NO_STEP = -1
# Steps of 5 ms, each in a range, with 4 kernels and one wait; without an end.
ENDLESS = ("windows", 1_000_000, NO_STEP, NO_STEP)
KERNELS_OF_A_STEP = 4


class LiveCase(SurvivalCase):
    def setUp(self):
        super().setUp()
        self.runtime = self.folder / "run"
        self.runtime.mkdir(mode=0o700)
        before = os.environ.get("XDG_RUNTIME_DIR")
        os.environ["XDG_RUNTIME_DIR"] = str(self.runtime)
        self.addCleanup(self.restore_runtime_folder, before)

    @staticmethod
    def restore_runtime_folder(before):
        if before is None:
            del os.environ["XDG_RUNTIME_DIR"]
        else:
            os.environ["XDG_RUNTIME_DIR"] = before

    def until(self, condition, what):
        """The condition's first answer that is true."""
        deadline = time.monotonic() + harness.PATIENCE_S
        while time.monotonic() < deadline:
            if answer := condition():
                return answer
            time.sleep(0.005)
        return self.fail(f"it never came: {what}")

    def start_dormant(self, name, *arguments, hold=None, env=None, options=("-o", "trace"), **more):
        """Starts a program of ours by `synctrace run --dormant`. Returns the command and the program's number, once it can be
        asked. `hold`, "function:n", stops it at that call until go()."""
        env = dict(env or {})
        if hold is not None:
            env["SIMGPU_HOLD"] = f"{hold}:{self.folder / 'go'}"
        process = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "--dormant", "--quiet", *options, "--",
                             harness.program(name), *arguments, env=env, **more)
        pid = self.until(lambda: self.child_of(process.pid) or process.poll() is not None and self.fail(process.stderr.read()), "a program")
        self.addCleanup(self.kill, pid)
        self.await_listener(process, pid)
        if hold is not None:
            self.until(lambda: (self.folder / "go.held").exists() or process.poll() is not None, "the call that is held")
        return process, pid

    @staticmethod
    def child_of(pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
            return int((children.read().split() or ["0"])[0])

    def await_listener(self, process, pid):
        """Until it answers, and its other thread has come so far as to have a name."""
        self.until(lambda: self.state(pid) == "dormant" and "synctrace" in self.threads(pid) or process.poll() is not None, f"an answer of {pid}")
        self.assertIsNone(process.poll(), "it ended before it could be asked")

    @staticmethod
    def kill(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)

    def go(self):
        (self.folder / "go").touch()

    def finish(self, process):
        """What the program printed, and how it ended."""
        stdout, stderr = process.communicate(timeout=harness.PATIENCE_S)
        return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)

    def socket_of(self, pid):
        return self.runtime / "synctrace" / f"{pid}.sock"

    def ask(self, pid, request="verb status\n"):
        """The answer at the socket as a dictionary; None where nobody answers."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(harness.PATIENCE_S)
            try:
                client.connect(str(self.socket_of(pid)))
                client.sendall(request.encode())
                client.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: client.recv(4096), b""))
            except OSError:
                return None
        return dict(line.split(" ", 1) for line in answer.decode().splitlines())

    def state(self, pid):
        return (self.ask(pid) or {}).get("state")

    def run_cli(self, *arguments, **options):
        """Windows of these tests are of GPU work, too, unless they say otherwise."""
        words = [str(word) for word in arguments]
        if words[0] == "start" and not any(word.startswith("--level") for word in words):
            words.append("--level=timeline")
        return super().run_cli(*words, **options)

    def cli(self, *words):
        """A command that works; what it printed."""
        done = self.run_cli(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def window(self, pid, *options):
        """One window as a user records it; stderr has its report."""
        return self.cli("start", pid, *options)

    def assert_forgotten(self, pid):
        """What is left of a killed program is gone once somebody looks. Others may wait on this machine."""
        self.assertNotIn(f" {pid} ", self.cli("ps").stdout)
        self.assertFalse(self.socket_of(pid).exists())

    @staticmethod
    def threads(pid):
        """The names of a process's threads that have not ended."""
        names = []
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                names.append((task / "comm").read_text().strip())
        return sorted(names)

    @staticmethod
    def descriptors(pid):
        """The program sees these: their numbers and kinds."""
        folder = f"/proc/{pid}/fd"
        return {number: os.readlink(f"{folder}/{number}").split(":")[0] for number in os.listdir(folder)}

    def await_sleep(self, pid, before):
        """The recorder's threads are two again, as many as `before`."""
        self.until(lambda: self.threads(pid) == before, f"the threads {before}")

    def assert_complete(self, trace):
        """The trace of a window is closed, whole, and reports by itself: idle time is explained to the last nanosecond."""
        records = self.dump(trace)
        self.assertEqual(records.facts["live_window"], "1")
        report = self.report(trace)
        self.assertNotIn("unclean-end", [loss["name"] for loss in report["losses"]])
        for device in report["devices"]:
            self.assertEqual(sum(cause["idle_ns"] for cause in device["causes"]), device["idle_ns"])
        return records, report
