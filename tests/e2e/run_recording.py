# SPDX-License-Identifier: Apache-2.0
"""What `synctrace run` leaves behind: which files, under which names, and what it says about them."""
import json
import re
import signal

import harness


class Recording(harness.CliTest):
    program = harness.program("exit_paths")
    arguments = ["return"]

    def run_here(self, *options, command=None, **more):
        return self.run_cli("run", *harness.SIMULATED, *options, "--", *(command or [self.program, *self.arguments]), **more)

    def last_line(self, done):
        line = done.stderr.splitlines()[-1]
        self.assertRegex(line, r"^synctrace: wrote .* \(.*simulated GPU.*\)\. Next: synctrace report ")
        return line

    def next_command(self, done):
        """What the last line says to type, typed."""
        command = self.last_line(done).split("Next: synctrace ")[1]
        return self.run_program("sh", "-c", f"{harness.SYNCTRACE} {command}")

    def test_default_name_and_last_line(self):
        done = self.run_here()
        self.assert_one_line(done.stderr, "synctrace: running on the simulated GPU")
        names = self.files()
        self.assertEqual(len(names), 1)
        self.assertRegex(names[0], r"^exit_paths\.\d+\.synctrace$")
        self.assertRegex(self.last_line(done), rf"wrote {re.escape(names[0])} \([\d.]+ (Ki)?B, simulated GPU\)")
        self.assertEqual(self.next_command(done).returncode, 0)

    def test_report_styles(self):
        texts = {}
        for style in ["none", "short", "full"]:
            done = self.run_here("-o", f"{style}/x", f"--report={style}")
            self.last_line(done)
            texts[style] = done.stderr.splitlines()[1:-1]  # between the first line and the last
        self.assertEqual(texts["none"], [])
        self.assertIn("More:", "\n".join(texts["short"]))  # ends each first screen, whatever the times were
        self.assertIn("cudaStreamSynchronize", "\n".join(texts["full"]))
        self.assertLess(len(texts["short"]), len(texts["full"]))

    def test_tables_at_the_end(self):
        done = self.run_here("--rollup", "fleet", "--commit", "abc", "--report=none")
        self.assertEqual(done.stderr.splitlines()[1:-1], ["synctrace rollup: tables of 1 recording are in fleet"])
        self.last_line(done)
        told = json.loads(self.run_cli("fleet", "report", "--format", "json", "fleet").stdout)
        self.assertEqual(told["recordings"], 1)
        files = sorted((self.folder / "fleet").rglob("*.parquet"))
        before = [file.read_bytes() for file in files]
        self.assertEqual(self.run_cli("rollup", "--commit", "abc", "-o", "fleet", *self.folder.glob("*.synctrace")).returncode, 0)
        self.assertEqual(sorted((self.folder / "fleet").rglob("*.parquet")), files)
        self.assertEqual([file.read_bytes() for file in files], before)

    def test_tables_that_cannot_be_written_change_nothing_else(self):
        (self.folder / "file").write_text("")
        done = self.run_here("--rollup", "file", "--report=none")
        self.assertEqual(done.returncode, self.run_here().returncode)
        self.assertRegex(done.stderr, r"\nsynctrace rollup: cannot make the folder file/\S+: Not a directory; choose another --output\.\n")
        self.last_line(done)

    def test_names_that_a_shell_would_take_apart(self):
        done = self.run_here("-o", "a $b 'c'")
        self.assertEqual(self.files(), ["a $b 'c'.synctrace"])
        self.assertEqual(self.next_command(done).returncode, 0, self.last_line(done))

    def test_patterns_are_expanded_by_the_process(self):
        self.run_here("-o", "deep/%e.%q{WHO}.%r", env={"WHO": "me/../you", "RANK": 0, "WORLD_SIZE": 2})
        self.assertEqual([entry.name for entry in (self.folder / "deep").iterdir()], ["exit_paths.me_.._you.0.synctrace"])

    def test_a_program_that_changes_its_folder(self):
        (self.folder / "elsewhere").mkdir()
        self.run_here("-o", "here", command=["sh", "-c", f"cd elsewhere && {self.program} return"])
        self.assertEqual(self.files(), ["here.synctrace"])

    def test_several_processes(self):
        run = f"{self.program} return"
        done = self.run_here("-o", "same", command=["sh", "-c", f"{run} & {run}; wait"])
        names = self.files()
        self.assertEqual(len(names), 2, names)
        self.assertTrue(all(name.startswith("same") and name.endswith(".synctrace") for name in names), names)
        self.assertIn("wrote 2 traces", self.last_line(done))
        self.assertEqual(self.next_command(done).returncode, 0)

    def test_force_overwrite_replaces(self):
        (self.folder / "x.synctrace").write_text("old")
        self.assertEqual(self.run_here("-o", "x", "-f").returncode, 3)
        self.assertEqual(self.files(), ["x.synctrace"])
        self.assertGreater(self.report(self.folder / "x.synctrace")["schema_version"], 0)

    def test_compressed_unless_told_otherwise(self):
        many = [harness.program("launch_many"), "20000"]
        self.run_here("-o", "raw", "--no-compress", "-q", command=many)
        self.run_here("-o", "packed", "-q", command=many)
        sizes = {name: (self.folder / name).stat().st_size for name in self.files()}
        self.assertLess(sizes["packed.synctrace"], sizes["raw.synctrace"] / 1.5, sizes)

    def test_a_killed_program_leaves_a_trace_under_its_final_name(self):
        done = self.run_here("-o", "x", command=["sh", "-c", f"{harness.program('endless')} | head -n 1 >/dev/null & "
                                                          f"wait; exit 5"])
        self.assertEqual(done.returncode, 5)
        self.assertEqual(self.files(), ["x.synctrace"])
        self.last_line(done)

    def test_a_killed_child_is_reported_as_cut_short(self):
        process = self.start(harness.SYNCTRACE, "run", *harness.SIMULATED, "-o", "x", "--", harness.program("endless"))
        self.assertNotEqual(process.stdout.readline(), "")
        process.send_signal(signal.SIGTERM)
        stderr = process.communicate(timeout=harness.PATIENCE_S)[1]
        self.assertEqual(process.returncode, -signal.SIGTERM)
        self.assertEqual(self.files(), ["x.synctrace"])
        self.assertIn("wrote x.synctrace", stderr.splitlines()[-1])

    def test_a_daemon_is_not_waited_for(self):
        (self.folder / "out").touch()
        start = f"{harness.program('endless')} >out 2>&1 & while ! [ -s out ]; do :; done; echo $!"
        done = self.run_here("-o", "x", command=["sh", "-c", start])
        daemon = int(done.stdout)
        self.addCleanup(self.kill_if_alive, daemon)
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "still writing", "x.synctrace.partial")
        self.assertNotIn("nothing was recorded", done.stderr)
        self.assertEqual(self.files(), ["out", "x.synctrace.partial"])

    @staticmethod
    def kill_if_alive(pid):
        try:
            harness.os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_quiet(self):
        done = self.run_here("-q", "-o", "x")
        self.assertEqual(done.stderr, "")
        self.assertEqual(self.files(), ["x.synctrace"])

    def test_quiet_still_warns(self):
        done = self.run_here("-q", "-o", "x%q{NO_SUCH_THING}")
        self.assert_one_line(done.stderr, "synctrace: NO_SUCH_THING is not set")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_verbose_tells_what_is_set_and_what_came_of_it(self):
        done = self.run_here("-v", "-o", "x", "--level=syncs", env={"SYNCTRACE_QUIET": "1", "LD_PRELOAD": "libc.so.6"})
        self.assertTrue(all(line.startswith("synctrace: ") for line in done.stderr.splitlines()[:4]), done.stderr)
        for words in ["recorder: /", "manifest: /", "environment: LD_PRELOAD=/", "environment: SYNCTRACE_LEVEL=syncs",
                      "environment: SYNCTRACE_MANIFEST=/", "x.synctrace: closed by its process", "compressed from"]:
            self.assert_one_line(done.stderr, "synctrace: ", words)
        self.assertNotIn("environment: PATH", done.stderr)
        self.last_line(done)

    def test_no_temporary_files_stay(self):
        (self.folder / "tmp").mkdir()
        self.run_here("-o", "x", env={"TMPDIR": self.folder / "tmp"})
        self.assertEqual(list((self.folder / "tmp").iterdir()), [])
        self.assertEqual(self.files(), ["x.synctrace"])


if __name__ == "__main__":
    harness.main()
