# SPDX-License-Identifier: Apache-2.0
"""Dormant programs and their windows when things go wrong: every kind of end, full disks, no CUPTI, killed commands, hostile
clients. The program is unharmed, and whoever asked is told why."""
import os
import pathlib
import random
import resource
import shutil
import signal
import socket
import subprocess
import time

import harness
from live_case import ENDLESS, LiveCase
from survival_case import without_core_dump
from survival_exits import ORDERLY, SUDDEN, THREADED

HOSTILE_MESSAGES = int(os.environ.get("LIVE_MESSAGES", "500"))
NO_PROCESS = 999_999_000  # larger than the kernel's largest
END_MOMENTS_MS = [0, 1, 2, 3, 4, 4.2, 5, 6, 8, 10, 15, 30]


def small_files_only():
    """A preexec_fn: writes beyond 64 KiB of a file fail, as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))


class Ends(LiveCase):
    def forget_run(self):
        self.forget_traces()
        for name in ("go", "go.held"):
            (self.folder / name).unlink(missing_ok=True)

    def test_each_kind_of_end_with_a_window_open(self):
        for way in [*ORDERLY, *SUDDEN, THREADED]:
            with self.subTest(way=way):
                self.forget_run()
                alone = self.alone(harness.program("exit_paths"), way, preexec_fn=without_core_dump)
                process, pid = self.start_dormant("exit_paths", way, hold="cudaMalloc:1", preexec_fn=without_core_dump)
                self.cli("start", pid)
                self.go()
                self.assert_same(self.finish(process), alone)
                trace = self.only_trace()
                calls = len(self.dump(trace).calls("cudaStreamSynchronize"))
                if way in SUDDEN:
                    continue
                self.assertEqual(trace.suffix, ".synctrace", "closed in order")
                self.assertGreaterEqual(calls, 40 if way == THREADED else 20)
                self.assertFalse(self.socket_of(pid).exists())
                self.assertEqual(self.dump(trace).of("end")[0]["reason"], "exit")

    def test_main_leaves_by_pthread_exit_while_nothing_is_recorded(self):
        alone = self.alone(harness.program("exit_paths"), "pthread_exit")
        process, pid = self.start_dormant("exit_paths", "pthread_exit", hold="cudaMalloc:1")
        self.go()
        self.assert_same(self.finish(process), alone)
        self.assertFalse(self.socket_of(pid).exists())

    def end_beside(self, request, after_ms):
        """The program ends so long after the request was sent. Returns the trace, or none."""
        alone = self.alone(harness.program("exit_paths"), "return")
        self.forget_run()
        process, pid = self.start_dormant("exit_paths", "return", hold="cudaMemcpy:1")
        if "stop" in request:
            self.cli("start", pid)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(self.socket_of(pid)))
            client.sendall(request.encode())
            client.shutdown(socket.SHUT_WR)
            sent = time.monotonic()
            self.until(lambda: time.monotonic() - sent >= after_ms / 1000, "the moment, which is what is tested")
            self.go()
            self.assert_same(self.finish(process), alone)
        self.assertFalse(self.socket_of(pid).exists())
        return next(iter(self.traces()), None)

    def test_ends_at_each_moment_of_a_windows_beginning_and_end(self):
        """Nothing hangs, and the trace is closed: whole, or none."""
        for request in ("verb start\n", "verb stop\n"):
            for after_ms in END_MOMENTS_MS:
                with self.subTest(request=request, after_ms=after_ms):
                    trace = self.end_beside(request, after_ms)
                    self.assertTrue(trace is not None or "start" in request)
                    if trace is not None:
                        self.assertNotIn("unclean-end", [loss["name"] for loss in self.report(trace)["losses"]])

    def test_killed_in_a_window(self):
        process, pid = self.start_dormant(*ENDLESS)
        client = self.start(harness.SYNCTRACE, "start", pid, "--level=timeline", "--duration", "10m")
        self.until(lambda: self.state(pid) == "recording" and self.traces(), "the window")
        first = time.monotonic()
        self.until(lambda: time.monotonic() - first > 0.6, "half a second that is on the disk")
        self.kill(pid)
        self.assertEqual(process.wait(), -9)
        told = self.finish(client)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn("unclean-end", [loss["name"] for loss in self.report(self.only_trace())["losses"]])
        self.assert_forgotten(pid)

    def test_a_command_that_is_killed_ends_no_window_and_hinders_none(self):
        process, pid = self.start_dormant(*ENDLESS)
        sleeping = self.threads(pid)
        client = self.start(harness.SYNCTRACE, "start", pid, "--level=timeline", "--duration", "500ms")
        self.until(lambda: self.state(pid) == "recording", "the window")
        client.kill()
        client.wait()
        self.until(lambda: self.state(pid) == "dormant", "its end")
        self.assert_complete(self.only_trace())
        self.await_sleep(pid, sleeping)
        self.window(pid, "--duration", "50ms", "-o", "next")
        self.assertIsNone(process.poll())

    def test_children_and_successors(self):
        """A child that forks is silent, one that is started is dormant itself, and so is what exec makes of a program."""
        for name, arguments, hold in (("fork_with_cuda", (6,), "cudaStreamSynchronize:10"), ("many_children", (5, 2), "cudaStreamSynchronize:5"),
                                      ("exec_self", (), "cudaStreamSynchronize:5")):
            with self.subTest(name):
                self.forget_run()
                alone = self.alone(harness.program(name), *arguments)
                process, pid = self.start_dormant(name, *arguments, hold=hold)
                self.cli("start", pid)
                self.go()
                self.assert_same(self.finish(process), alone)
                trace = self.only_trace()
                losses = [loss["name"] for loss in self.report(trace)["losses"]]
                self.assertEqual("unclean-end" in losses, name == "exec_self")
                self.assertEqual(list((self.runtime / "synctrace").iterdir()), [])


class Refused(LiveCase):
    def start_preloaded(self, *command, env, **more):
        """Without `synctrace run`, which refuses before it starts what cannot work."""
        process = self.start(harness.program(command[0]), *command[1:], env={
            "LD_PRELOAD": harness.LIBRARY, **harness.SIMULATED_ENV, "SYNCTRACE_QUIET": "1", "SYNCTRACE_DORMANT": "1",
            "SYNCTRACE_OUTPUT": self.folder / "trace", **env}, **more)
        self.await_listener(process, process.pid)
        return process, process.pid

    def check(self, *words, env, file_too=False):
        """The client gets the reason, twice; the program says nothing, goes on, and keeps its two sleeping threads."""
        command = [harness.program("windows"), 200, 10, 19]
        simulated = {name: value for name, value in env.items() if name.startswith(("SIMGPU_", "LD_LIBRARY_PATH"))}
        alone = self.alone(*command, env=simulated)
        hold = {"SIMGPU_HOLD": f"cudaStreamSynchronize:5:{self.folder / 'go'}"}
        process, pid = self.start_preloaded("windows", 200, 10, 19, env={**env, **hold})
        self.until((self.folder / "go.held").exists, "the call that is held")
        sleeping = self.threads(pid)
        for _ in range(2):
            refused = self.run_cli("start", pid, "--duration", "100ms")
            self.assertEqual(refused.returncode, 3, refused.stderr)
            self.assert_one_line(refused.stderr, f"process {pid}: ", *words)
            self.assertEqual(len(refused.stderr.splitlines()), 1, refused.stderr)
            self.await_sleep(pid, sleeping)
            self.assertEqual(self.state(pid), "dormant")
            self.assertEqual(self.traces(), [])
        self.go()
        done = self.finish(process)
        self.assert_same(done, alone)
        self.assertEqual(self.our_lines(done.stderr), [])

    def test_another_tool_holds_cupti(self):
        self.check("CUPTI is in use by other tool", env={"SIMGPU_SUBSCRIBER_TAKEN": "other tool"})

    def test_no_cupti(self):
        self.check("no libcupti found at /nowhere/libcupti.so", env={"SYNCTRACE_CUPTI_PATH": "/nowhere/libcupti.so"})

    def test_cupti_that_is_another_library(self):
        library = pathlib.Path(harness.SIMGPU) / "libcudart.so.13"
        self.check(f"{library} is not a usable CUPTI library", env={"SYNCTRACE_CUPTI_PATH": library})

    def test_cupti_of_an_unknown_version(self):
        library = pathlib.Path(harness.SIMGPU) / "libcupti.so.13"
        self.check("is CUPTI 9, which this version does not know", env={"SYNCTRACE_CUPTI_PATH": library, "SIMGPU_CUPTI_VERSION": "9"})

    def test_a_folder_that_cannot_be_written(self):
        folder = self.folder / "closed"
        folder.mkdir(mode=0o555)
        if os.geteuid() == 0:
            folder = pathlib.Path("/sys")  # root may write anywhere but where the kernel says no
        self.check("cannot create", str(folder), env={"SYNCTRACE_OUTPUT": folder / "trace"})

    def test_a_folder_that_has_gone(self):
        place = self.folder / "windows"
        place.mkdir()
        process, pid = self.start_dormant(*ENDLESS, options=["-o", "windows/trace"])
        shutil.rmtree(place)
        place.write_text("a file\n")
        refused = self.run_cli("start", pid, "--duration", "100ms")
        self.assertEqual(refused.returncode, 3)
        self.assert_one_line(refused.stderr, f"process {pid}: cannot create {place}")
        place.unlink()
        self.window(pid, "--duration", "100ms")
        self.assertIsNone(process.poll())

    def test_an_output_that_exists(self):
        _, pid = self.start_dormant(*ENDLESS)
        (self.folder / "mine.synctrace").write_text("mine\n")
        refused = self.run_cli("start", pid, "-o", "mine", "--duration", "100ms")
        self.assertEqual(refused.returncode, 2)
        self.assert_one_line(refused.stderr, "mine.synctrace exists already", "--force-overwrite")
        # One that comes between the look and the window.
        self.ask(pid, f"verb start\nduration_ns 1\noutput {self.folder}/mine\n")
        self.until(lambda: self.state(pid) == "dormant", "the end of the window")
        self.assertEqual((self.folder / "mine.synctrace").read_text(), "mine\n")

    def test_a_full_disk(self):
        process, pid = self.start_preloaded("launch_many", 400_000, env={
            "SIMGPU_HOLD": f"cudaStreamSynchronize:1:{self.folder / 'go'}"}, preexec_fn=small_files_only)
        client = self.start(harness.SYNCTRACE, "start", pid, "--level=timeline", "--duration", "10m", "--no-symbols")
        self.until(lambda: self.state(pid) == "recording", "the window")
        self.go()
        told = self.finish(client)
        self.assertIn("trace.synctrace", told.stderr)
        self.assertNotEqual(self.report(self.only_trace())["losses"], [])
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, "launches 400001\n"))
        self.assertEqual(len(self.our_lines(done.stderr)), 1, done.stderr)
        self.assertIn("cannot write", self.our_lines(done.stderr)[0])


class Clients(LiveCase):
    def connect(self, pid):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.connect(str(self.socket_of(pid)))
        return client

    def test_hostile_messages(self):
        """Windows come and go beside them; in the end the program has done what it does alone."""
        process, pid = self.start_dormant("churn", self.folder / "end")
        moments = random.Random(61)
        verbs = [b"verb status\n", b"verb stop\n", b"verb start\nduration_ns 20000000\noutput /proc/nowhere/x\n", b"verb start\nlevel none\n",
                 b"verb start\nduration_ns 20000000\nmax_size 99999999999999999999\n", b"verb start\nduration_ns -1\n",
                 b"verb start\noutput x\n", b"verb start\noutput /" + b"x" * 5000 + b"\n", b"verb " + b"\0" * 100, b"verb start\nduration_ns 10000000\n"]
        for _ in range(HOSTILE_MESSAGES):
            client = socket.socket(socket.AF_UNIX)
            try:
                client.connect(str(self.socket_of(pid)))
                message = moments.choice(verbs) if moments.random() < 0.3 else moments.randbytes(moments.randrange(20_000))
                client.sendall(message)
                if moments.random() < 0.5:
                    client.shutdown(socket.SHUT_WR)
                    client.recv(4096)
            except OSError:
                pass
            finally:
                client.close()
            self.assertIsNone(process.poll())
        self.until(lambda: self.state(pid) == "dormant", "the end of the last window")
        (self.folder / "end").touch()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "0 errors\n", ""))
        self.assertGreater(len(self.traces()), 0)
        for trace in self.traces():
            self.assertEqual(trace.suffix, ".synctrace")
            self.report(trace)

    def test_silent_clients_hold_up_nobody_for_long(self):
        _, pid = self.start_dormant(*ENDLESS)
        silent = [self.connect(pid) for _ in range(5)]
        self.assertEqual(self.ask(pid)["state"], "dormant")
        self.assertEqual(len(silent), 5)

    def test_a_program_that_is_stopped_hangs_no_command(self):
        """Not even when its socket takes nobody any more."""
        _, pid = self.start_dormant(*ENDLESS)
        os.kill(pid, signal.SIGSTOP)
        waiting = []
        try:
            for _ in range(100):
                client = socket.socket(socket.AF_UNIX)
                client.setblocking(False)
                waiting.append(client)
                client.connect(str(self.socket_of(pid)))
        except BlockingIOError:
            pass
        self.assertIn("no answer", self.assert_one_line(self.cli("ps").stdout, str(pid)))
        self.assertIn("no answer", self.cli("status", pid).stdout)
        refused = self.run_cli("start", pid)
        self.assertEqual(refused.returncode, 3)
        self.assert_one_line(refused.stderr, f"process {pid} did not answer")
        for client in waiting:
            client.close()
        os.kill(pid, signal.SIGCONT)
        self.until(lambda: self.state(pid) == "dormant", "an answer")

    def test_a_socket_whose_process_counts_elsewhere_is_left_alone(self):
        """That is so in a container with which the folder is shared; one at which nobody listens is what a killed program left."""
        (self.runtime / "synctrace").mkdir(mode=0o700)
        listening, left = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        for number, one in ((NO_PROCESS, listening), (NO_PROCESS + 1, left)):
            self.addCleanup(one.close)
            one.bind(str(self.socket_of(number)))
        listening.listen()
        self.assertIn("no answer", self.assert_one_line(self.cli("ps").stdout, str(NO_PROCESS)))
        self.assertTrue(self.socket_of(NO_PROCESS).exists())
        self.assertFalse(self.socket_of(NO_PROCESS + 1).exists())

    def test_another_user_gets_nothing(self):
        if os.geteuid() != 0:
            self.skipTest("nobody else can be played")
        _, pid = self.start_dormant(*ENDLESS)
        for path in (self.folder, self.runtime, self.runtime / "synctrace"):
            path.chmod(0o777)
        self.socket_of(pid).chmod(0o777)  # what keeps others out is open: the recorder looks itself
        request = "import socket, sys; c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1]); " \
                  "c.sendall(b'verb status\\n'); c.shutdown(1); print(len(c.recv(100)))"
        asked = subprocess.run(["/usr/bin/env", "python3", "-c", request, str(self.socket_of(pid))], user=65534, group=65534, extra_groups=[],
                               cwd="/", stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertNotRegex(asked.stdout, "[1-9]")
        self.assertEqual(self.state(pid), "dormant")


if __name__ == "__main__":
    harness.main()
