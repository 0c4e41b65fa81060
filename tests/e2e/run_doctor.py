# SPDX-License-Identifier: Apache-2.0
"""`synctrace doctor` finds what is there, and survives what is broken."""
import json
import os
import shutil
import subprocess
import unittest

import harness

# A driver that says what its variables say.
DRIVER = r"""
#include <stdlib.h>
#include <string.h>
int cuInit(unsigned flags) { return atoi(getenv("FAKE_STATUS")); }
int cuDriverGetVersion(int* version) { *version = atoi(getenv("FAKE_CUDA")); return 0; }
int cuDeviceGetCount(int* count) { *count = 1; return 0; }
int cuDeviceGetName(char* name, int size, int device) { strncpy(name, getenv("FAKE_GPU"), size); return 0; }
"""
COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
NOBODY = 65534


class DoctorTest(harness.CliTest):
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


class Doctor(DoctorTest):
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


@unittest.skipUnless(COMPILER and harness.SIMGPU, "needs a compiler and the simulated GPU")
class FirstDay(DoctorTest):
    """The questions of a first day, each with what to do. The driver is one of ours, CUPTI that of the simulated GPU."""

    def setUp(self):
        super().setUp()
        (self.folder / "driver.c").write_text(DRIVER)
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", self.folder / "libcuda.so.1", self.folder / "driver.c"], check=True)

    def asked(self, cuda=13000, gpu="NVIDIA H200", status=0, **variables):
        libcupti = os.path.join(harness.SIMGPU, "libcupti.so.13")
        return self.doctor(LD_LIBRARY_PATH=self.folder, SYNCTRACE_CUPTI_PATH=libcupti, FAKE_CUDA=cuda, FAKE_GPU=gpu,
                           FAKE_STATUS=status, **variables)

    def advice(self, checks, topic, verdict, finding, *advice):
        check = self.one(checks, topic, finding)
        self.assertEqual(check["verdict"], verdict)
        for words in advice:
            self.assertIn(words, check["advice"])

    def test_all_is_well(self):
        checks = self.asked()
        self.advice(checks, "driver", "ok", "for programs up to CUDA 13.0")
        self.advice(checks, "GPU 0", "ok", "NVIDIA H200")
        self.advice(checks, "subscription", "ok", "can be subscribed to")
        self.assertEqual([check for check in checks if check["topic"] in ("MIG", "MPS", "WSL")], [])

    def test_no_gpu(self):
        self.advice(self.asked(status=100), "GPU", "fail", "the driver shows no GPU", "CUDA_VISIBLE_DEVICES", "synctrace run --simgpu")
        self.advice(self.asked(status=999), "driver", "fail", "cuInit failed with 999", "repair the driver")

    @unittest.skipIf(os.path.exists("/proc/driver/nvidia/version"), "there is a driver")
    def test_no_driver(self):
        self.advice(self.doctor(LD_LIBRARY_PATH=None), "driver", "fail", "no NVIDIA driver here", "where there is a GPU")

    def test_an_old_driver(self):
        self.advice(self.asked(cuda=11040), "driver", "fail", "too old", "525.60")
        self.advice(self.asked(cuda=12040), "CUPTI", "warn", "libcupti 13 is newer than the driver", "580", "--cupti")

    def test_no_cupti(self):
        """Where the toolkit would be is an empty folder, in a mount namespace of the test's own."""
        alone = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /usr/local && exec "$0" "$@"']
        if shutil.which("unshare") is None or self.run_program(*alone, "true").returncode != 0:
            self.skipTest("no mount namespace of its own is allowed here")
        done = self.run_program(*alone, harness.SYNCTRACE, "doctor", "--format", "json",
                                env={"PATH": "/usr/bin:/bin", "CUDA_HOME": None, "CUDA_PATH": None, "LD_LIBRARY_PATH": None})
        self.assertEqual(done.returncode, 1)
        self.advice(json.loads(done.stdout)["checks"], "CUPTI", "fail", "no libcupti found", "Python environment", "--cupti")

    def test_cuda_12(self):
        self.advice(self.asked(cuda=12040, SIMGPU_CUPTI_VERSION=24), "CUPTI", "note", "libcupti 12 was tried on the simulated GPU only",
                    "--cupti")

    def test_cupti_is_held_by_another_tool(self):
        self.advice(self.asked(SIMGPU_SUBSCRIBER_TAKEN="Nsight"), "subscription", "fail", "CUPTI is taken by Nsight", "end the other one")
        self.advice(self.asked(NSYS_PROFILING_SESSION_ID="1"), "environment", "warn", "Nsight Systems", "outside nsys")

    def test_a_slice_of_a_gpu_and_mps(self):
        self.advice(self.asked(gpu="NVIDIA H200 MIG 1g.18gb"), "MIG", "note", "a slice of a GPU", "one size")
        self.advice(self.asked(CUDA_MPS_PIPE_DIRECTORY="/tmp/mps"), "MPS", "note", "share the GPU", "nvidia-cuda-mps-control")

    def test_a_container_and_wsl(self):
        self.advice(self.asked(KUBERNETES_SERVICE_HOST="10.0.0.1"), "container", "note", "synctrace must run inside it")
        self.advice(self.asked(WSL_DISTRO_NAME="Debian"), "WSL", "note", "that of Windows", "/usr/lib/wsl/lib", "/mnt")

    def test_a_folder_that_cannot_be_written(self):
        self.folder.chmod(0o555)
        self.addCleanup(self.folder.chmod, 0o755)
        as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        done = self.run_cli("doctor", "--format", "json", **as_nobody)
        self.advice(json.loads(done.stdout)["checks"], "folder", "warn", "traces cannot be written", "--output")


if __name__ == "__main__":
    harness.main()
