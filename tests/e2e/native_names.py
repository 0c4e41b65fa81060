# SPDX-License-Identifier: Apache-2.0
"""A program in C++, optimised and without frame pointers: its lines are named, on this machine and on any other."""
import json
import os
import shutil
import subprocess

import harness

HEADER = """\
extern "C" int cudaDeviceSynchronize();

namespace vendor {

[[gnu::always_inline]] inline int wait() {
  return cudaDeviceSynchronize();  // the wait
}

}  // namespace vendor
"""

SOURCE = """\
#include "vendor/sync.h"

extern "C" {
int cudaMalloc(void** pointer, unsigned long size);
int cudaMemset(void* pointer, int value, unsigned long size);
}

namespace train {

template <class T>
[[gnu::noinline]] int step(T* values) {
  cudaMemset(values, 0, 4096);
  int failed = vendor::wait();  // the inlined call
  asm volatile("" ::: "memory");
  return failed;
}

[[gnu::noinline]] int epoch(float* values) {
  int failed = 0;
  for (int i = 0; i < 5; ++i) failed += step(values);  // the loop
  return failed;
}

}  // namespace train

int main() {
  void* values = nullptr;
  if (cudaMalloc(&values, 4096) != 0) return 1;
  return train::epoch(static_cast<float*>(values));  // main
}
"""

COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


def line_of(comment, text=SOURCE):
    return next(number for number, line in enumerate(text.splitlines(), 1) if line.endswith("// " + comment))


WAIT = line_of("the wait", HEADER)


class NativeNames(harness.CliTest):
    def setUp(self):
        super().setUp()
        if not (harness.SIMGPU and COMPILER):
            self.skipTest("needs a compiler and the simulated GPU")
        (self.folder / "home" / "vendor").mkdir(parents=True)
        self.header = self.folder / "home" / "vendor" / "sync.h"
        self.header.write_text(HEADER)
        self.source = self.folder / "home" / "train.cpp"
        self.source.write_text(SOURCE)
        self.program = self.folder / "home" / "train"

    def build(self, *flags):
        subprocess.run([COMPILER, "-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-Wl,--build-id", *flags, str(self.source),
                        "-o", str(self.program), os.path.join(harness.SIMGPU, "libcudart.so.13")], check=True)

    def record_program(self, *options):
        done = self.record(self.program, options=options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def the_wait(self, report):
        sites = [site for site in report["waits"] if site["api"] == "cudaDeviceSynchronize"]
        self.assertEqual(len(sites), 1, sites)
        return sites[0]

    def own_frames(self, site):
        return [(frame["function"], frame["line"], frame["inlined"]) for frame in site["stack"]
                if frame["module"] == str(self.program) and frame["line"]]

    def test_lines_and_inlined_functions(self):
        self.build()
        self.record_program()
        site = self.the_wait(self.report())
        self.assertEqual((site["file"], site["line"], site["count"]), (str(self.header), WAIT, 5))
        self.assertEqual(site["source"], "return cudaDeviceSynchronize();  // the wait")
        self.assertEqual(self.own_frames(site), [("vendor::wait()", WAIT, True),
                                                 ("int train::step<float>(float*)", line_of("the inlined call"), False),
                                                 ("train::epoch(float*)", line_of("the loop"), False),
                                                 ("main", line_of("main"), False)])

    def test_the_text_names_line_and_source(self):
        self.build()
        done = self.record_program("--report=full")
        self.assert_one_line(harness.table_of_waits(done.stderr), "ST002 ", f"sync.h:{WAIT} in vendor::wait", "return cudaDeviceSynchronize();")

    def test_a_position_dependent_program(self):
        self.build("-no-pie")
        self.record_program()
        self.assertEqual(self.the_wait(self.report())["line"], WAIT)

    def test_a_stripped_program_has_offsets(self):
        self.build("-s")
        done = self.record_program("--report=full")
        site = self.the_wait(self.report())
        self.assertEqual((site["file"], site["line"], site["source"]), (None, None, None))
        self.assertRegex(site["function"], r"^train\+0x[0-9a-f]+$")
        self.assert_one_line(harness.table_of_waits(done.stderr), "ST002 in train+0x")

    def test_what_was_built_without_lines_is_told_how_to_get_them(self):
        for flags, said in ((("-g0",), "No lines: only function names are known; build with -g"),
                            (("-s",), "No lines: the program has no symbols; build with -g"), ((), "")):
            self.build(*flags)
            done = self.record_program("-f")
            self.assertIn(said, done.stderr)
            self.assertEqual("No lines" in done.stderr, said != "")

    def test_a_copy_elsewhere_without_program_and_source_says_the_same(self):
        self.build()
        self.record_program()
        text = self.run_cli("report", "--full", "trace.synctrace").stdout
        self.assertIn("vendor::wait", text)
        other = self.folder / "laptop"
        other.mkdir()
        shutil.copy(self.trace, other / "trace.synctrace")
        shutil.rmtree(self.folder / "home")
        self.trace.unlink()
        self.assertEqual(self.run_program(harness.SYNCTRACE, "report", "--full", other / "trace.synctrace").stdout,
                         text.replace("  trace.synctrace\n", f"  {other}/trace.synctrace\n", 1))

    def test_without_symbols_the_report_looks_them_up(self):
        self.build()
        self.record_program("--no-symbols", "--report=none")
        size = self.trace.stat().st_size
        self.assertEqual(self.the_wait(self.report())["line"], WAIT)
        self.assertEqual(self.trace.stat().st_size, size, "a report changes no trace")
        told = json.loads(self.run_cli("report", "--no-symbols", "--format=json", "trace.synctrace").stdout)["processes"][0]
        self.assertRegex(self.the_wait(told)["function"], r"^train\+0x")

    def test_another_program_at_the_same_place_is_not_believed(self):
        self.build()
        self.record_program("--no-symbols", "--report=none")
        self.source.write_text("\n\n" + SOURCE)
        self.build()
        report = self.report()
        self.assertRegex(self.the_wait(report)["function"], r"^train\+0x")
        self.assertIn("symbols-file-changed", [loss["name"] for loss in report["losses"]])

    def test_the_verb_stores_them(self):
        self.build()
        done = self.preload(self.program)
        self.assertEqual(done.returncode, 0, done.stderr)
        stored = self.run_cli("symbols", self.trace)
        self.assertEqual((stored.returncode, stored.stdout, stored.stderr), (0, "", ""))
        again = self.run_cli("symbols", self.trace)
        self.assertEqual(again.returncode, 0)
        self.assert_one_line(again.stderr, "has its names already")
        shutil.rmtree(self.folder / "home")
        self.assertEqual(self.the_wait(self.report())["source"], "return cudaDeviceSynchronize();  // the wait")

    def test_the_report_at_exit_stores_them_too(self):
        self.build()
        done = self.preload(self.program, env={"SYNCTRACE_REPORT": self.folder / "report.txt"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"sync.h:{WAIT}", (self.folder / "report.txt").read_text())
        shutil.rmtree(self.folder / "home")
        self.assertEqual(self.the_wait(self.report())["line"], WAIT)

    def test_patterns_choose_the_frame(self):
        self.build()
        self.record_program()

        def site_with(*options):
            told = self.run_cli("report", "--format=json", *options, "trace.synctrace")
            site = self.the_wait(json.loads(told.stdout)["processes"][0])
            return site["file"], site["line"]

        caller = (str(self.source), line_of("the inlined call"))
        self.assertEqual(site_with("--library-code", "vendor"), caller)
        self.assertEqual(site_with("--library-code", self.folder / "home" / "vendor"), caller)
        self.assertEqual(site_with("--library-code", "vendor", "--user-code", "vendor/sync.h"), (str(self.header), WAIT))

    def test_patterns_for_the_report_of_run(self):
        self.build()
        done = self.record_program("--report=full", "--library-code", "vendor")
        self.assert_one_line(harness.table_of_waits(done.stderr), "ST002 ", f"train.cpp:{line_of('the inlined call')} in train::step")

    def test_a_program_that_is_gone_costs_its_names(self):
        self.build()
        self.record_program("--no-symbols", "--report=none")
        self.program.unlink()
        report = self.report()
        self.assertRegex(self.the_wait(report)["function"], r"^train\+0x")
        self.assertIn("symbols-file-missing", [loss["name"] for loss in report["losses"]])

    def test_a_hostile_program_file_costs_its_names_only(self):
        self.build("-Wl,--build-id=none")
        self.record_program("--no-symbols", "--report=none")
        whole = self.program.read_bytes()
        for cut in (100, len(whole) // 2, len(whole) - 100):
            self.program.write_bytes(whole[:cut] + os.urandom(len(whole) - cut))
            done = self.run_cli("report", "--full", "trace.synctrace")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("cudaDeviceSynchronize", done.stdout)


class Options(harness.CliTest):
    def test_patterns_are_checked(self):
        for verb in (["run"], ["report"]):
            for option in ("--user-code", "--library-code"):
                done = self.run_cli(*verb, option, "", *(["--", "true"] if verb == ["run"] else ["x.synctrace"]))
                self.assertEqual(done.returncode, 2)
                self.assert_one_line(done.stderr, option, "empty pattern")

    def test_no_symbols_excludes_debuginfod(self):
        self.assertEqual(self.run_cli("report", "--no-symbols", "--debuginfod", "x.synctrace").returncode, 2)

    def test_symbols_of_no_trace(self):
        (self.folder / "x.synctrace").write_text("a text that is no trace at all, but as long as the header of one")
        done = self.run_cli("symbols", "x.synctrace", "absent.synctrace")
        self.assertEqual(done.returncode, 3)
        self.assert_one_line(done.stderr, "x.synctrace", "not a synctrace trace")
        self.assert_one_line(done.stderr, "absent.synctrace")


if __name__ == "__main__":
    harness.main()
