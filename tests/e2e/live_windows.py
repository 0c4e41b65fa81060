# SPDX-License-Identifier: Apache-2.0
"""`synctrace run --dormant`, `ps`, `start`, `stop` and `status`: a program that nobody asks for is as it is bare, and each window
is a trace that reports by itself."""
import os
import shutil
import stat
import subprocess
import sys

import harness
from live_case import ENDLESS, KERNELS_OF_A_STEP, LiveCase

DORMANT_THREADS = ["synctrace", "synctrace-ctl"]
GRAPH_LAUNCH = ("cudaGraphLaunch", "cuGraphLaunch")
AS_BARE = [("nvtx_ranges",), ("threads64", 8, 50), ("graph_replay", 20, 50), ("graphs_later", 5), ("memory_kinds",), ("fork_with_cuda", 6),
           ("many_children", 5, 2), ("exec_self",), ("windows", 40, 10, 19), ("peer_copies",), ("stream_capture",)]

PYTHON = """\
import ctypes, time
runtime = ctypes.CDLL("libcudart.so.13")
pointer = ctypes.c_void_p()
runtime.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(1 << 26))
def wait():
    runtime.cudaDeviceSynchronize()
while True:
    runtime.cudaMemsetAsync(pointer, 0, ctypes.c_size_t(1 << 26), None)
    wait()
    time.sleep(0.002)
"""

# Asks CUPTI whether another tool could have it, as often as the file `ask` appears.
OTHER_TOOL = """\
import ctypes, pathlib, time
assert ctypes.CDLL("libcudart.so.13").cudaFree(None) == 0
cupti = ctypes.CDLL("libcupti.so.13")
subscriber, called = ctypes.c_void_p(), ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(lambda *_: None)
pathlib.Path("ready").touch()
while True:
    time.sleep(0.01)
    if pathlib.Path("ask").exists():
        pathlib.Path("ask").unlink()
        result = cupti.cuptiSubscribe(ctypes.byref(subscriber), called, None)
        if result == 0:
            cupti.cuptiUnsubscribe(subscriber)
        pathlib.Path("answer").write_text(str(result))
        pathlib.Path("answer").rename("told")
"""

OVER_ENVIRONMENT = """\
import ctypes, pathlib
assert ctypes.CDLL("libcudart.so.13").cudaFree(None) == 0
environment = ctypes.POINTER(ctypes.c_void_p).in_dll(ctypes.CDLL(None), "environ")
for i in range(10_000):
    if not environment[i]:
        break
    ctypes.memset(environment[i], ord("x"), len(ctypes.string_at(environment[i])))
pathlib.Path("written").touch()
"""


class Dormant(LiveCase):
    def test_nobody_asks(self):
        for command in AS_BARE:
            with self.subTest(command[0]):
                words = [harness.program(command[0]), *command[1:]]
                recorded = self.wrapped(*words, options=["--dormant"])
                self.assert_same(recorded, self.alone(*words))
                self.assertEqual(self.our_lines(recorded.stderr), [])
                self.assertEqual(self.traces(), [])
                self.assertEqual(list((self.runtime / "synctrace").iterdir()), [])

    def test_what_is_there(self):
        """Two threads that sleep, no CUPTI, no descriptor, and a socket that others cannot reach."""
        alone = self.start(harness.program("windows"), env={
            **harness.SIMULATED_ENV, "SIMGPU_HOLD": f"cudaStreamSynchronize:1:{self.folder / 'alone'}"})
        self.until((self.folder / "alone.held").exists, "the first wait")
        process, pid = self.start_dormant("windows", hold="cudaStreamSynchronize:1")
        self.await_sleep(pid, sorted([*self.threads(alone.pid), *DORMANT_THREADS]))
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
            self.assertNotIn("cupti", maps.read())
        self.assertEqual(self.descriptors(pid), self.descriptors(alone.pid))
        self.assertEqual(stat.filemode(self.socket_of(pid).stat().st_mode), "srw-------")
        self.assertEqual(stat.filemode(self.socket_of(pid).parent.stat().st_mode), "drwx------")
        (self.folder / "alone").touch()
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, self.finish(alone).stdout))
        self.assertFalse(self.socket_of(pid).exists())

    def test_an_end_by_a_signal_leaves_a_name_that_ps_takes_away(self):
        process, pid = self.start_dormant("endless", stdout=subprocess.DEVNULL)
        self.kill(pid)
        self.assertEqual(process.wait(), -9)
        self.assertTrue(self.socket_of(pid).exists())
        self.assert_forgotten(pid)

    def test_its_own_folder_that_cannot_be_used_leads_to_the_one_in_tmp(self):
        (self.runtime / "synctrace").symlink_to(self.folder)
        recorded = self.wrapped(harness.program("windows"), options=["--dormant"])
        self.assertEqual((recorded.returncode, self.our_lines(recorded.stderr)), (0, []))
        self.assertNotIn("sock", " ".join(self.files()))

    def test_where_a_thread_can_have_no_descriptors_of_its_own(self):
        recorded = self.wrapped(harness.program("windows"), options=["--dormant", "--plain-syscalls"])
        self.assert_same(recorded, self.alone(harness.program("windows")))
        self.assert_one_line(recorded.stderr, "descriptors of its own; no window can be recorded")
        self.assertFalse((self.runtime / "synctrace").exists())

    def test_how_it_is_told(self):
        recorded = self.record(harness.program("windows"), options=["--dormant"])
        self.assert_one_line(recorded.stderr, "dormant; to record 10 s of it: synctrace start ", " --duration 10s")
        self.assert_one_line(recorded.stderr, "no window was recorded")
        self.assertEqual(self.traces(), [])

    def test_the_variable_alone_is_enough(self):
        recorded = self.preloaded(harness.program("windows"), env={"SYNCTRACE_DORMANT": "1"})
        self.assert_same(recorded, self.alone(harness.program("windows")))
        self.assertEqual((self.our_lines(recorded.stderr), self.traces()), ([], []))


class Windows(LiveCase):
    def check_steps(self, trace):
        """A window of ENDLESS has all that a report needs. Returns its steps, those at the ends apart."""
        records, report = self.assert_complete(trace)
        self.assertEqual(records.lost_events(), {})
        self.assertEqual(report["covers"], "windows")
        self.assertEqual({work["what"] for work in report["work"]}, {"kernels"})
        self.assertIn("spin_ns", str(records.strings.values()))
        steps = report["steps"]
        self.assertEqual((steps["source"], steps["name"]), ("nvtx", "step"))
        whole = len(records.ranges())
        self.assertEqual(steps["count"] + steps["warm_up_count"], whole)
        kernels = len(records.of("kernel"))
        self.assertLessEqual(abs(kernels - KERNELS_OF_A_STEP * whole), 2 * KERNELS_OF_A_STEP)
        waits = [site for site in report["waits"] if site["api"] == "cudaStreamSynchronize"]
        self.assertEqual([(os.path.basename(site["file"]), site["line"] > 0) for site in waits], [("windows.cu", True)])
        self.assertIn("windows", [thread["name"] for thread in records.of("thread")])
        return whole

    def test_two_windows_with_durations(self):
        process, pid = self.start_dormant(*ENDLESS)
        sleeping = self.threads(pid)
        told = self.window(pid, "--duration", "300ms", "-o", "first")
        self.assertIn("windows.cu:", told.stderr)
        self.assert_one_line(told.stderr, f"recording process {pid} for 300.0 ms. CUPTI goes on recording GPU work in it (man synctrace-start, COST).")
        self.await_sleep(pid, sleeping)
        self.window(pid, "--duration", "300ms", "-o", "second", "--report=none")
        self.await_sleep(pid, sleeping)
        first, second = (self.check_steps(self.folder / f"{name}.synctrace") for name in ("first", "second"))
        self.assertGreater(first, 5)
        self.assertLess(first, 65)
        # How many steps a busy machine makes in the second is its own affair: it has all of each, and is as long.
        self.assertGreater(second, 1)
        for name in ("first", "second"):
            records, _ = self.assert_complete(self.folder / f"{name}.synctrace")
            opened, closed = (window["time_ns"] for window in records.windows())
            self.assertGreaterEqual(closed - opened, 300_000_000, name)
        self.assertIsNone(process.poll())
        status = self.cli("status", pid).stdout
        self.assertIn(f"process {pid} (windows): dormant; last window: {self.folder / 'second.synctrace'} (", status)
        self.assertIn("windows so far: 2", status)

    def test_start_and_stop(self):
        # Held in its first step: it has opened all that it opens by itself.
        _, pid = self.start_dormant(*ENDLESS, hold="cudaStreamSynchronize:1")
        descriptors = self.descriptors(pid)
        self.go()
        told = self.cli("start", pid)
        self.assertEqual(self.descriptors(pid), descriptors)
        self.assert_one_line(told.stderr, f"recording process {pid}", f"synctrace stop {pid}")
        self.assertIn(f"process {pid} (windows): recording", self.cli("status", pid).stdout)
        self.assertIn("recording", self.assert_one_line(self.cli("ps").stdout, str(pid)))
        again = self.run_cli("start", pid)
        self.assertEqual(again.returncode, 3)
        self.assert_one_line(again.stderr, f"process {pid}: a window is being recorded already")
        self.until(lambda: int(self.ask(pid)["since_ns"]) > 300_000_000, "a window of many steps")
        stopped = self.cli("stop", pid)
        self.assertIn("windows.cu:", stopped.stderr)
        self.check_steps(self.trace)
        self.assertEqual([window["open"] for window in self.dump(self.trace).windows()], [1, 0])
        self.assertIn("dormant", self.assert_one_line(self.cli("ps").stdout, str(pid)))
        none = self.run_cli("stop", pid)
        self.assertEqual(none.returncode, 3)
        self.assert_one_line(none.stderr, "no window is being recorded")

    def test_windows_of_one_name_are_numbered(self):
        _, pid = self.start_dormant(*ENDLESS)
        for _ in range(3):
            self.window(pid, "--duration", "50ms", "--report=none")
        self.assertEqual(len(self.traces()), 3)

    def test_an_old_trace_is_replaced_but_none_of_the_same_program(self):
        self.record(harness.program("windows"))
        _, pid = self.start_dormant(*ENDLESS, options=["-f", "-o", "trace"])
        for count in (1, 2):
            self.window(pid, "--duration", "50ms", "--report=none", "-f", "-o", "trace")
            self.assertEqual(len(self.traces()), count)
        self.assertEqual(self.dump(self.trace).facts["live_window"], "1")

    def test_ranges_that_are_opened_in_the_window(self):
        """Also where a thread had others open before, in domains that were made before."""
        process, pid = self.start_dormant("nvtx_ranges", hold="cudaStreamSynchronize:3")
        self.cli("start", pid)
        self.go()
        self.assertEqual(self.finish(process).returncode, 0)
        records, report = self.assert_complete(self.trace)
        steps = report["steps"]
        self.assertEqual((steps["name"], steps["count"] + steps["warm_up_count"]), ("step", 7))
        texts = [text for text, *_ in records.ranges()]
        self.assertEqual(texts.count("worker"), 8 * 50)
        self.assertEqual((texts.count("registered"), texts.count("in domain"), texts.count("wide")), (1, 1, 1))
        self.assertIn("survey", [domain["name"] for domain in records.of("nvtx_domain")])
        self.assertIn("nvtx worker", [thread["name"] for thread in records.of("thread")])

    def test_graphs_that_were_made_before(self):
        """Node by node, for whoever asks for whole ones too late kills the program."""
        process, pid = self.start_dormant("graph_replay", 20, 500, hold="cudaGraphLaunch:101")
        self.cli("start", pid)
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, "graph launches 500 nodes 20\n"))
        records, _ = self.assert_complete(self.trace)
        self.assertEqual(len(records.launches(*GRAPH_LAUNCH)), 400)
        self.assertEqual(len(records.of("kernel")), 20 * 400)
        self.assertEqual(records.of("graph"), [])

    def test_graphs_that_are_made_before_in_and_behind_windows(self):
        process, pid = self.start_dormant("graphs_later", 300, hold="cudaStreamBeginCapture:100")
        self.cli("start", pid, "--duration", "50ms", "--report=none", "-o", "before")
        self.cli("start", pid, "-o", "in")
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, "300 graphs\n"))
        records, _ = self.assert_complete(self.folder / "in.synctrace")
        self.assertEqual(len(records.launches(*GRAPH_LAUNCH)), 201 * 20)
        self.assertEqual(len(records.of("kernel")), 201 * 20 * 5)

    def test_memory_that_is_allocated_in_the_window_is_known(self):
        process, pid = self.start_dormant("memory_kinds", hold="cudaHostAlloc:1")
        self.cli("start", pid)
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, self.alone(harness.program("memory_kinds")).stdout))
        records, _ = self.assert_complete(self.trace)
        kinds = {call["source_memory"] for call in records.calls("cudaMemcpyAsync")}
        self.assertLessEqual({2, 5}, kinds)
        # Memory that no call in the window has made may have been pinned before.
        self.assertNotIn(1, kinds)

    def test_threads_that_were_there_before(self):
        process, pid = self.start_dormant("threads64", 16, 200, hold="cudaStreamSynchronize:500")
        self.cli("start", pid)
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout), (0, self.alone(harness.program("threads64"), 16, 200).stdout))
        records, _ = self.assert_complete(self.trace)
        self.assertEqual(records.lost_events(), {})
        self.assertEqual(len({launch["thread"] for launch in records.launches()}), 16)

    def test_another_tool_can_have_cupti_behind_a_window_of_level_syncs_alone(self):
        (self.folder / "tool.py").write_text(OTHER_TOOL, encoding="utf-8")
        _, pid = self.start_dormant(sys.executable, "tool.py")
        self.until((self.folder / "ready").exists, "the other tool")
        held = 39  # CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
        for level, expected in (("syncs", 0), ("timeline", held), ("syncs", held)):
            self.window(pid, "--duration", "20ms", "--level", level, "-o", "window", "-f", "--report=none")
            (self.folder / "ask").touch()
            self.until((self.folder / "told").exists, "the answer of CUPTI")
            self.assertEqual(int((self.folder / "told").read_text()), expected, level)
            (self.folder / "told").unlink()

    def test_level_syncs_and_a_window_in_which_nothing_happens(self):
        process, pid = self.start_dormant("windows", 40, 10, 19, hold="cudaStreamSynchronize:11")
        idle = self.run_cli("start", pid, "--duration", "100ms", "-o", "idle")
        self.assertEqual((idle.returncode, self.our_lines(idle.stderr)[:1]), (0, [
            f"synctrace: recording process {pid} for 100.0 ms. CUPTI goes on recording GPU work in it (man synctrace-start, COST)."]))
        self.assertEqual(self.dump(self.folder / "idle.synctrace").of("kernel"), [])
        harness.CliTest.run_cli(self, "start", pid)  # level syncs, which nobody has to ask for
        self.go()
        self.assertEqual(self.finish(process).stdout, "steps 40 kernels 160\n")
        records, _ = self.assert_complete(self.trace)
        self.assertEqual((len(records.calls("cudaStreamSynchronize")), records.of("kernel")), (30, []))

    def test_lines_of_python_in_the_second_window_as_in_the_first(self):
        """What a thread has told one trace, about code, stacks and modules, it tells the next."""
        script = self.folder / "train.py"
        script.write_text(PYTHON, encoding="utf-8")
        _, pid = self.start_dormant(sys.executable, script)
        lines = []
        for name in ("first", "second"):
            self.window(pid, "--duration", "300ms", "-o", name, "--report=none")
            _, report = self.assert_complete(self.folder / f"{name}.synctrace")
            lines.append({(site["api"], os.path.basename(site["file"]), site["line"]) for site in report["waits"]})
        self.assertEqual(lines[0], {("cudaDeviceSynchronize", "train.py", PYTHON.splitlines().index("    runtime.cudaDeviceSynchronize()") + 1)})
        self.assertEqual(lines[1], lines[0])

    def test_a_program_that_writes_over_its_environment(self):
        """Whoever sets the title of a process does so: what the recorder was told must outlive that."""
        script = self.folder / "train.py"
        script.write_text(OVER_ENVIRONMENT + PYTHON, encoding="utf-8")
        _, pid = self.start_dormant(sys.executable, script, env={"RANK": 0, "WORLD_SIZE": 1, "TORCHELASTIC_RUN_ID": "night"})
        self.until((self.folder / "written").exists, "the end of its environment")
        self.window(pid, "--duration", "100ms", "--report=none")
        records, _ = self.assert_complete(self.only_trace())
        self.assertEqual((records.facts["rank"], records.facts["job_id"]), ("0", "night"))
        self.assertEqual(self.ask(pid)["job"], "night")
        self.assertEqual(self.only_trace(), self.trace)

    def test_begin_later(self):
        _, pid = self.start_dormant(*ENDLESS)
        self.window(pid, "--at", "+1s", "--duration", "200ms", "--report=none")
        records, _ = self.assert_complete(self.trace)
        opened, closed = records.windows()
        asked = min(clock["monotonic_ns"] for clock in records.of("clock"))
        self.assertGreater(opened["time_ns"] - asked, 500_000_000)
        self.assertGreaterEqual(min(kernel["begin_ns"] for kernel in records.of("kernel")), opened["time_ns"] - 20_000_000)
        # A call or a range that was open when it began may be seen to end; nothing before it is.
        for kind in ("call", "launch", "nvtx_push"):
            first = min(record.get("begin_ns", record.get("time_ns")) for record in records.of(kind))
            self.assertGreaterEqual(first, opened["time_ns"] - 20_000_000, kind)
        self.assertEqual((opened["open"], closed["open"]), (1, 0))

    def test_a_folder_that_is_taken_away_is_no_word_of_the_program(self):
        process, pid = self.start_dormant("windows", 40, 10, 19, hold="cudaStreamSynchronize:11")
        (self.folder / "gone").mkdir()
        self.cli("start", pid, "-o", "gone/window")
        shutil.rmtree(self.folder / "gone")
        self.go()
        done = self.finish(process)
        self.assertEqual((done.returncode, done.stdout, self.our_lines(done.stderr)), (0, "steps 40 kernels 160\n", []))

    def test_begin_later_without_the_work_of_the_gpu(self):
        _, pid = self.start_dormant(*ENDLESS)
        self.window(pid, "--at", "+1s", "--duration", "200ms", "--report=none", "--level=syncs")
        records, report = self.assert_complete(self.trace)
        asked = min(clock["monotonic_ns"] for clock in records.of("clock"))
        calls = [call["begin_ns"] - asked for call in records.calls("cudaStreamSynchronize")]
        self.assertGreater(min(calls), 500_000_000)
        self.assertLess(max(calls) - min(calls), 400_000_000)
        self.assertEqual((records.windows(), records.of("kernel"), report["process"]["level"]), ([], [], "syncs"))

    def test_max_size_ends_the_window(self):
        _, pid = self.start_dormant("launch_many", 100_000_000)
        self.window(pid, "--max-size", "1M", "--duration", "10m", "--report=none", "--no-compress", "--no-symbols")
        self.assertLessEqual(self.trace.stat().st_size, 1 << 20)
        records, _ = self.assert_complete(self.trace)
        self.assertEqual(records.of("end")[0]["reason"], "max-size")


if __name__ == "__main__":
    harness.main()
