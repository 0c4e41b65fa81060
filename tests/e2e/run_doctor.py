# SPDX-License-Identifier: Apache-2.0
"""`synctrace doctor` finds what is there, and survives what is broken."""
import json
import os
import shutil

import harness


class Doctor(harness.CliTest):
    def doctor(self, **variables):
        done = self.run_cli("doctor", "--format", "json", env=variables)
        self.assertEqual(done.stderr, "")
        answer = json.loads(done.stdout)
        failed = [check for check in answer["checks"] if check["verdict"] == "fail"]
        self.assertEqual(answer["can_record"], not failed)
        self.assertEqual(done.returncode, 1 if failed else 0)
        for check in answer["checks"]:
            self.assertIn(check["verdict"], ["ok", "note", "warn", "fail"])
            if check["verdict"] in ["warn", "fail"]:
                self.assertTrue(check["advice"], f"nothing to do about {check}")
        return answer["checks"]

    def one(self, checks, topic, *parts):
        found = [check for check in checks if check["topic"] == topic and all(part in check["finding"] for part in parts)]
        self.assertEqual(len(found), 1, f"wanted one {topic} with {parts} in {json.dumps(checks, indent=1)}")
        return found[0]

    def test_text_and_json_say_the_same(self):
        text = self.run_cli("doctor").stdout
        for check in self.doctor():
            if check["topic"] != "folder":  # free space changes
                self.assertIn(f"{check['topic']}: {check['finding']}", text)

    def test_the_recorder_loads(self):
        self.assertEqual(self.one(self.doctor(), "recorder", harness.LIBRARY)["verdict"], "ok")

    def test_a_probe_that_is_missing_or_does_not_start(self):
        """A machine of another C library looks like that: then nothing that the probe would load is judged."""
        command = self.folder / "bin" / "synctrace"
        command.parent.mkdir()
        shutil.copy(harness.SYNCTRACE, command)
        for words in ["no synctrace-probe beside", "synctrace-probe does not start"]:
            done = self.run_program(command, "doctor", "--format", "json")
            checks = json.loads(done.stdout)["checks"]
            self.assertEqual(done.returncode, 1)
            self.assertTrue(self.one(checks, "C library", words)["advice"])
            self.assertEqual([check for check in checks if check["topic"] in ("driver", "GPU", "CUPTI")], [])
            (self.folder / "lib").mkdir(exist_ok=True)
            (self.folder / "lib" / "synctrace-probe").write_text("not a program")
            (self.folder / "lib" / "synctrace-probe").chmod(0o755)

    def test_every_libcupti_once(self):
        folder = self.folder / "toolkit" / "lib64"
        folder.mkdir(parents=True)
        shutil.copy(os.path.join(harness.SIMGPU, "libcupti.so.13"), folder)
        (self.folder / "link.so").symlink_to(folder / "libcupti.so.13")
        checks = self.doctor(CUDA_HOME=folder.parent, CUDA_PATH=folder.parent, SYNCTRACE_CUPTI_PATH=self.folder / "link.so")
        check = self.one(checks, "CUPTI", "API 1300", str(self.folder))
        self.assertIn("SYNCTRACE_CUPTI_PATH", check["finding"])
        self.assertEqual(check["verdict"], "ok")

    def test_a_file_that_is_no_libcupti(self):
        (self.folder / "libcupti.so.13").write_text("not a library")
        checks = self.doctor(SYNCTRACE_CUPTI_PATH=self.folder / "libcupti.so.13")
        self.assertEqual(self.one(checks, "CUPTI", "no usable libcupti")["verdict"], "warn")

    def test_a_python_that_fails_is_no_obstacle(self):
        for script in ["#!/bin/sh\nexit 3\n", "#!/bin/sh\nkill -SEGV $$\n"]:
            (self.folder / "python3").write_text(script)
            (self.folder / "python3").chmod(0o755)
            self.doctor(PATH=f"{self.folder}:{os.environ['PATH']}")

    def test_variables_of_other_tools(self):
        checks = self.doctor(CUDA_INJECTION64_PATH="/opt/tool.so", CUDA_LAUNCH_BLOCKING="1", TEARDOWN_CUPTI="0",
                             SYNCTRACE_LEVVEL="syncs", SYNCTRACE_LEVEL="syncs", RANK="3", WORLD_SIZE="8")
        self.assertEqual(self.one(checks, "environment", "CUDA_INJECTION64_PATH=/opt/tool.so")["verdict"], "warn")
        self.assertEqual(self.one(checks, "environment", "CUDA_LAUNCH_BLOCKING=1")["verdict"], "warn")
        self.assertEqual(self.one(checks, "environment", "SYNCTRACE_LEVVEL=syncs")["verdict"], "warn")
        self.assertEqual(self.one(checks, "environment", "SYNCTRACE_LEVEL=syncs")["verdict"], "note")
        self.assertEqual([check for check in checks if "TEARDOWN_CUPTI" in check["finding"]], [])
        self.assertIn("3 of 8, says torchrun", self.one(checks, "rank")["finding"])

    def test_wrong_options(self):
        done = self.run_cli("doctor", "--format", "xml")
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr, "--format=xml", "text or json")


if __name__ == "__main__":
    harness.main()
