# SPDX-License-Identifier: Apache-2.0
"""`synctrace run` as a parent: whatever signal it gets goes to the program or is survived, the terminal stops and continues
both, no program is left behind, and its status comes through limits, closed streams and folders without /proc."""
import fcntl
import os
import pathlib
import resource
import select
import shutil
import signal
import stat
import sys
import tempfile
import termios

import harness

# Blocks all signals, says its pid, then what it gets; SIGTERM ends it with 7.
LISTENER = """
import os, signal, sys
wanted = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print(os.getpid(), flush=True)
while True:
    got = signal.sigwaitinfo(wanted)
    print(int(got.si_signo), flush=True)
    if got.si_signo == signal.SIGTERM:
        sys.exit(7)
"""

# The default action of these is to end or to stop the process; a fault of its own would never be forwarded.
ENDING = [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGILL, signal.SIGTRAP, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE,
          signal.SIGUSR1, signal.SIGSEGV, signal.SIGUSR2, signal.SIGPIPE, signal.SIGALRM, signal.SIGSTKFLT, signal.SIGXCPU, signal.SIGXFSZ,
          signal.SIGVTALRM, signal.SIGPROF, signal.SIGIO, signal.SIGPWR, signal.SIGSYS, signal.SIGRTMIN, signal.SIGRTMIN + 7, signal.SIGRTMAX]


def state_of(pid):
    """The letter of a process: R, S, T...; "" when there is no such process."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text[text.rindex(")") + 2]


def default_signals():
    """A preexec_fn: what Python ignores is as a shell leaves it."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)


class ParentCase(harness.CliTest):
    def listen(self, *command, **options):
        command = command or (sys.executable, "-c", LISTENER)
        process = self.start(harness.SYNCTRACE, "run", "-q", "--", *command, **{"preexec_fn": default_signals, **options})
        program = int(process.stdout.readline())
        self.addCleanup(self.kill, program)
        return process, program

    @staticmethod
    def kill(pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def finish(self, process):
        """Ends the listener; returns what it said until then."""
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=harness.PATIENCE_S)[0]
        self.assertEqual(process.returncode, 7)
        return said.splitlines()

    def await_state(self, pid, *letters):
        """Waits for the fact itself, which /proc alone tells; the test's time limit is the one of this wait."""
        while state_of(pid) not in letters:
            os.sched_yield()


class Signals(ParentCase):
    def test_every_signal_that_ends_a_process_reaches_the_program_once(self):
        process, _ = self.listen()
        for number in ENDING:
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), f"{int(number)}\n")
        self.assertEqual(self.finish(process), ["15"])

    def test_a_value_comes_along(self):
        program = ("import ctypes, signal\nwanted = {signal.SIGRTMIN + 3}\nsignal.pthread_sigmask(signal.SIG_BLOCK, wanted)\n"
                   "print(__import__('os').getpid(), flush=True)\ninfo = (ctypes.c_byte * 128)()\nmask = (ctypes.c_byte * 128)()\n"
                   "libc = ctypes.CDLL(None)\nlibc.sigemptyset(mask)\nlibc.sigaddset(mask, signal.SIGRTMIN + 3)\n"
                   "libc.sigwaitinfo(mask, info)\nprint(int.from_bytes(bytes(info[24:28]), 'little', signed=True))\n")
        process, _ = self.listen(sys.executable, "-c", program)
        import ctypes
        ctypes.CDLL(None).sigqueue(process.pid, signal.SIGRTMIN + 3, ctypes.c_void_p(4711))
        self.assertEqual(process.communicate(timeout=harness.PATIENCE_S)[0], "4711\n")
        self.assertEqual(process.returncode, 0)

    def test_an_alarm_set_before_the_start(self):
        def set_alarm():
            default_signals()
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})  # whenever it comes, the program finds it
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        process, _ = self.listen(preexec_fn=set_alarm)
        self.assertEqual(process.stdout.readline(), f"{int(signal.SIGALRM)}\n")
        self.assertEqual(self.finish(process), ["15"])

    def test_a_program_that_a_signal_kills(self):
        for number in [signal.SIGALRM, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGVTALRM, signal.SIGRTMIN]:
            with self.subTest(number):
                process, program = self.listen("sh", "-c", "ulimit -c 0; echo $$; exec sleep 1000")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=harness.PATIENCE_S), -number)
                self.assertEqual(state_of(program), "")

    def test_no_orphan_when_killed(self):
        process, program = self.listen()
        process.kill()
        process.wait()
        self.await_state(program, "", "Z")  # whoever takes its place as the parent may be slow to collect it

    def test_signals_of_one_process_group_come_once(self):
        control, terminal = os.openpty()
        self.addCleanup(os.close, control)
        process, _ = self.listen(stdin=terminal, start_new_session=True, preexec_fn=take_terminal)
        os.close(terminal)
        for key, number in [(b"\x03", signal.SIGINT), (b"\x1c", signal.SIGQUIT), (b"\x1a", signal.SIGTSTP)]:
            os.write(control, key)
            self.assertEqual(process.stdout.readline(), f"{int(number)}\n")
        self.assertEqual(self.finish(process), ["15"])


class Shell:
    """A shell that controls jobs, on a terminal of its own, driven line by line."""

    def __init__(self, case):
        self.case = case
        self.control, terminal = os.openpty()
        case.addCleanup(os.close, self.control)
        attributes = termios.tcgetattr(terminal)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(terminal, termios.TCSANOW, attributes)
        self.process = case.start("bash", "--norc", "--noprofile", "--noediting", "-i", stdin=terminal, stdout=terminal, stderr=terminal,
                                  start_new_session=True, preexec_fn=take_terminal, env={"PS1": "", "HISTFILE": None})
        os.close(terminal)
        self.said = ""

    def type(self, text):
        os.write(self.control, text.encode())

    def read_until(self, words):
        """What the terminal showed up to and with `words`."""
        while words not in self.said:
            ready, _, _ = select.select([self.control], [], [], harness.PATIENCE_S)
            self.case.assertTrue(ready, f"no {words!r} in:\n{self.said}")
            self.said += os.read(self.control, 65536).decode(errors="replace")
        end = self.said.index(words) + len(words)
        shown, self.said = self.said[:end], self.said[end:]
        return shown


class JobControl(ParentCase):
    # A traceback quotes the handler's line when Control-C comes inside it, so what is printed does not stand in that line.
    CONTINUED = f"got {int(signal.SIGCONT)}"
    PROGRAM = ("import os, signal, sys\nsignal.signal(signal.SIGCONT, lambda number, _: print('got', int(number), flush=True))\n"
               "print('pids', os.getppid(), os.getpid(), 'end', flush=True)\nwhile True:\n    signal.pause()\n")

    def start_job(self, program):
        if shutil.which("bash") is None:
            self.skipTest("no bash here")
        (self.folder / "job.py").write_text(program)
        shell = Shell(self)
        shell.type(f"{harness.SYNCTRACE} run -q -- {sys.executable} job.py\n")
        shell.read_until("pids ")
        run, program_pid = (int(word) for word in shell.read_until(" end").split()[:2])
        self.addCleanup(self.kill, program_pid)
        return shell, run, program_pid

    def test_control_z_stops_both_and_fg_continues_both(self):
        shell, run, program = self.start_job(self.PROGRAM)
        for _ in range(3):
            shell.type("\x1a")
            shell.read_until("Stopped")  # the shell has its terminal back
            self.assertEqual((state_of(run), state_of(program)), ("T", "T"))
            shell.type("fg\n")
            shell.read_until(self.CONTINUED)
            self.await_state(run, "S", "R")
            self.await_state(program, "S", "R")
        shell.type("\x03")
        shell.type("echo status=$?\n")
        shown = shell.read_until("status=130")
        self.assertNotIn(self.CONTINUED, shown)

    def test_a_program_that_stops_itself(self):
        shell, run, program = self.start_job(
            "import os, signal\n"
            "def tidy_up(*_):\n    print('tidy', flush=True)\n    os.kill(os.getpid(), signal.SIGSTOP)\n    print('back', flush=True)\n"
            "signal.signal(signal.SIGTSTP, tidy_up)\nprint('pids', os.getppid(), os.getpid(), 'end', flush=True)\n"
            "while True:\n    signal.pause()\n")
        shell.type("\x1a")
        shell.read_until("tidy")
        shell.read_until("Stopped")
        self.assertEqual((state_of(run), state_of(program)), ("T", "T"))
        shell.type("fg\n")
        shell.read_until("back")
        shell.type("\x03")
        shell.type("echo status=$?\n")
        shell.read_until("status=1")  # a KeyboardInterrupt that Python tells in its own way

    def test_stopped_and_continued_by_its_pid_alone(self):
        shell, run, program = self.start_job(self.PROGRAM)
        os.kill(run, signal.SIGTSTP)
        self.await_state(program, "T")
        self.await_state(run, "T")
        os.kill(run, signal.SIGCONT)
        shell.read_until(self.CONTINUED)
        self.await_state(run, "S", "R")
        os.kill(run, signal.SIGTERM)
        self.await_state(program, "", "Z")

    def test_without_a_shell_nothing_is_left_stopped(self):
        """Who stops a program of a batch job by its pid continues it by its pid: `run` must not wait to be told as well."""
        process, program = self.listen(start_new_session=True)
        os.kill(program, signal.SIGSTOP)
        self.await_state(program, "T")
        os.kill(program, signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), f"{int(signal.SIGCONT)}\n")
        self.assertEqual(self.finish(process), ["15"])


class Streams(ParentCase):
    def test_closed_streams_and_broken_pipes(self):
        """Each of the three, closed and as a pipe whose other end is gone: the program starts, and its status is kept."""
        marker = self.folder / "started"
        for stream in (0, 1, 2):
            for way in ("closed", "pipe"):
                with self.subTest(stream=stream, way=way):
                    marker.unlink(missing_ok=True)
                    done = self.run_cli("run", *harness.SIMULATED, "--", "sh", "-c", "touch started; exit 37", stdin=None,
                                        preexec_fn=lambda: spoil(stream, way))
                    self.assertEqual(done.returncode, 37)
                    self.assertTrue(marker.exists())

    def test_the_programs_signals_are_as_they_were(self):
        """What `run` ignores for itself is not ignored in the program: it still dies of its own broken pipe."""
        show = ["sh", "-c", "grep SigIgn /proc/self/status"]
        recorded = self.run_cli("run", "-q", "--", *show, preexec_fn=default_signals)
        self.assert_unharmed(recorded, *show, preexec_fn=default_signals)
        done = self.run_cli("run", "-q", "--", "sh", "-c", "yes", preexec_fn=lambda: spoil(1, "pipe"))
        self.assertIn(done.returncode, (-signal.SIGPIPE, 128 + signal.SIGPIPE, 1), done.stderr)

    def test_a_broken_stderr_does_not_end_the_recorded_program(self):
        """A line of the recorder's own, written by a thread of the program, to a pipe that nobody reads."""
        for env in ({"SYNCTRACE_CUPTI_PATH": "/nowhere"}, {"CUDA_LAUNCH_BLOCKING": "1"}):
            with self.subTest(env=env):
                done = self.preload(harness.program("threads64"), 1, 1, env=env, preexec_fn=lambda: spoil(2, "pipe"))
                self.assertEqual(done.returncode, 0)


class FileSizeLimit(ParentCase):
    """`ulimit -f`: whatever is too large for it is a loss of ours."""

    def limited(self, limit, **more):
        def set_limit():
            default_signals()
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        return {"preexec_fn": set_limit, **more}

    def test_status_at_every_limit(self):
        """Beyond the least limits the trace itself fits, but not what `run` adds to it: the names, or the compressed copy."""
        plain = ("--quiet", "--report=none", "--no-compress", "--no-symbols")
        self.assertEqual(self.record(harness.program("strict"), "none", options=plain).returncode, 5)
        size = self.trace.stat().st_size
        for limit in (0, 100, 4096, 1 << 16, size + 2048, size + 3072, size + 4096):
            with self.subTest(limit=limit, size=size):
                done = self.record(harness.program("strict"), "none", options=["-f"], **self.limited(limit))
                self.assertEqual((done.returncode, done.stdout), (5, "none\n"), done.stderr)

    def test_the_report_tells_what_was_lost(self):
        done = self.record(harness.program("strict"), "none", options=["--no-compress", "-q"], **self.limited(1 << 14))
        self.assertEqual((done.returncode, done.stdout), (5, "none\n"), done.stderr)
        self.assert_one_line(done.stderr, "cannot write", "File too large")
        self.assertLessEqual(self.trace.stat().st_size, 1 << 14)
        self.assertIn("file-error", [loss["name"] for loss in self.report()["losses"]])

    def test_threads_of_the_program_write_nothing_too_large(self):
        """The trace of a recorder that gives up is written by a thread of the program, and so are the recorder's lines."""
        (self.folder / "libcupti.so.13").write_text("no library")
        for plain in ("0", "1"):
            with self.subTest(plain_syscalls=plain), open(self.folder / "words", "wb") as words:
                words.write(b"x" * 100)
                words.flush()
                env = {"LD_PRELOAD": harness.LIBRARY, **harness.SIMULATED_ENV, "SYNCTRACE_OUTPUT": self.folder / "trace",
                       "SYNCTRACE_FORCE_OVERWRITE": "1", "SYNCTRACE_CUPTI_PATH": self.folder / "libcupti.so.13", "SYNCTRACE_PLAIN_SYSCALLS": plain}
                done = self.start(harness.program("strict"), "none", env=env, stderr=words, **self.limited(100))
                self.assertEqual(done.communicate(timeout=harness.PATIENCE_S)[0], "none\n")
                self.assertEqual(done.returncode, 5)


class WithoutProc(ParentCase):
    def test_a_chroot_without_proc(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("a chroot needs root and unshare")
        root = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-root-"))
        self.addCleanup(root.rmdir)
        # A bind that is not recursive has none of what is mounted below.
        enter = f"mount --bind / {root} && chroot {root} sh -c 'cd {self.folder} && test ! -e /proc/self && exec \"$@\"' sh \"$@\""
        if self.run_program("unshare", "-m", "sh", "-c", enter, "sh", "true").returncode != 0:
            self.skipTest("no mounts may be made here, or the test's folder lies on another file system")
        within = ["unshare", "-m", "sh", "-c", enter, "sh"]
        alone = self.run_program(*within, harness.program("strict"), "none", env=harness.SIMULATED_ENV)
        self.assertEqual(alone.returncode, 5, alone.stderr)
        done = self.run_program(*within, harness.SYNCTRACE, "run", *harness.SIMULATED, "-o", "trace", "--", harness.program("strict"), "none")
        self.assertEqual((done.returncode, done.stdout), (5, "none\n"), done.stderr)
        self.assertTrue(self.report()["apis"])
        done = self.run_program(*within, harness.SYNCTRACE, "run", "-q", "--", "sh", "-c", "kill -ALRM $$")
        self.assertIn(done.returncode, (-signal.SIGALRM, 128 + signal.SIGALRM), done.stderr)


class OtherParents(ParentCase):
    def test_a_probe_ends_with_doctor(self):
        """A library that cannot be loaded to its end: it is a pipe, which tells when nobody waits for it any more."""
        library = self.folder / "libcupti.so.13"
        os.mkfifo(library)
        doctor = self.start(harness.SYNCTRACE, "doctor", env={"SYNCTRACE_CUPTI_PATH": library})
        with open(library, "wb") as pipe:  # the probe is there
            doctor.send_signal(signal.SIGTERM)
            self.assertEqual(doctor.wait(timeout=harness.PATIENCE_S), -signal.SIGTERM)
            ends = select.poll()
            ends.register(pipe, 0)
            self.assertEqual([event for _, event in ends.poll(harness.PATIENCE_S * 1000)], [select.POLLERR])

    def test_curl_ends_with_push(self):
        """A server that never answers; what `push` has started ends with it, however it ends."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number):
                self.run_push(number)

    def run_push(self, number):
        data = self.folder / "data"
        if not data.exists():
            done = self.record(harness.program("threads64"), 1, 1, options=["--quiet", "--report=none"])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.run_cli("rollup", self.trace, "-o", data).returncode, 0)
        pipe = self.folder / "pipe"
        if not pipe.exists():
            os.mkfifo(pipe)
            curl = self.folder / "curl"
            curl.write_text("#!/bin/sh\necho $$ > pipe\nexec sleep 1000\n")
            curl.chmod(curl.stat().st_mode | stat.S_IXUSR)
        process = self.start(harness.SYNCTRACE, "push", data, "--clickhouse", "http://localhost:1", env={"PATH": f"{self.folder}:{os.environ['PATH']}"})
        with open(pipe, encoding="ascii") as words:
            curl = int(words.read())
        self.addCleanup(self.kill, curl)
        process.send_signal(number)
        self.assertEqual(process.wait(timeout=harness.PATIENCE_S), -number)
        self.await_state(curl, "", "Z")


def spoil(stream, way):
    """In the child, before the program: the stream is closed, or a pipe whose other end is."""
    default_signals()
    if way == "closed":
        os.close(stream)
        return
    ends = os.pipe()
    ours, theirs = (0, 1) if stream == 0 else (1, 0)
    os.dup2(ends[ours], stream)
    for end in ends:
        if end != stream:
            os.close(end)


def take_terminal():
    """Makes stdin the controlling terminal of the new session."""
    default_signals()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    harness.main()
