# SPDX-License-Identifier: Apache-2.0
"""Jobs of several processes: the operations of NCCL in the trace of each rank, which processes leave a trace, and its
name. The ranks meet in the simulated NCCL, whose kernels end on all of them together."""
import json
import pathlib
import sys

import harness
from survival_case import SurvivalCase

STEPS = 12
BUCKETS = 4
FAULT_MS = 20

# Starts ranks as torchrun does, but first asks CUDA how many devices there are, as torchrun's agent does. When a rank
# ends badly it ends the others.
LAUNCHER = """
import ctypes, json, os, subprocess, sys, time
count = ctypes.c_int()
assert ctypes.CDLL("libcudart.so.13").cudaGetDeviceCount(ctypes.byref(count)) == 0
world = int(sys.argv[1])
variables = json.loads(sys.argv[2])
def start(rank):
    places = {name: str({"rank": rank, "world": world}[value]) for name, value in variables.items()}
    return subprocess.Popen(sys.argv[3:], env={**os.environ, **places})
ranks = [start(rank) for rank in range(world)]
while any(rank.poll() is None for rank in ranks):
    if any(rank.poll() not in (None, 0) for rank in ranks):
        time.sleep(0.7)
        for rank in ranks:
            rank.kill()
    time.sleep(0.01)
sys.exit(max(abs(rank.wait()) for rank in ranks))
"""

TORCHRUN = {"RANK": "rank", "LOCAL_RANK": "rank", "WORLD_SIZE": "world"}
LAUNCHERS = {
    "torchrun (RANK)": TORCHRUN,
    "Open MPI (OMPI_COMM_WORLD_RANK)": {
        "OMPI_COMM_WORLD_RANK": "rank", "OMPI_COMM_WORLD_LOCAL_RANK": "rank", "OMPI_COMM_WORLD_SIZE": "world"},
    "PMI (PMIX_RANK or PMI_RANK)": {"PMI_RANK": "rank", "MPI_LOCALRANKID": "rank", "PMI_SIZE": "world"},
    "Slurm (SLURM_PROCID)": {"SLURM_PROCID": "rank", "SLURM_LOCALID": "rank", "SLURM_NTASKS": "world"},
    "Horovod (HOROVOD_RANK)": {"HOROVOD_RANK": "rank", "HOROVOD_LOCAL_RANK": "rank", "HOROVOD_SIZE": "world"},
}


class RanksCapture(SurvivalCase):
    def launch(self, world, *command, variables=None, options=(), env=None):
        launcher = self.folder / "launcher.py"
        launcher.write_text(LAUNCHER, encoding="utf-8")
        variables = json.dumps(variables or TORCHRUN)
        return self.run_cli("run", *harness.SIMULATED, "--quiet", "--report=none", *options, "--", sys.executable, launcher,
                            world, variables, *command, env=env)

    def ranks(self, world, *fault, options=(), program="ranks"):
        """Runs the training program; the records of each rank, by rank."""
        done = self.launch(world, harness.program(program), self.folder, STEPS, *fault, options=options)
        if not fault or fault[0] != "die":
            self.assertEqual(done.returncode, 0, done.stderr)
        traces = {}
        for trace in self.traces():
            records = self.dump(trace)
            self.assertNotIn(records.facts["rank"], traces)
            traces[records.facts["rank"]] = records
        self.assertEqual(sorted(traces), [str(rank) for rank in range(world)])
        return [traces[str(rank)] for rank in range(world)]

    @staticmethod
    def matched(records):
        """What has to be the same on all ranks: (hash of the communicator, turn) -> operation and bytes."""
        hashes = {one["communicator"]: one["hash"] for one in records.of("communicator")}
        return {(hashes[one["communicator"]], one["turn"]): (records.strings[one["operation"]], one["bytes"])
                for one in records.of("collective") if records.strings[one["operation"]] not in ("Send", "Recv")}

    @staticmethod
    def nccl_kernels(records):
        return [kernel for kernel in records.of("kernel") if "ncclDevKernel" in records.strings[kernel["name"]]]

    def test_operations_are_the_same_on_all_ranks_and_lead_to_their_kernels(self):
        for records, rank in zip(self.ranks(3), range(3)):
            with self.subTest(rank=rank):
                whole = {one["communicator"]: one for one in records.of("communicator")}
                world = [one for one in whole.values() if one["ranks"] == 3]
                self.assertEqual([one["rank"] for one in world], [rank])
                halves = [one for one in whole.values() if one["parent_hash"] == world[0]["hash"]]
                expected = (2, rank // 2) if rank % 2 == 0 else (1, 0)
                self.assertEqual([(one["ranks"], one["rank"]) for one in halves], [expected])
                operations = self.matched(records)
                reductions = [what for what in operations.values() if what == ("AllReduce", 1 << 20)]
                self.assertEqual(len(reductions), STEPS * BUCKETS)
                if rank == 0:
                    first = {key: what for key, what in operations.items() if key[0] == world[0]["hash"]}
                self.assertEqual({key: what for key, what in operations.items() if key[0] == world[0]["hash"]}, first)
                self.check_groups(records)
                self.check_ranges(records)

    def check_groups(self, records):
        """Each group's launches are kernels of NCCL, and all of these are some group's."""
        groups = {}
        for one in records.of("collective"):
            groups.setdefault(one["group"], []).append(records.strings[one["operation"]])
        self.assertIn(["Broadcast", "Broadcast"], groups.values())
        self.assertIn(["Send", "Recv"], groups.values())
        kernels = {kernel["correlation"]: records.strings[kernel["name"]] for kernel in self.nccl_kernels(records)}
        found = []
        for launch in records.of("collective_launch"):
            self.assertEqual(launch["launches"], 1)
            self.assertEqual(launch["first_launch"], launch["last_launch"])
            name = kernels[launch["first_launch"]]
            operation = groups.pop(launch["group"])[0]
            self.assertIn("SendRecv" if operation == "Send" else operation, name)
            found.append(launch["first_launch"])
        self.assertEqual(groups, {})
        self.assertEqual(sorted(found), sorted(kernels))

    def check_ranges(self, records):
        """Ranges that make a communicator end by the payload extension alone."""
        domains = {one["domain"] for one in records.of("nvtx_domain") if one["name"] == "NCCL"}
        pushes = [one for one in records.of("nvtx_push") if one["domain"] in domains]
        pops = [one for one in records.of("nvtx_pop") if one["domain"] in domains]
        self.assertIn("ncclCommInitRank", [records.strings[one["text"]] for one in pushes])
        self.assertEqual(len(pushes), len(pops))

    def causes_of_a_slow_rank(self, fault, fault_ms):
        self.forget_traces()
        (self.folder / "nccl_id").unlink(missing_ok=True)
        fast, slow = self.ranks(2, fault, 1, fault_ms)
        waited = [sum(kernel["duration_ns"] for kernel in self.nccl_kernels(one)) for one in (fast, slow)]
        self.assertGreater(waited[0] - waited[1], STEPS * fault_ms * 1_000_000 / 2)
        job = json.loads(self.run_cli("report", "--format=json", *self.traces()).stdout)["job"]
        self.assertEqual((job["verdict"], job["late_rank"]), ("rank-bound", "1"))
        return job["causes"]

    def test_the_others_wait_inside_the_collective_for_the_slow_rank(self):
        for fault in ("read", "kernel"):
            with self.subTest(fault=fault):
                causes = self.causes_of_a_slow_rank(fault, FAULT_MS)
                self.assertEqual(causes[0]["kernel"], "spin_ns", causes)

    def test_the_others_wait_for_the_host_of_the_slow_rank(self):
        # A busy machine takes fewer samples; the longer the work lasts, the surer is one of it.
        for fault_ms in (FAULT_MS, 10 * FAULT_MS, 50 * FAULT_MS):
            causes = self.causes_of_a_slow_rank("host", fault_ms)[:3]
            if any("host_work" in (cause["function"] or "") for cause in causes):
                return
        self.fail(causes)

    def test_a_kernel_is_launched_where_it_is_called(self):
        source = pathlib.Path(__file__).parent.parent / "programs" / "ranks.cu"
        lines = source.read_text(encoding="utf-8").splitlines()
        for program in ("ranks", "ranks_unoptimised"):
            with self.subTest(program=program):
                self.forget_traces()
                (self.folder / "nccl_id").unlink(missing_ok=True)
                self.ranks(2, "kernel", 1, FAULT_MS, "layers", -1, 20, program=program)
                job = json.loads(self.run_cli("report", "--format=json", *self.traces()).stdout)["job"]
                first = job["causes"][0]
                self.assertEqual((first["kernel"], first["file"].rsplit("/", 1)[-1]), ("spin_ns", "ranks.cu"))
                self.assertIn("spin_ns<<<", lines[first["line"] - 1])

    def test_numbers_go_on_outside_of_the_window(self):
        for records in self.ranks(2, options=["--level=syncs"]):
            world = max(records.of("communicator"), key=lambda one: one["ranks"])
            numbers = [one["number"] for one in records.of("collective")
                       if one["communicator"] == world["communicator"]]
            self.assertEqual(numbers, list(range(1, len(numbers) + 1)))
            self.assertEqual({one["launches"] for one in records.of("collective_launch")}, {0})

    def test_a_rank_that_is_killed_leaves_what_it_did(self):
        other, killed = self.ranks(2, "die", 1, 0)
        counts = [sum(what[0] == "AllReduce" for what in self.matched(one).values()) for one in (other, killed)]
        # The killed rank's last half second may be missing; the other one waits in the step after.
        self.assertGreaterEqual(counts[0], STEPS // 2 * BUCKETS)
        self.assertGreaterEqual(counts[0], counts[1])
        self.assertLess(counts[0], STEPS * BUCKETS)

    def test_launchers_leave_no_file_and_ranks_are_named_by_rank(self):
        self.launch(2, harness.program("ranks"), self.folder, 2, options=["-o", "out/"])
        names = sorted(entry.name for entry in (self.folder / "out").iterdir())
        self.assertEqual(len(names), 2, names)
        for rank, name in enumerate(names):
            self.assertRegex(name, rf"^ranks\.rank{rank}\.\d+\.synctrace$")

    def test_a_job_that_only_asks_for_devices_leaves_nothing(self):
        done = self.launch(2, "true", options=["-o", "out/"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.traces(), [])
        self.assertFalse((self.folder / "out").exists())

    def test_names_never_collide(self):
        # Two hosts that share a folder and have the same ranks: what the pattern does not tell apart, a number does.
        for _ in range(2):
            done = self.launch(2, harness.program("nvtx_ranges"), options=["-o", "out/run%e"])
            self.assertEqual(done.returncode, 0, done.stderr)
        names = sorted(entry.name for entry in (self.folder / "out").iterdir())
        self.assertEqual(len(names), 4, names)
        self.assertTrue(all(name.endswith(".synctrace") for name in names), names)

    def test_ranks_of_each_launcher(self):
        for source, variables in LAUNCHERS.items():
            with self.subTest(source=source):
                self.forget_traces()
                job = {"SLURM_JOB_ID": "77", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
                self.launch(2, harness.program("nvtx_ranges"), variables=variables, env=job)
                facts = sorted((self.dump(trace).facts for trace in self.traces()), key=lambda one: one["rank"])
                self.assertEqual([one["rank"] for one in facts], ["0", "1"])
                for one in facts:
                    self.assertEqual((one["world_size"], one["rank_source"]), ("2", source))
                    self.assertEqual((one["job_id"], one["job_source"]), ("77", "SLURM_JOB_ID"))
                    self.assertEqual(one["job_meeting"], "node1:29500")
                self.assertEqual(facts[0]["boot_id"], facts[1]["boot_id"])


if __name__ == "__main__":
    harness.main()
