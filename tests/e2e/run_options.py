# SPDX-License-Identifier: Apache-2.0
"""Wrong options are refused in one clear sentence before anything starts; right ones reach the program's environment."""
import harness

# What is given, and what the sentence must name: the option, the value, the way out.
WRONG = [
    (["--level", "waits"], ["--level=waits", "syncs or timeline"]),
    (["--delay", "soon"], ["--delay=soon", "500ms"]),
    (["--delay", "-1"], ["--delay", "500ms"]),
    (["--duration", "5 parsecs"], ["--duration=5 parsecs", "500ms"]),
    (["--capture-range", "kernel:foo"], ["--capture-range=kernel:foo", "cudaProfilerApi, nvtx:NAME or steps:A-B"]),
    (["--capture-range", "steps:9-3"], ["--capture-range=steps:9-3", "steps:A-B"]),
    (["--only-windows"], ["--only-windows", "--delay, --duration, --capture-range or --duty"]),
    (["--only-windows", "--delay", "1", "--level", "syncs"], ["--only-windows", "--level=syncs"]),
    (["--only-windows", "--delay", "1", "--gate"], ["--only-windows", "--gate"]),
    (["--duty", "60s/10s"], ["--duty=60s/10s", "10s/60s"]),
    (["--max-size", "lots"], ["--max-size=lots", "2G"]),
    (["--buffer-size", "1k"], ["--buffer-size=1k", "from 4M to 4G"]),
    (["--cupti", "/no/such/libcupti.so"], ["--cupti=/no/such/libcupti.so", "existing"]),
    (["--report", "long"], ["--report=long", "short, full or none"]),
    (["--step-line", "train.py"], ["--step-line", "train.py", "FILE:LINE"]),
    (["--phase", "0"], ["--phase", "0", "1"]),
    (["--step-marker", ""], ["--step-marker=", "NVTX range"]),
    (["--output", ""], ["--output", "empty"]),
    (["--output", "a.%z"], ["'%z'", "position 3", "%q{NAME}"]),
    (["--output", "100%"], ["'%'", "position 4"]),
    (["--output", "a.%q{X"], ["position 3", "%q{NAME}"]),
    (["--output", "x" * 5000], ["too long"]),
    (["--leevl", "syncs"], ["--leevl", "--level"]),
    (["--sim"], ["--sim", "did you mean --simgpu?"]),
    (["--out=x"], ["--out", "did you mean --output?"]),
    (["--frobnicate"], ["--frobnicate", "--help"]),
]


class Options(harness.CliTest):
    def refused(self, *arguments, env=None):
        done = self.run_cli("run", *arguments, env=env)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("synctrace run: "), done.stderr)
        self.assertEqual(self.files(), [], "something was started")
        return done.stderr

    def test_wrong_values(self):
        for options, parts in WRONG:
            with self.subTest(options=options):
                sentence = self.refused(*options, "--", "touch", "started")
                for part in parts:
                    self.assertIn(part, sentence)

    def test_a_missing_value_or_program(self):
        self.assertIn("--output", self.refused("--output"))
        self.assertIn("PROGRAM", self.refused())
        self.assertIn("PROGRAM", self.refused("--level", "syncs", "--"))

    def test_wrong_variables_are_refused_like_options(self):
        for variable, value in [("SYNCTRACE_LEVEL", "waits"), ("SYNCTRACE_DELAY", "soon"), ("SYNCTRACE_QUIET", "yes"),
                                ("SYNCTRACE_OUTPUT", "a.%z")]:
            with self.subTest(variable=variable):
                self.assertIn(value[-2:], self.refused("--", "touch", "started", env={variable: value}))

    def test_an_option_wins_over_its_variable(self):
        show = ["sh", "-c", "echo $SYNCTRACE_LEVEL $SYNCTRACE_DELAY"]
        done = self.run_cli("run", "--level", "syncs", "--", *show, env={"SYNCTRACE_LEVEL": "waits", "SYNCTRACE_DELAY": "2s"})
        self.assertEqual(done.stdout, "syncs 2s\n", done.stderr)

    def test_options_behind_the_program_are_the_programs(self):
        for separator in [["--"], []]:
            done = self.run_cli("run", *separator, "echo", "--level", "x", "--", "-q", "--help")
            self.assertEqual(done.stdout, "--level x -- -q --help\n", done.stderr)

    def test_a_bare_separator_means_run(self):
        self.assertEqual(self.run_cli("--", "echo", "hello").stdout, "hello\n")

    def test_an_existing_trace_is_kept(self):
        old = self.folder / "old.synctrace"
        old.write_text("precious")
        for name in ["old", "old.synctrace", str(old)]:
            done = self.run_cli("run", "-o", name, "--", "touch", "started")
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("--force-overwrite", done.stderr)
        self.assertEqual(self.files(), ["old.synctrace"])
        self.assertEqual(self.run_cli("run", "-o", "old", "-f", "--", "true").returncode, 0)
        self.assertEqual(old.read_text(), "precious", "nothing was recorded, so nothing is replaced")

    def test_an_unset_variable_in_the_name_is_a_warning(self):
        done = self.run_cli("run", "-o", "a%q{NO_SUCH_THING}", "--", "true")
        self.assertEqual(done.returncode, 0)
        self.assert_one_line(done.stderr, "NO_SUCH_THING", "not set")

    def test_ranks_that_would_share_a_name_get_their_own(self):
        ranks = {"RANK": 0, "WORLD_SIZE": 2}
        done = self.run_cli("run", "-o", "a", "--", "true", env=ranks)
        self.assert_one_line(done.stderr, ".rank%r is inserted", "torchrun")
        self.assertNotIn("inserted", self.run_cli("run", "-o", "a%r", "--", "true", env=ranks).stderr)
        (self.folder / "a.rank0.synctrace").touch()
        self.assertEqual(self.run_cli("run", "-o", "a", "--", "true", env=ranks).returncode, 2)

    def test_the_output_does_not_depend_on_the_programs_folder(self):
        inside = self.folder / "100%p"
        inside.mkdir()
        done = self.run_program("sh", "-c", f'cd 100%p && exec {harness.SYNCTRACE} run -o out/x -- printenv SYNCTRACE_OUTPUT')
        self.assertEqual(done.stdout, f"{self.folder}/100%%p/out/x\n", done.stderr)
        done = self.run_cli("run", "-o", "100%%p", "--", "printenv", "SYNCTRACE_OUTPUT")
        self.assertEqual(done.stdout, f"{self.folder}/100%%p\n", done.stderr)

    def test_the_users_own_preload_stays(self):
        show = ["printenv", "LD_PRELOAD"]
        done = self.run_cli("run", "--", *show, env={"LD_PRELOAD": "libc.so.6"})
        self.assertRegex(done.stdout, r"^/\S+/libsynctrace\.so:libc\.so\.6\n$")
        nested = self.run_cli("run", "--", harness.SYNCTRACE, "run", "--", *show)
        self.assertRegex(nested.stdout, r"^/[^:\s]+/libsynctrace\.so\n$")

    def test_help_version_and_mistyped_commands(self):
        self.assertIn("run a program", self.run_cli("--help").stdout)
        self.assertIn("--capture-range", self.run_cli("run", "--help").stdout)
        for asked in ("--version", "-V", "version"):
            self.assertRegex(self.run_cli(asked).stdout, r"^synctrace \d+\.\d+\.\d+\n$")
        wrong = self.run_cli("reprot", "x")
        self.assertEqual(wrong.returncode, 2)
        self.assert_one_line(wrong.stderr, "'reprot'", "'report'")
        self.assertEqual(self.run_cli().returncode, 2)

    def test_help_of_a_command(self):
        self.assertEqual(self.run_cli("help").stdout, self.run_cli("--help").stdout)
        for verb in ("run", "report", "export"):
            self.assertEqual(self.run_cli("help", verb).stdout, self.run_cli(verb, "--help").stdout)
        wrong = self.run_cli("help", "reprot")
        self.assertEqual((wrong.returncode, wrong.stderr), (2, "synctrace: there is no command 'reprot'; did you mean 'report'?\n"))

    def wrong(self, *arguments):
        done = self.run_cli(*arguments)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        return done.stderr

    def test_mistyped_options_of_other_commands(self):
        self.assertEqual(self.wrong("report", "--no-symbol", "x"),
                         "synctrace report: there is no option --no-symbol; did you mean --no-symbols?\n")
        self.assertEqual(self.wrong("diff", "--judge", "3:"), "synctrace diff: there is no option --judge; did you mean --judge-steps?\n")
        self.assertEqual(self.wrong("baseline", "update", "--acept-new", "x"),
                         "synctrace baseline: there is no option --acept-new; did you mean --accept-new?\n")
        self.assertEqual(self.wrong("report", "--frobnicate", "x"),
                         "synctrace report: there is no option --frobnicate; see synctrace report --help.\n")

    def test_values_that_an_option_does_not_take(self):
        self.assertEqual(self.wrong("report", "--format", "html", "x"), "synctrace report: --format: html is none of text, json, md, csv or "
                         "agent; a page for a browser is written by --html FILE.\n")
        self.assertEqual(self.wrong("gate", "--format", "jsn", "x"), "synctrace gate: --format: jsn is none of text, json, sarif, junit, "
                         "github, gitlab or md; did you mean json?\n")
        self.assertEqual(self.wrong("diff", "--format", "pdf", "a", "b"),
                         "synctrace diff: --format: pdf is none of text or json; see synctrace diff --help.\n")


if __name__ == "__main__":
    harness.main()
