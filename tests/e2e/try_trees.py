#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`synctrace try` with a patch or with commits: the user's tree stays byte for byte, whatever happens, and at whatever stage it is ended."""
import json
import os
import signal
import stat

import harness
from try_helpers import NEVER_S, STEP, RepositoryTest, real_git

TRAIN = ["--step", STEP, "--", "sh", "train.sh"]

# A git that stops before or after it does one thing, until it is ended.
STOPPING_GIT = """\
#!/bin/sh
case "$*" in
  *"$STOP_AT"*)
    [ "$STOP_WHEN" = after ] && "$REAL_GIT" "$@"
    echo here > "$STOP_PIPE"
    exec sleep {never}
    ;;
esac
exec "$REAL_GIT" "$@"
"""
STAGES = [("rev-parse --show-toplevel", "before"), ("rev-parse --verify", "after"), ("ls-tree", "before"), ("status --porcelain", "after"),
          ("diff --binary", "after"), ("worktree add", "before"), ("worktree add", "after"), ("apply", "before"), ("apply", "after")]


class States(RepositoryTest):
    def test_a_patch(self):
        patch = self.patch("sub/figure.txt", "90\n")
        done = self.try_here("--patch", patch, *TRAIN)
        self.assertIn("faster: 10.0 % less time", done.stdout)
        self.assertIn("(HEAD with fix.diff)", done.stdout)

    def test_a_patch_without_prefixes(self):
        patch = self.patch("sub/figure.txt", "90\n")
        patch.write_text(patch.read_text().replace("a/sub", "sub").replace("b/sub", "sub"))
        self.assertIn("faster", self.try_here("--patch", patch, *TRAIN).stdout)

    def test_two_commits(self):
        self.write("sub/figure.txt", "110\n")
        self.git("add", ".")
        self.commit("slower")
        self.assertIn("slower: 10.0 % more time", self.try_here("--ref", "HEAD~1", "--ref", "HEAD", *TRAIN, status=1).stdout)
        done = self.try_here("--ref", "HEAD~1", "--fail-if-slower", "2%", *TRAIN, status=1)
        self.assertIn("(HEAD~1)", done.stdout)
        self.try_here("--ref", "HEAD~1", "--fail-if-slower", "20%", *TRAIN)

    def test_one_commit_is_against_the_tree_as_it_stands(self):
        self.write("sub/figure.txt", "80\n")
        done = self.try_here("--ref", "HEAD", *TRAIN)
        self.assertIn("faster: 20.0 % less time", done.stdout)
        self.assert_one_line(done.stderr, "Uncommitted changes of 1 file are on the second side.")

    def test_a_patch_goes_onto_uncommitted_changes(self):
        patch = self.patch("notes.txt", "a\nb\nd\n")
        self.write("sub/figure.txt", "50\n")
        self.git("add", "sub/figure.txt")  # staged or not is the same
        self.write("sub/train.sh", 'read figure < figure.txt; tail -n 1 ../notes.txt; echo "ms/step $figure"\n')
        done = self.try_here("--patch", patch, "--format", "json", "--same", "^[cd]$", *TRAIN, status=1)
        result = json.loads(done.stdout)
        self.assertEqual((result["same"]["before"], result["same"]["after"]), ("c", "d"))
        self.assert_one_line(done.stderr, "Uncommitted changes of 2 files are on both sides.")

    def test_two_commits_leave_uncommitted_changes_out(self):
        self.write("sub/figure.txt", "50\n")
        done = self.try_here("--ref", "HEAD", "--ref", "HEAD", *TRAIN, status=1)
        self.assertIn("same within 1 %", done.stdout)
        self.assert_one_line(done.stderr, "Uncommitted changes of the working tree are on neither side.")
        self.assert_one_line(done.stderr, "Both sides are the same commit without a change")

    def test_uncommitted_changes_of_every_kind(self):
        """New files that are added, removed files, modes, binary files and names with blanks."""
        (self.tree / "data with blank.bin").write_bytes(bytes(range(256)))
        os.chmod(self.tree / "notes.txt", 0o755)
        self.git("add", ".")
        (self.tree / "sub" / "figure.txt").unlink()
        self.write("sub/train.sh", '[ -e figure.txt ] && echo ms/step 100 || echo ms/step $(($(wc -c < "../data with blank.bin") - 206)); [ -x ../notes.txt ]\n')
        self.assertIn("different", self.try_here("--ref", "HEAD", "--step", STEP, "--", "sh ../sub/train.sh; [ ! -x ../notes.txt ]", status=1).stdout)
        self.write("sub/train.sh", '[ -x ../notes.txt ] && echo ms/step $(($(wc -c < "../data with blank.bin") - 206))\n')
        self.assertIn("faster: 50.0 %", self.try_here("--ref", "HEAD", "--step", STEP, "--", "[ -e figure.txt ] && echo ms/step 100 || sh train.sh").stdout)

    def test_untracked_files_are_named(self):
        self.write("sub/new.txt", "x")
        done = self.try_here("--ref", "HEAD", *TRAIN, status=1)
        self.assert_one_line(done.stderr, "Untracked files are on neither side")

    def test_files_of_the_program_land_in_the_checkouts(self):
        patch = self.patch("sub/figure.txt", "90\n")
        self.write("sub/train.sh", 'read f < figure.txt; mkdir -p out; echo x >> out/checkpoint; rm -f ../notes.txt; echo "ms/step $f"\n')
        self.git("add", ".")
        self.commit("checkpoints")
        done = self.try_here("--patch", patch, *TRAIN)
        self.assertIn("Runs leave files in their checkout (sub/out/)", done.stdout)

    def test_a_run_that_lacks_a_file_is_told_why(self):
        self.write("sub/data.bin", "x")
        done = self.try_here("--ref", "HEAD", "--", "cat data.bin", status=3)
        self.assertIn("A checkout has the files that git tracks, and no others", done.stdout)
        self.assert_one_line(done.stderr, "No such file or directory")

    def test_it_runs_where_the_user_stands(self):
        self.write("sub/train.sh", "echo $PWD; pwd; echo ms/step 5\n")
        self.git("add", ".")
        self.commit("where")
        done = self.try_here("--ref", "HEAD", "--format", "json", "--same", "^(/.*)", *TRAIN, status=1)
        same = json.loads(done.stdout)["same"]
        self.assertTrue(same["before"].endswith("/a/sub") and same["after"].endswith("/b/sub"), same)

    def test_hooks_do_not_run_and_their_variables_do_no_harm(self):
        hook = self.tree / ".git" / "hooks" / "post-checkout"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {self.folder}/hook-ran\n")
        hook.chmod(0o755)
        env = {"GIT_DIR": self.tree / "nowhere", "GIT_INDEX_FILE": self.tree / "nowhere"}
        self.try_here("--ref", "HEAD", *TRAIN, status=1, env=env)
        self.assertFalse((self.folder / "hook-ran").exists())

    def test_names_in_the_users_tree_are_warned_of(self):
        done = self.try_here("--ref", "HEAD", "--step", STEP, "--", "sh", self.tree / "sub" / "train.sh", status=1)
        self.assert_one_line(done.stderr, "the command names files in", "same for both sides")
        done = self.try_here("--ref", "HEAD", *TRAIN, status=1, env={"PYTHONPATH": self.tree})
        self.assert_one_line(done.stderr, "PYTHONPATH names a folder in")


class Refusals(RepositoryTest):
    def refused(self, *arguments, **options):
        done = self.try_here(*arguments, status=2, **options)
        self.assertEqual(done.stdout, "")
        return done.stderr.splitlines()[-1]

    def test_a_patch_that_does_not_apply(self):
        patch = self.patch("sub/figure.txt", "90\n")
        self.write("sub/figure.txt", "70\n")
        self.git("add", ".")
        self.commit("other")
        self.assertIn("fix.diff does not apply to HEAD: patch failed: sub/figure.txt:1", self.refused("--patch", patch, *TRAIN))

    def test_a_patch_that_is_no_patch(self):
        (self.folder / "fix.diff").write_text("nothing\n")
        self.assertIn("fix.diff does not apply to HEAD: No valid patches in input", self.refused("--patch", self.folder / "fix.diff", *TRAIN))

    def test_a_patch_that_leads_out_of_the_tree(self):
        patch = self.folder / "fix.diff"
        patch.write_text("--- /dev/null\n+++ b/../../../outside.txt\n@@ -0,0 +1 @@\n+x\n")
        self.assertIn("does not apply", self.refused("--patch", patch, *TRAIN))

    def test_a_patch_that_the_tree_has(self):
        patch = self.patch("sub/figure.txt", "90\n")
        self.write("sub/figure.txt", "90\n")
        self.assertIn("is in the working tree already", self.refused("--patch", patch, *TRAIN))

    def test_no_such_commit(self):
        for ref in ("origin/main", "--upload-pack=x", "HEAD~9"):
            self.assertIn(f"--ref {ref}: there is no such commit here", self.refused(f"--ref={ref}", *TRAIN))

    def test_a_folder_that_the_other_commit_lacks(self):
        self.git("mv", "sub", "other")
        self.commit("moved")
        self.assertIn("the folder other is not in HEAD~1", self.refused("--ref", "HEAD~1", *TRAIN, where="other"))

    def test_a_submodule(self):
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(self.tree), "lib")
        self.commit("library")
        line = self.refused("--ref", "HEAD", *TRAIN)
        self.assertIn("has a submodule (lib)", line)
        self.assertIn("give two commands", line)

    def test_no_repository(self):
        done = self.run_try("--ref", "HEAD", *TRAIN, env={"GIT_CEILING_DIRECTORIES": self.folder.parent})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assert_one_line(done.stderr, "need a git repository")
        self.assert_nothing_left()

    def test_no_commit(self):
        empty = self.folder / "empty"
        empty.mkdir()
        self.run_program("git", "init", "-q", empty)
        done = self.run_try("--ref", "HEAD", *TRAIN, where=empty)
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "has no commit yet")

    def test_no_git(self):
        nothing = self.folder / "nothing"
        nothing.mkdir()
        done = self.run_try("--ref", "HEAD", *TRAIN, env={"PATH": nothing})
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assert_one_line(done.stderr, "need git, and there is none here")

    def test_no_room_for_a_checkout(self):
        done = self.run_try("--ref", "HEAD", *TRAIN, where=self.tree / "sub", env={"TMPDIR": self.folder / "none"})
        self.assertNotIn("none", done.stdout)  # another temporary folder serves


class Ends(RepositoryTest):
    def setUp(self):
        super().setUp()
        self.pipe = self.folder / "pipe"
        os.mkfifo(self.pipe)

    def end_at(self, which, *arguments, env=None):
        before = self.state()
        started = self.start("env", "-C", self.tree / "sub", harness.SYNCTRACE, "try", *arguments, env={**self.env, "STOP_PIPE": self.pipe, **(env or {})})
        with open(self.pipe, encoding="utf-8") as reader:
            reader.read()
        started.send_signal(which)
        out, err = started.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(started.returncode, -which, out + err)
        self.assertEqual(self.state(), before)
        self.assert_nothing_left()
        return out

    def test_while_git_works(self):
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        wrapper = bin_folder / "git"
        wrapper.write_text(STOPPING_GIT.format(never=NEVER_S))
        wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
        patch = self.patch("notes.txt", "a\nb\nd\n")
        self.write("sub/figure.txt", "50\n")
        for stage, when in STAGES:
            for which in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(stage=stage, when=when, signal=which.name):
                    env = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "REAL_GIT": real_git(), "STOP_AT": stage, "STOP_WHEN": when}
                    self.end_at(which, "--patch", patch, *TRAIN, env=env)

    def test_while_programs_run(self):
        patch = self.patch("sub/figure.txt", "90\n")
        runs = self.folder / "runs"
        for at in (1, 2, 3, 4, 5, 8):
            for which in (signal.SIGINT, signal.SIGHUP):
                with self.subTest(run=at, signal=which.name):
                    runs.write_text("")
                    # Figures that differ too much to be decided early.
                    run = (f"echo x >> {runs}; n=$(wc -l < {runs}); [ $n -ge {at} ] && {{ echo > {self.pipe}; sleep {NEVER_S} & exec sleep {NEVER_S}; }}; "
                           "echo ms/step $((n % 3 * 50 + 100))")
                    out = self.end_at(which, "--patch", patch, "--format", "json", "--step", STEP, "--", run)
                    result = json.loads(out)
                    self.assertEqual((result["end"], result["verdict"], len(result["pairs"])), ("interrupted", "undecided", max(0, (at - 3) // 2)))

    def test_what_a_killed_trial_left_goes_with_the_next(self):
        patch = self.patch("sub/figure.txt", "90\n")
        before = self.state()
        killed = self.start("env", "-C", self.tree / "sub", harness.SYNCTRACE, "try", "--patch", patch, "--",
                            f"echo > {self.pipe}; exec sleep {NEVER_S}", env=self.env)
        with open(self.pipe, encoding="utf-8") as reader:
            reader.read()
        killed.kill()
        killed.wait()
        for process in self.processes_left():  # a killed command leaves them so
            os.kill(int(process.name), signal.SIGKILL)
        self.assertEqual(len(list(self.temporary.iterdir())), 1)
        self.assertEqual(self.run_try("--patch", patch, *TRAIN, where=self.tree / "sub").returncode, 0)
        self.assertEqual(self.state(), before)
        self.assert_nothing_left()

    def test_a_hundred_runs_change_nothing(self):
        """One state for all of them: each begins as the one before has left the tree."""
        patch = self.patch("sub/figure.txt", "90\n")
        before = self.state()
        for _ in range(40):  # with the tests above more than a hundred
            self.assertEqual(self.run_try("--patch", patch, *TRAIN, where=self.tree / "sub").returncode, 0)
        self.assertEqual(self.state(), before)
        self.assert_nothing_left()


if __name__ == "__main__":
    harness.main()
