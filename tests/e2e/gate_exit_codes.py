# SPDX-License-Identifier: Apache-2.0
"""The exit status of the gate, case by case, as docs/gate.md lists them."""
import pathlib
import sys

import gate_case
import harness

WAIT = "runtime.cudaStreamSynchronize(stream)"


class ExitCodes(gate_case.GateCase):
    def test_pass(self):
        self.write_program()
        self.write_config()
        done = self.run_gate(status=0)
        self.assert_one_line(done.stderr, "synctrace gate: passed")
        self.assert_one_line(done.stderr, "9 of 12 steps judged", "level timeline", "simulated GPU")
        self.gate(status=0)

    def test_new_sync(self):
        line = self.write_program(WAIT)
        self.write_config()
        done = self.run_gate(status=1)
        self.assert_one_line(done.stderr, f"train.py:{line}: error: ", "9 of 9 calls waited", "[ST001 stream-sync]")
        self.assert_one_line(self.gate(status=1).stdout, f"train.py:{line}: error: ", "1 a step at most")
        self.gate("--error-exitcode", "77", status=77)

    def test_a_wait_that_costs_no_idle_time_passes(self):
        """The event of eight steps back, and the same program with its mistake."""
        examples = pathlib.Path(harness.SYNCTRACE).parent
        for example, status in (("healthy_pipeline", 0), ("sync_per_step", 1)):
            with self.subTest(example):
                done = self.run_cli("run", *harness.SIMULATED, "-o", "trace", "-f", "--gate", "--", examples / example, "--steps", 40)
                self.assertEqual(done.returncode, status, done.stderr)
        self.run_cli("run", *harness.SIMULATED, "-o", "trace", "-f", "--report=none", "--", examples / "healthy_pipeline", "--steps", 40)
        findings = {finding["status"]: finding for finding in self.verdict(status=0)["findings"]}
        self.assertEqual(list(findings), ["harmless"])
        self.assertIn("costs no idle time", findings["harmless"]["message"])

    def test_a_wait_in_warm_up_is_none(self):
        self.write_program(f"if number < 3: {WAIT}")
        self.write_config()
        self.run_gate(status=0)
        self.gate("--judge-steps", "0:", status=1)

    def test_redundant_waits_are_notes(self):
        self.write_program(WAIT, WAIT)
        self.write_config()
        self.record_program(level="timeline")
        findings = self.verdict(status=1)["findings"]
        self.assertEqual([(f["status"], f["level"]) for f in findings], [("new", "error"), ("harmless", "note")])

    def test_pageable_copy(self):
        line = self.write_program("read(4 << 20)")
        self.write_config()
        done = self.run_gate(status=1)
        self.assertIn("[ST012 pageable-d2h]", done.stderr)
        self.assertNotIn(f"train.py:{line}:", done.stderr)  # the copy stands in read()

    def test_scalar_read(self):
        self.write_program("read(4)")
        self.write_config()
        self.assertIn("[ST020 scalar-read]", self.run_gate(status=1).stderr)

    def test_budgets(self):
        self.write_program(WAIT, "spin()", WAIT, "read(1 << 20)")
        self.record_program(level="timeline")
        self.write_config("max-unexpected-syncs-per-step = 2\n")
        self.assertIn("within the budget of 2", self.gate(status=0).stdout)
        self.write_config("max-unexpected-syncs-per-step = 1\n")
        self.assertIn("[max-unexpected-syncs-per-step]", self.gate(status=1).stdout)
        self.write_config("max-unexpected-syncs-per-step = 9\nmax-pageable-bytes-per-step = 1_000_000\n")
        self.assert_one_line(self.gate(status=1).stdout, "synctrace.toml:4: error: 1.0 MiB copied", "[max-pageable-bytes-per-step]")
        self.write_config("max-unexpected-syncs-per-step = 9\nmax-pageable-bytes-per-step = \"1M\"\n")
        self.gate(status=0)
        self.write_config("max-unexpected-syncs-per-step = 9\nmax-gpu-idle-pct = 0.001\n")
        self.assertIn("synctrace.toml:4: error: GPU 0 was idle for", self.gate(status=1).stdout)
        self.write_config("max-unexpected-syncs-per-step = 9\nmax-gpu-idle-pct = 100\n")
        self.gate(status=0)

    def test_idle_budget_without_a_timeline(self):
        self.write_program()
        self.write_config("max-gpu-idle-pct = 100\n")
        self.record_program()
        self.assertIn("needs the GPU's timeline", self.gate(status=4).stdout)
        self.assertIn("level timeline", self.run_gate(status=0).stderr)  # the limit asks for it

    def test_levels(self):
        self.write_program(WAIT)
        self.record_program()
        for level, status in (("warning", 0), ("note", 0), ("off", 0), ("error", 1)):
            self.write_config(f"[gate.rules]\nST001 = \"{level}\"\n")
            self.gate(status=status)
        self.write_config("fail-on = [\"error\", \"warning\"]\n[gate.rules]\n\"*-sync\" = \"warning\"\n")
        self.gate(status=1)

    def test_allow_entries(self):
        self.write_program(WAIT)
        self.record_program()
        entry = "[[allow]]\nrule = \"stream-sync\"\nat = \"train.py:train_step\"\nreason = \"a test\"\n"
        self.write_config(entry)
        self.gate(status=0)
        self.write_config(entry + "expires = 2020-01-31\n")
        done = self.gate(status=1)
        self.assertIn("synctrace.toml:3: error: expired on 2020-01-31", done.stdout)
        self.write_config(entry + "expires = 2999-01-31\nmax-per-step = 1\n")
        self.gate(status=0)
        self.write_config(entry + "[[allow]]\nrule = \"ST012\"\nreason = \"long gone\"\n")
        self.assertIn("synctrace.toml:7: error: nothing here needs it any more", self.gate(status=1).stdout)
        self.write_config("unused-allow = \"warn\"\n" + entry + "[[allow]]\nrule = \"ST012\"\nreason = \"long gone\"\n")
        self.gate(status=0)

    def test_bad_config(self):
        self.write_program()
        self.record_program()
        for text, words in (("[gate]\nmax-gpu-idle-pct = \"much\"\n", "synctrace.toml:2: gate.max-gpu-idle-pct: expected a number"),
                            ("[gate]\nmax-idle = 3\n", "synctrace.toml:2: gate.max-idle: there is no such key"),
                            ("\n[[allow]]\nrule = \"ST001\"\n", "synctrace.toml:2: allow.reason: is missing"),
                            ("[[allow]]\nrule = \"ST999\"\nreason = \"x\"\n", "synctrace.toml:2: allow.rule: there is no rule 'ST999'"),
                            ("[gate\n", "synctrace.toml:1: Error while parsing table header: expected ']'")):
            self.write_config(text, head="")
            self.assertIn(words, self.gate(status=2).stderr)
        done = self.run_gate(status=2)
        self.assertIn("synctrace.toml:1:", done.stderr)
        self.assertNotIn("wrote", done.stderr)  # nothing ran

    def test_usage(self):
        self.assertEqual(self.run_cli("gate").returncode, 2)
        self.assertEqual(self.run_cli("gate", "--write", "doc=x", "t").returncode, 2)
        self.assertEqual(self.run_cli("run", "--only-zones", "--", "true").returncode, 2)

    def test_unreadable_trace(self):
        self.assertEqual(self.gate(traces=["missing.synctrace"]).returncode, 3)
        (self.folder / "text.synctrace").write_text("no trace")
        self.assertEqual(self.gate(traces=["text.synctrace"]).returncode, 3)

    def test_program_without_cuda(self):
        done = self.run_cli("run", *harness.SIMULATED, "--gate", "--", "true")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("nothing to judge", done.stderr)

    def test_cupti_taken(self):
        done = self.run_cli("run", *harness.SIMULATED, "-o", "trace", "--gate", "--", harness.program("second_subscriber"), "before")
        self.assertEqual(done.returncode, 4, done.stderr)

    def test_steps_asked_for(self):
        self.write_program(steps=3)
        self.write_config()
        self.assertIn("all of them left out", self.run_gate(status=4).stderr)
        self.assertIn("no steps were found", self.run_gate("--step-range", "epoch", status=4).stderr)

    def test_steps_begin_at_a_line(self):
        where = f"train.py:{self.write_program(WAIT)}"
        self.write_config()
        done = self.run_cli("run", *harness.SIMULATED, "-o", "trace", "--report=full", "--step-line", where, "--", sys.executable,
                            "train.py", env={"PYTHONPATH": gate_case.MODULE})
        self.assertRegex(done.stderr, r"steps +\d+ by the line in train_step")
        for head, options in ((f"step-line = \"{where}\"\n", ()), ("", ("--step-line", where)),
                              ("step-line = \"elsewhere.py:1\"\n", ("--step-line", where))):
            with self.subTest((head, options)):
                self.write_config(head)
                trace, = self.verdict(*options, status=1)["traces"]
                self.assertEqual((trace["steps"]["source"], trace["steps"]["name"]), ("line", "train_step"))
        self.write_config("step-line = \"elsewhere.py:1\"\n")
        done = self.gate(status=1)  # the wait counts all the same: all is judged
        self.assertIn("no steps were found", done.stdout + done.stderr)
        self.assertIn("FILE:LINE", self.run_cli("gate", "--step-line", "train.py", self.trace).stderr)

    def test_dropped_events(self):
        self.write_program()
        self.write_config()
        self.record_program()
        text = self.run_cli("dump", self.trace).stdout.rstrip().splitlines()
        text.insert(-1, "loss time_ns=1 name=\"ring-full\" count=5")
        self.assemble_trace("\n".join(text) + "\n", "lossy")
        self.assertIn("5 losses, more than 0: ring-full", self.gate(traces=["lossy.synctrace"], status=4).stdout)
        self.write_config("max-lost-events = 5\n")
        self.gate(traces=["lossy.synctrace"], status=0)

    def test_launch_blocking(self):
        self.write_program()
        self.write_config()
        self.assertIn("CUDA_LAUNCH_BLOCKING", self.run_gate(status=4, env={"CUDA_LAUNCH_BLOCKING": "1"}).stderr)

    def test_the_programs_own_failure(self):
        self.write_program(WAIT, end="sys.exit(9)")
        self.write_config()
        self.assertIn("error:", self.run_gate(status=9).stderr)
        self.write_program(WAIT, end="os.kill(os.getpid(), 15)")
        self.assertEqual(self.run_gate().returncode, -15)

    def test_several_traces(self):
        self.write_program(WAIT)
        self.write_config()
        self.record_program()
        done = self.gate(traces=[self.trace, self.trace, "missing.synctrace"], status=1)
        self.assertIn("in 2 processes", done.stdout)


if __name__ == "__main__":
    harness.main()
