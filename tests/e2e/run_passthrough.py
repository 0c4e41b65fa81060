# SPDX-License-Identifier: Apache-2.0
"""`synctrace run` is invisible: streams, signals and the way of ending are the program's own."""
import os
import signal
import subprocess
import sys

import harness

# Announces its pid, then says what it got. It blocks in sigwait, so nothing depends on time.
LISTENER = """
import os, signal, sys
wanted = {signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGINT}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
print(os.getpid(), flush=True)
while True:
    got = signal.sigwait(wanted)
    print(got.name, flush=True)
    if got == signal.SIGTERM:
        sys.exit(7)
"""


class Passthrough(harness.CliTest):
    def test_exit_statuses(self):
        for status in [0, 1, 2, 3, 4, 42, 126, 127, 128, 130, 137, 200, 255]:
            with self.subTest(status=status):
                self.assertEqual(self.run_cli("run", "-q", "--", "sh", "-c", f"exit {status}").returncode, status)

    def test_deaths_by_signal(self):
        for number in [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM, signal.SIGINT, signal.SIGPIPE, signal.SIGALRM]:
            with self.subTest(signal=number.name):
                self.run_program("sh", "-c", f"kill -{int(number)} $$")
                dumps = len(self.files())  # where the system writes them here
                for name in self.files():
                    (self.folder / name).unlink()
                done = self.run_cli("run", "-q", "--", "sh", "-c", f"kill -{int(number)} $$")
                self.assertEqual(done.returncode, -number, "synctrace must end by the same signal")
                self.assertEqual(len(self.files()), dumps, "a core dump of synctrace itself")

    def test_a_shell_sees_the_death(self):
        done = self.run_program("sh", "-c", f"{harness.SYNCTRACE} run -q -- sh -c 'kill -TERM $$'; echo $?")
        self.assertEqual(done.stdout, "143\n")

    def test_programs_that_cannot_start(self):
        for name, status, words in [("no-such-program", 127, "command not found"), ("./no-such-program", 127, "command not found"),
                                    ("./data", 126, "Permission denied"), (".", 126, "Permission denied")]:
            (self.folder / "data").write_text("no program")
            with self.subTest(name=name):
                done = self.run_cli("run", "--", name)
                self.assertEqual(done.returncode, status)
                self.assertTrue(done.stderr.startswith(f"synctrace run: {name}: {words}; "), done.stderr)

    def test_a_program_of_this_folder_is_named(self):
        (self.folder / "train").write_text("#!/bin/sh\n")
        (self.folder / "train").chmod(0o755)
        done = self.run_cli("run", "--", "train")
        self.assertEqual((done.returncode, done.stderr),
                         (127, "synctrace run: train: command not found; the file of this folder is ./train\n"))

    def test_a_script_of_python_runs_and_the_verb_may_be_left_out(self):
        (self.folder / "train.py").write_text("import sys\nprint('hello', *sys.argv[1:])\n")
        for words in [("run", "-q", "--", "train.py", "--epochs", "3"), ("run", "-q", "--", "./train.py", "--epochs", "3"),
                      ("train.py", "--epochs", "3"), ("python3", "train.py", "--epochs", "3")]:
            with self.subTest(words=words):
                done = self.run_cli(*words)
                self.assertEqual((done.returncode, done.stdout), (0, "hello --epochs 3\n"), done.stderr)
        own = self.folder / "own.py"  # its first line says what runs it
        own.write_text("#!/bin/echo mine\n")
        own.chmod(0o755)
        self.assertEqual(self.run_cli("run", "-q", "--", "./own.py").stdout, "mine ./own.py\n")

    def test_streams_carry_any_bytes(self):
        data = os.urandom(1 << 20)
        done = self.run_cli("run", "-q", "--", "cat", input=data, text=False)
        self.assertEqual(done.stdout, data)
        self.assertEqual(done.stderr, b"")
        done = self.run_cli("run", "-q", "--", "sh", "-c", "cat >&2", input=data, text=False)
        self.assertEqual(done.stdout, b"")
        self.assertEqual(done.stderr, data)

    def test_nothing_of_ours_goes_to_stdout(self):
        self.assertEqual(self.run_cli("run", "--", "echo", "mine").stdout, "mine\n")

    def test_a_closed_stderr_changes_nothing(self):
        done = self.run_program("sh", "-c", f"{harness.SYNCTRACE} run -- sh -c 'exit 5' 2>&-; echo $?")
        self.assertEqual(done.stdout, "5\n")

    def test_descriptors_and_signal_settings_are_the_programs(self):
        show = [sys.executable, "-c",
                "import os,signal;print(sorted(os.listdir('/proc/self/fd')), signal.pthread_sigmask(signal.SIG_BLOCK, []), "
                "[s for s in range(1, 32) if signal.getsignal(s) == signal.SIG_IGN])"]
        recorded = self.run_cli("run", "-q", "--", *show)
        self.assert_unharmed(recorded, *show)
        ignoring = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # an odd parent; synctrace must still get the status
        recorded = self.run_cli("run", "-q", "--", "sh", "-c", "exit 9", preexec_fn=ignoring)
        self.assertEqual(recorded.returncode, 9)

    def test_the_process_group_is_shared(self):
        done = self.run_cli("run", "-q", "--", "sh", "-c", "ps -o pgid= -p $$; ps -o pgid= -p $PPID")
        if done.returncode == 127:
            self.skipTest("no ps here")
        groups = done.stdout.split()
        self.assertEqual(len(groups), 2)
        self.assertEqual(groups[0], groups[1])

    def listen(self, **options):
        process = self.start(harness.SYNCTRACE, "run", "-q", "--", sys.executable, "-c", LISTENER, **options)
        self.assertNotEqual(int(process.stdout.readline()), process.pid)
        return process

    def test_signals_sent_to_synctrace_reach_the_program_once(self):
        process = self.listen()
        for number in [signal.SIGUSR1, signal.SIGHUP, signal.SIGUSR2, signal.SIGQUIT, signal.SIGINT, signal.SIGUSR1]:
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), number.name + "\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=harness.PATIENCE_S)[0], "SIGTERM\n")
        self.assertEqual(process.returncode, 7)

    def test_control_c_on_a_terminal_reaches_the_program_once(self):
        control, terminal = os.openpty()
        self.addCleanup(os.close, control)
        process = self.listen(stdin=terminal, start_new_session=True, preexec_fn=take_terminal)
        os.close(terminal)
        os.write(control, b"\x03")
        self.assertEqual(process.stdout.readline(), "SIGINT\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.communicate(timeout=harness.PATIENCE_S)[0], "SIGTERM\n", "a second SIGINT came through")
        self.assertEqual(process.returncode, 7)

    def test_a_program_killed_by_a_forwarded_signal(self):
        process = self.start(harness.SYNCTRACE, "run", "-q", "--", "sh", "-c", "echo up; exec sleep 1000")
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=harness.PATIENCE_S), -signal.SIGTERM)


def take_terminal():
    """Makes stdin the controlling terminal of the new session."""
    import fcntl
    import termios
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


if __name__ == "__main__":
    harness.main()
