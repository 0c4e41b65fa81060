# SPDX-License-Identifier: Apache-2.0
"""What the tests of `synctrace try` share: programs whose figures do not depend on the machine, and a repository that must stay as it is."""
import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import uuid

import harness

STEP = "ms/step ([0-9.]+)"
NEVER_S = "86399"  # a sleep that only its end by somebody ends


class TryTest(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.mark = f"synctrace-try-test-{uuid.uuid4().hex}"
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        # What a test leaves running is known by the mark in its environment.
        self.env = {"TRY_MARK": self.mark, "TMPDIR": self.temporary, "GIT_CONFIG_NOSYSTEM": "1", "HOME": self.folder}

    def run_try(self, *arguments, env=None, where=None, **options):
        return self.run_program(harness.SYNCTRACE, "try", *arguments, env={**self.env, **(env or {})}, where=where, **options)

    def run_program(self, *command, where=None, **options):
        if where is None:
            return super().run_program(*command, **options)
        # harness runs everything in the test's folder.
        return super().run_program("env", "-C", where, *command, **options)

    def processes_left(self):
        """Folders of /proc."""
        found = []
        for process in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if process.name.isdigit() and int(process.name) != os.getpid() and self.mark.encode() in (process / "environ").read_bytes():
                    found.append(process)
        return found

    def left_running(self):
        found = []
        for process in self.processes_left():
            with contextlib.suppress(OSError):
                found.append((process / "cmdline").read_bytes())
        return found

    def assert_nothing_left(self):
        self.assertEqual(self.left_running(), [])
        self.assertEqual(sorted(self.temporary.iterdir()), [])


def step(figure):
    return f"echo ms/step {figure}"


class RepositoryTest(TryTest):
    """A repository whose program prints the figure that a file of it holds."""

    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        (self.tree / "sub").mkdir(parents=True)
        self.write("sub/train.sh", 'read figure < figure.txt; echo "ms/step $figure"\n')
        self.write("sub/figure.txt", "100\n")
        self.write("notes.txt", "a\nb\nc\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.commit("first")

    def git(self, *words):
        done = subprocess.run(["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *words], cwd=self.tree, check=True, text=True,
                              stdout=subprocess.PIPE, env=harness.environment(**self.env))
        return done.stdout

    def commit(self, message):
        self.git("commit", "-q", "-m", message)

    def write(self, path, text):
        (self.tree / path).write_text(text, encoding="utf-8")

    def patch(self, path, text, name="fix.diff"):
        """A file of the test's folder that changes `path` to `text`."""
        before = (self.tree / path).read_text(encoding="utf-8")
        self.write(path, text)
        (self.folder / name).write_text(self.git("diff", "--", path), encoding="utf-8")
        self.write(path, before)
        self.git("update-index", "--refresh")
        return self.folder / name

    def state(self):
        """Every file of the tree and of its .git, byte for byte."""
        digest = hashlib.sha256()
        for path in sorted(self.tree.rglob("*")):
            digest.update(str(path).encode() + b"\0" + (b"" if path.is_dir() else path.read_bytes()) + b"\0")
        return digest.hexdigest()

    def try_here(self, *arguments, status=0, where="sub", **options):
        """Runs `synctrace try` in the repository, which must stay as it is."""
        before = self.state()
        done = self.run_try(*arguments, where=self.tree / where, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertEqual(self.state(), before)
        self.assert_nothing_left()
        return done


def real_git():
    return shutil.which("git")
