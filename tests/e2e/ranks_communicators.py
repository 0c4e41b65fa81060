# SPDX-License-Identifier: Apache-2.0
"""Communicators that are not one blocking rank a process: those whose launches another thread makes, and several ranks in
one process. Programs of Python that call the simulated NCCL by ctypes, as vLLM does."""
import sys

import harness
from survival_case import SurvivalCase

HEAD = """
import ctypes
class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]
class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("magic", ctypes.c_uint), ("version", ctypes.c_uint), ("blocking", ctypes.c_int)]
cuda, nccl = ctypes.CDLL("libcudart.so.13"), ctypes.CDLL("libnccl.so.2")
def check(result):
    assert result == 0, result
def all_reduce(comm, stream):
    check(nccl.ncclAllReduce(None, None, ctypes.c_size_t(1024), 7, 0, comm, stream))
def stream():
    made = ctypes.c_void_p()
    check(cuda.cudaStreamCreate(ctypes.byref(made)))
    return made
"""

NONBLOCKING = HEAD + """
comm, made = ctypes.c_void_p(), Id()
check(nccl.ncclGetUniqueId(ctypes.byref(made)))
config = Config(ctypes.sizeof(Config), 0, 0, 0)
check(nccl.ncclCommInitRankConfig(ctypes.byref(comm), 1, made, 0, ctypes.byref(config)))
for _ in range(3):
    all_reduce(comm, stream())
check(cuda.cudaDeviceSynchronize())
"""

TWO_IN_ONE = HEAD + """
comms = (ctypes.c_void_p * 2)()
check(nccl.ncclCommInitAll(comms, 2, None))
streams = []
for device in range(2):
    check(cuda.cudaSetDevice(device))
    streams.append(stream())
for _ in range(3):
    check(nccl.ncclGroupStart())
    for device in range(2):
        check(cuda.cudaSetDevice(device))
        all_reduce(ctypes.c_void_p(comms[device]), streams[device])
    check(nccl.ncclGroupEnd())
for device in range(2):
    check(cuda.cudaSetDevice(device))
    check(cuda.cudaDeviceSynchronize())
"""


class RanksCommunicators(SurvivalCase):
    def recorded(self, program, **env):
        script = self.folder / "program.py"
        script.write_text(program, encoding="utf-8")
        done = self.wrapped(sys.executable, script, env=env)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.dump()

    @staticmethod
    def nccl_kernels(records):
        return [kernel for kernel in records.of("kernel") if "ncclDevKernel" in records.strings[kernel["name"]]]

    def test_a_nonblocking_communicator_launches_on_a_thread_of_its_own(self):
        records = self.recorded(NONBLOCKING)
        self.assertEqual([one["number"] for one in records.of("collective")], [1, 2, 3])
        self.assertEqual([one["launches"] for one in records.of("collective_launch")], [0, 0, 0])
        caller = {one["thread"] for one in records.of("collective")}
        kernels = {kernel["correlation"] for kernel in self.nccl_kernels(records)}
        launchers = {launch["thread"] for launch in records.of("launch") if launch["correlation"] in kernels}
        self.assertEqual(len(kernels), 3)
        self.assertTrue(caller.isdisjoint(launchers))

    def test_two_ranks_in_one_process_count_together(self):
        records = self.recorded(TWO_IN_ONE, SIMGPU_DEVICES="2")
        world, = records.of("communicator")[-1:]
        self.assertEqual((world["ranks"], world["rank"]), (2, 0))
        self.assertEqual([one["turn"] for one in records.of("collective")], [1, 2, 3, 4, 5, 6])
        self.assertEqual([one["launches"] for one in records.of("collective_launch")], [2, 2, 2])
        ends = sorted(kernel["begin_ns"] + kernel["duration_ns"] for kernel in self.nccl_kernels(records))
        self.assertEqual(ends[0::2], ends[1::2])


if __name__ == "__main__":
    harness.main()
