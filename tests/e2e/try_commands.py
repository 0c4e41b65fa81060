#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`synctrace try` with two commands: verdicts and statuses, programs that fail, hang, say nothing or leave others running, and its outputs."""
import json
import os
import pathlib
import signal
import unittest
import xml.etree.ElementTree

import harness
from try_helpers import NEVER_S, STEP, TryTest, step

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"

# Options, the two commands, the status, and what the result must say.
CASES = {
    "faster": (["--step", STEP], step(100), step(90), 0, "faster: 10.0 % less time"),
    "slower": (["--step", STEP], step(100), step(110), 1, "slower: 10.0 % more time"),
    "same": (["--step", STEP], step(100), step(100), 1, "same within 1 %"),
    "a rate": (["--step", "([0-9.]+) it/s", "--higher-is-better"], "echo 50 it/s", "echo 100 it/s", 0, "faster: 50.0 % less time"),
    "a limit that is kept": (["--step", STEP, "--fail-if-slower", "2%"], step(100), step(101), 0, "not slower by more than 2 %"),
    "a limit that is passed": (["--step", STEP, "--fail-if-slower", "2 %"], step(100), step(103), 1, "slower: 3.0 % more time"),
    "a limit and a gain": (["--step", STEP, "--fail-if-slower", "2"], step(100), step(50), 0, "faster: 50.0 % less time"),
    "the same output": (["--step", STEP, "--same", r"loss (\S+)"], step(100) + "; echo loss 2", step(90) + "; echo loss 2", 0, "2 on both sides"),
    "another output": (["--step", STEP, "--same", r"loss (\S+)"], step(100) + "; echo loss 2", step(90) + "; echo loss 2.1", 1, "2 and 2.1, which differ"),
    "within the tolerance": (["--step", STEP, "--same", r"loss (\S+)", "--tolerance", "0.1"], step(100) + "; echo loss 2", step(90) + "; echo loss 2.1", 0,
                             "2.1 on both sides"),
    "no output to compare": (["--same", "loss"], "true", "echo loss", 3, "'before' printed nothing that --same matches"),
    "the first fails": ([], "echo first words; exit 7", "true", 3, "failed: the command 'before' ended with status 7"),
    "the second ends otherwise": ([], "true", "echo last words; exit 7", 1, "different: the command 'after' ended with status 7"),
    "the second crashes": ([], "true", "kill -SEGV $$", 1, "different: the command 'after' was ended by signal 11"),
    "the second is not there": ([], "true", "no-such-command", 3, "'after' was not found"),
    "nothing is printed": (["--step", STEP], "true", "true", 3, "'before' printed no number that --step matches"),
    "the second prints nothing": (["--step", STEP], step(1), "echo ms/step none", 3, "'after' printed no number that --step matches"),
    "a hang": (["--time-limit", "500ms"], f"exec sleep {NEVER_S}", "true", 4, "the first run of 'before' did not end within the time limit"),
    "a hang that will not end": (["--time-limit", "500ms"], f"trap '' TERM; sleep {NEVER_S} & while :; do wait; done", "true", 4, "did not end"),
    "the second hangs": (["--time-limit", "500ms"], "true", f"exec sleep {NEVER_S}", 4, "the first run of 'after' did not end"),
    "no time for three pairs": (["--time-limit", "1s"], "sleep 0.4", "sleep 0.4", 4, "or give --time-limit 10s"),
    "children are left": (["--step", STEP], f"sleep {NEVER_S} & {step(100)}", f"setsid sleep {NEVER_S} & {step(90)}", 0, "left 1 process behind"),
    "grandchildren are left": (["--step", STEP], f"(setsid sh -c 'sleep {NEVER_S} & sleep {NEVER_S}' &) ; {step(100)}", step(90), 0, "behind"),
}

USAGE = {
    "no command": ([], "expected two commands"),
    "one command": (["--", "true"], "expected two commands"),
    "three commands": (["--", "true", "--", "true", "--", "true"], "expected two commands"),
    "an empty command": (["--", "", "--", "true"], "expected two commands"),
    "two commands for a patch": (["--patch", "x.diff", "--", "true", "--", "true"], "expected one command"),
    "a patch that is not there": (["--patch", "x.diff", "--", "true"], "--patch x.diff cannot be read"),
    "both": (["--patch", "x.diff", "--ref", "HEAD", "--", "true"], "--patch"),
    "no pattern": (["--step", "(", "--", "true", "--", "true"], "--step '(' is no regular expression"),
    "no limit": (["--fail-if-slower", "fast", "--", "true", "--", "true"], "--fail-if-slower fast: expected"),
    "no time": (["--time-limit", "soon", "--", "true", "--", "true"], "--time-limit soon: expected a duration"),
    "a rate of nothing": (["--higher-is-better", "--", "true", "--", "true"], "give --step too"),
    "a tolerance of nothing": (["--tolerance", "1", "--", "true", "--", "true"], "give --same too"),
    "a change of nothing": (["--fix", "1", "--", "true", "--", "true"], "--from"),
    "a trace without a change": (["--from", "t.synctrace", "--", "true", "--", "true"], "give --fix N"),
    "one GPU": (["--side-by-side", "--", "true", "--", "true"], "CUDA_VISIBLE_DEVICES=0 names one"),
    "a typing mistake": (["--stpe", "x", "--", "true", "--", "true"], "did you mean --step?"),
}


class TwoCommands(TryTest):
    def test_cases(self):
        for name, (options, before, after, status, words) in CASES.items():
            with self.subTest(name):
                done = self.run_try(*options, "--", before, "--", after)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(words, " ".join(done.stdout.split()))
                self.assertLessEqual(len(done.stdout.splitlines()), 8)
                self.assert_nothing_left()

    def test_wrong_usage_is_one_line_and_runs_nothing(self):
        for name, (arguments, words) in USAGE.items():
            with self.subTest(name):
                done = self.run_try(*arguments, env={"CUDA_VISIBLE_DEVICES": "0"})
                self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                self.assert_one_line(done.stderr, "synctrace try: ", words)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_last_lines_of_a_run_that_fails(self):
        done = self.run_try("--", "for i in 1 2 3 4 5 6 7 8 9; do echo line $i; done; echo why >&2; exit 3", "--", "true")
        self.assertEqual(done.returncode, 3)
        self.assert_one_line(done.stderr, "  line 9")
        self.assert_one_line(done.stderr, "  why")
        self.assertNotIn("line 1\n", done.stderr)

    def test_turns(self):
        """The first run of each side is thrown away, and pairs take turns in who begins."""
        done = self.run_try("--step", STEP, "--", f"printf A >> turns; {step(100)}", "--", f"printf B >> turns; {step(90)}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((self.folder / "turns").read_text(), "AB" + "AB" + "BA" + "AB")

    def test_side_by_side_changes_roles(self):
        run = 'echo "$0$CUDA_VISIBLE_DEVICES" >> roles; echo ms/step 5'
        done = self.run_try("--side-by-side", "--step", STEP, "--", "sh", "-c", run, "A", "--", "sh", "-c", run, "B", env={"CUDA_VISIBLE_DEVICES": "3,5,6"})
        self.assertEqual(done.returncode, 1, done.stderr)
        roles = (self.folder / "roles").read_text().split()
        self.assertEqual(sorted(roles[:2]), ["A3", "B5"])
        for pair in range(3):
            at = 2 + 4 * pair
            self.assertEqual((sorted(roles[at:at + 2]), sorted(roles[at + 2:at + 4])), (["A3", "B5"], ["A5", "B3"]))

    def test_figures_are_the_middle_ones(self):
        """A slow first step, and a machine that becomes slower, do not count."""
        steps = "n=$(cat n 2>/dev/null || echo 0); n=$((n + 1)); echo $n > n; echo ms/step 900; for i in 1 2 3 4; do echo ms/step $((BASE + n)); done"
        done = self.run_try("--step", STEP, "--", steps.replace("BASE", "1000"), "--", steps.replace("BASE", "900"))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("faster: 9.", done.stdout)

    def test_argument_lists_and_shell_lines(self):
        done = self.run_try("--step", STEP, "--", "printf", r"ms/step %s\n", "100", "--", r"printf 'ms/step %s\n' 90")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        (self.folder / "train.py").write_text("print('ms/step 80')")
        done = self.run_try("--step", STEP, "--", step(100), "--", "train.py")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_neither_input_nor_signals_of_the_shell_reach_a_run(self):
        done = self.run_try("--same", "(.*)", "--time-limit", "100s", "--", "cat; echo none; ulimit -c", "--", "cat; echo none; ulimit -c", input="secret\n")
        self.assertNotIn("secret", done.stdout + done.stderr)

    def test_much_output_is_no_harm(self):
        much = "head -c 3000000 /dev/zero | tr '\\0' x; echo; "
        done = self.run_try("--step", STEP, "--", much + step(100), "--", much + step(90))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_end_by_the_user_keeps_what_was_timed(self):
        for which in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(which.name):
                pipe = self.folder / f"pipe-{which.name}"
                os.mkfifo(pipe)
                runs = self.folder / f"runs-{which.name}"
                # The eighth run, of the fourth pair, does not end by itself.
                run = f"echo x >> {runs}; if [ $(wc -l < {runs}) -ge 9 ]; then echo x > {pipe}; exec sleep {NEVER_S}; fi; echo ms/step $(($(wc -l < {runs}) % 2 * 50 + 100))"
                started = self.start(harness.SYNCTRACE, "try", "--format", "json", "--step", STEP, "--", run, "--", run, env=self.env)
                with open(pipe, encoding="utf-8") as reader:
                    reader.read()
                started.send_signal(which)
                out, _ = started.communicate(timeout=harness.PATIENCE_S)
                self.assertEqual(started.returncode, -which)
                result = json.loads(out)
                self.assertEqual((result["end"], result["verdict"], len(result["pairs"])), ("interrupted", "undecided", 3))
                self.assert_nothing_left()


class Outputs(TryTest):
    def test_json(self):
        done = self.run_try("--format", "json", "--step", STEP, "--same", "ms", "--", step(100), "--", step(90))
        result = json.loads(done.stdout)
        self.assertEqual((result["schema_version"], result["verdict"], result["status"], result["different"], result["end"]), (1, "faster", 0, False, "decided"))
        self.assertEqual(result["pairs"], [{"before": 100.0, "after": 90.0}] * 3)
        self.assertAlmostEqual(result["gain"]["value"], 0.1)
        self.assertLess(result["gain"]["low"], 0.1)
        self.assertGreater(result["gain"]["high"], 0.1)
        self.assertEqual((result["before"]["figure"], result["after"]["figure"], result["after"]["exit_status"]), (100.0, 90.0, 0))
        self.assertEqual(result["same"], {"pattern": "ms", "tolerance": 0.0, "before": "ms", "after": "ms", "equal": True})

    def test_whole_runs_are_timed_where_no_step_is_named(self):
        done = self.run_try("--format", "json", "--", "sleep 0.2", "--", "sleep 0")
        result = json.loads(done.stdout)
        self.assertEqual((result["figure"], result["verdict"]), ("run", "faster"))
        for pair in result["pairs"]:
            self.assertGreaterEqual(pair["before"], 0.2)

    def test_files(self):
        for form, begin in (("text", "synctrace try: faster"), ("json", "{"), ("md", "### synctrace try: faster"), ("junit", "<?xml")):
            with self.subTest(form):
                command = ["--format", form, "-o", f"result.{form}", "--step", STEP, "--", step(100), "--", step(90)]
                done = self.run_try(*command)
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
                self.assertTrue((self.folder / f"result.{form}").read_text().startswith(begin))
                self.assertEqual(self.run_try(*command).returncode, 0)  # it is such a file, and may be replaced
        (self.folder / "mine.json").write_text("{}")
        done = self.run_try("--format", "json", "-o", "mine.json", "--", "true", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mine.json exists already", done.stderr)

    def test_junit(self):
        for after, counts in ((90, ("0", "0")), (110, ("1", "0")), ("none", ("0", "1"))):
            done = self.run_try("--format", "junit", "--step", STEP, "--", step(100), "--", step(after))
            suite = xml.etree.ElementTree.fromstring(done.stdout)
            self.assertEqual((suite.get("failures"), suite.get("errors")), counts)

    def test_record_and_rollup(self):
        trace = GOLDEN / "h200" / "sync_per_step.synctrace"
        for after in (66.6, 99.5):
            self.run_try("--fix", 1, "--from", trace, "--record", "trials.jsonl", "--step", STEP, "--", step(100), "--", step(after))
        rows = [json.loads(line) for line in (self.folder / "trials.jsonl").read_text().splitlines()]
        self.assertEqual([(row["answer"], row["verdict"], row["timed_ppm"], row["predicted_ppm"]) for row in rows],
                         [("agrees", "faster", 334000, 334193), ("less", "faster", 5000, 334193)])
        done = self.run_cli("rollup", "--trials", "trials.jsonl", "-o", "data")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("2 trials are in data", done.stderr)
        tables = list((self.folder / "data").rglob("*.parquet"))
        self.assertEqual(len(tables), 1)
        self.assertEqual(tables[0].parts[-5], "trials")
        self.assertEqual(self.run_cli("rollup", "--trials", "trials.jsonl", "-o", "data").returncode, 0)
        self.assertEqual(len(list((self.folder / "data").rglob("*.parquet"))), 1)

    def test_a_record_of_something_else_stays(self):
        (self.folder / "mine.csv").write_text("a,b\n")
        done = self.run_try("--record", "mine.csv", "--", "true", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("mine.csv exists already and is no record", done.stderr)
        self.assertEqual((self.folder / "mine.csv").read_text(), "a,b\n")
        done = self.run_cli("rollup", "--trials", "mine.csv", "-o", "data")
        self.assertEqual(done.returncode, 3)
        self.assertIn("line 1 is no row", done.stderr)


class Predictions(TryTest):
    TRACE = GOLDEN / "h200" / "sync_per_step.synctrace"

    def compared(self, *options, before, after):
        done = self.run_try("--format", "json", "--fix", 1, "--from", self.TRACE, *options, "--", before, "--", after)
        return json.loads(done.stdout)["prediction"]

    def test_of_a_step(self):
        report = json.loads(self.run_cli("report", "--format", "json", self.TRACE).stdout)["processes"][0]["savings"]
        alone = report["remedies"][0]["alone"]
        gain = alone["ns"] / report["base_ns"]
        answers = {1 - gain: "agrees", 1 - 0.5 * gain: "less", 1 - 1.5 * gain: "more"}
        for after, answer in answers.items():
            prediction = self.compared("--step", STEP, before=step(100), after=step(f"{100 * after:.6f}"))
            self.assertEqual((prediction["of"], prediction["answer"]), ("step", answer))
            self.assertAlmostEqual(prediction["gain"]["value"], gain)
            self.assertAlmostEqual(prediction["gain"]["low"], alone["lo_ns"] / report["base_ns"])

    def test_of_a_run_that_is_shorter_than_the_steps_recorded(self):
        self.assertEqual(self.compared(before="sleep 0.05", after="true")["answer"], "cannot be compared")

    def test_of_a_run_by_the_share_of_its_steps(self):
        prediction = self.compared("--time-limit", "20s", before="sleep 0.96", after="sleep 0.1")
        self.assertEqual((prediction["of"], prediction["answer"]), ("run", "more"))
        self.assertLessEqual(prediction["steps_share"], 0.25)

    def test_changes_that_are_not_there(self):
        done = self.run_try("--fix", 9, "--from", self.TRACE, "--", "true", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("has 1 change", done.stderr)
        done = self.run_try("--fix", 1, "--from", "none.synctrace", "--", "true", "--", "true")
        self.assertEqual(done.returncode, 3)


class Neighbours(TryTest):
    """Another process on the GPU, as the simulated NVML says it."""

    RUN = """\
import os, time
script = os.environ["SIMGPU_NVML"]
with open(script + ".new", "w") as file:
    file.write(f"process {os.getpid()} 30\\nprocess 1 62\\nbusy 92\\n")
os.rename(script + ".new", script)
def looks():
    try:
        return os.path.getsize(script + ".asked")
    except OSError:
        return 0
begin = looks()
limit = time.monotonic() + 100
while looks() == begin and time.monotonic() < limit:
    time.sleep(0.01)
print("ms/step 5")
"""

    @unittest.skipUnless(harness.SIMGPU, "needs the simulated GPU")
    def test_another_process_is_said(self):
        (self.folder / "run.py").write_text(self.RUN)
        (self.folder / "nvml").write_text("")
        env = {**harness.SIMULATED_ENV, "SIMGPU_NVML": self.folder / "nvml"}
        done = self.run_try("--step", STEP, "--", "python3 run.py", "--", "python3 run.py", env=env)
        self.assertRegex(done.stdout, r"Another process used the GPU for [456]\d\.\d % of the time")


if __name__ == "__main__":
    harness.main()
