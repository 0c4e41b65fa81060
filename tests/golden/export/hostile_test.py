# SPDX-License-Identifier: Apache-2.0
"""Exports of traces that no honest program makes, several traces in one result, and what the command refuses."""
import os
import subprocess
import unittest

import chrome_json
from export_case import GOLDEN, PATIENCE_S, SYNCTRACE, ExportCase

HEAD = """synctrace-text 1 start_realtime_ns=1700000000000000000 process_id={process}
chunk
schemas
clock monotonic_ns=1000 realtime_ns=1700000000000001000
context context=1 device=0 null_stream=7
window time_ns=1000 open=1 reason="start"
"""


def text(*lines, process=4711):
    return HEAD.format(process=process) + "\n".join(lines) + "\n"


def kernel(begin, duration, stream=7, **fields):
    more = "".join(f" {name}={value}" for name, value in fields.items())
    return f"kernel begin_ns={begin} duration_ns={duration} context=1 stream={stream}{more}"


class Hostile(ExportCase):
    def exported(self, *lines, **options):
        document = self.export(self.assemble(text(*lines, **options)))
        self.assertEqual(chrome_json.violations(document), [])
        return document

    def test_names_of_any_bytes(self):
        name = r'a\"b\\c\x01\x1f\x7f\n\t\xff\xfe</script>\xf0\x9f\x98\x80'
        document = self.exported(f'string id=1 text="{name}"', f'fact key="program" value="{name}"',
                                 f'thread thread=4711 name="{name}"', f'api_name api=33554643 category=14 name="{name}"',
                                 "launch thread=4711 begin_ns=1500 duration_ns=10 api=33554643 correlation=5",
                                 kernel(2000, 100, name=1, correlation=5),
                                 "nvtx_push thread=4711 time_ns=1400 text=1", "nvtx_pop thread=4711 time_ns=1900")
        names = {one.name for one in chrome_json.slices(document)}
        self.assertEqual(names, {'a"b\\c\x01\x1f\x7f\n\t\ufffd\ufffd</script>\U0001f600'})

    def test_work_of_one_stream_that_overlaps(self):
        document = self.exported(kernel(2000, 100), kernel(2050, 100), kernel(2060, 10), kernel(2050, 200), kernel(2300, 5))
        work = chrome_json.slices(document, chrome_json.GPU_CATEGORIES)
        self.assertEqual(len(work), 5)
        self.assertEqual({one.args["stream"] for one in work}, {7})
        self.assertEqual([one.row for one in work].count((0, 7)), 3)

    def test_streams_of_two_contexts_with_one_number(self):
        document = self.exported("context context=2 device=0 null_stream=7", kernel(2000, 100),
                                 kernel(2050, 100).replace("context=1", "context=2"))
        work = chrome_json.slices(document, chrome_json.GPU_CATEGORIES)
        self.assertEqual(len({one.args["stream"] for one in work}), 2)

    def test_a_process_with_the_number_of_a_device(self):
        document = self.exported('device device=0 name="G"', 'device device=1 name="G"', kernel(2000, 100, device=1),
                                 "call thread=1 begin_ns=1500 duration_ns=10 api=33554454", process=1)
        self.assertEqual(len({one.row[0] for one in chrome_json.slices(document)}), 2)

    def test_ranges_that_overlap_and_ranges_without_an_end(self):
        document = self.exported('string id=1 text="r"', "nvtx_start thread=4711 time_ns=1100 text=1 range=1",
                                 "nvtx_start thread=4711 time_ns=1200 text=1 range=2", "nvtx_end thread=4711 time_ns=1300 range=1",
                                 "nvtx_end thread=4712 time_ns=1400 range=2", "nvtx_push thread=4711 time_ns=1500 text=1",
                                 "nvtx_pop thread=4711 time_ns=1050", "nvtx_mark thread=4711 time_ns=1600 text=1",
                                 "call thread=4711 begin_ns=1550 duration_ns=1000 api=33554454")
        self.assertEqual([event["ph"] for event in document["traceEvents"]].count("b"), 2)
        unfinished, = [one for one in chrome_json.slices(document, {"user_annotation"}) if "unfinished" in one.args]
        self.assertEqual(unfinished.end - unfinished.begin, 2550 - 1500)

    def test_impossible_clocks(self):
        for clock in ("monotonic_ns=9000000000000000000 realtime_ns=1", "monotonic_ns=0 realtime_ns=-9000000000000000000",
                      "monotonic_ns=0 realtime_ns=9000000000000000000", "monotonic_ns=1000000000000000000 realtime_ns=0"):
            with self.subTest(clock):
                source = text(kernel(2000, 100), kernel(1000000000000000000, 5)).replace(
                    "monotonic_ns=1000 realtime_ns=1700000000000001000", clock)
                self.assertEqual(chrome_json.violations(self.export(self.assemble(source))), [])

    def test_work_that_seems_to_begin_before_its_call(self):
        """Where a wait that returns with its work keeps the clocks from being reconciled."""
        document = self.exported('api_name api=33554563 category=1 name="cudaStreamSynchronize"',
                                 "launch thread=4711 begin_ns=2500 duration_ns=10 api=33554643 correlation=5",
                                 kernel(2000, 100, correlation=5),
                                 "launch thread=4711 begin_ns=2900 duration_ns=10 api=33554643 correlation=6",
                                 kernel(3000, 1000000, correlation=6),
                                 "call thread=4711 begin_ns=4000 duration_ns=999000 api=33554563 context=1 stream=7")
        self.assertEqual([event["id"] for event in document["traceEvents"] if event["ph"] == "s"], [6])

    def test_an_empty_trace(self):
        self.assertEqual(chrome_json.slices(self.exported()), [])


class Several(ExportCase):
    def ranks(self):
        """Two ranks of one host, each with every number of the other."""
        lines = ['device device=0 name="G"', "api_name api=33554643 category=14 name=\"cudaLaunchKernel\"",
                 "launch thread=4711 begin_ns=1500 duration_ns=10 api=33554643 correlation=5", kernel(2000, 100, correlation=5)]
        return [self.assemble(text(f'fact key="rank" value="{rank}"', *lines), f"rank{rank}") for rank in (0, 1)]

    def test_in_one_file_their_numbers_do_not_clash(self):
        document = self.export(*self.ranks())
        self.assertEqual(chrome_json.violations(document), [])
        rows = [one.row for one in chrome_json.slices(document)]
        self.assertEqual(len(set(rows)), 4, rows)
        self.assertEqual(len({event["id"] for event in document["traceEvents"] if event["ph"] == "s"}), 2)
        self.assertNotIn("distributedInfo", document)

    def test_in_a_folder_each_has_its_file(self):
        self.ok("export", *self.ranks(), "-o", "ranks/")
        for rank in (0, 1):
            document = chrome_json.load(self.folder / f"ranks/rank{rank}.json")
            self.assertEqual(chrome_json.violations(document), [])
            self.assertEqual(document["distributedInfo"]["rank"], rank)

    def test_ranks_share_their_zero(self):
        self.ok("export", *self.ranks(), "-o", "ranks/")
        bases = {chrome_json.load(self.folder / f"ranks/rank{rank}.json")["baseTimeNanoseconds"] for rank in (0, 1)}
        self.assertEqual(len(bases), 1)


class CommandLine(ExportCase):
    def setUp(self):
        super().setUp()
        self.trace = self.assemble(text(kernel(2000, 100)))

    def refused(self, status, word, *arguments):
        done = self.cli("export", *arguments)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(word, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertEqual([file.name for file in self.folder.rglob("*.tmp")], [])

    def test_stdout(self):
        out = self.folder / "out.json"
        out.write_text(self.ok("export", self.trace, "-o", "-"), encoding="utf-8")
        self.assertEqual(chrome_json.violations(chrome_json.load(out)), [])

    def test_the_name_says_the_format(self):
        of_name = {".json": "chrome", ".pftrace": "perfetto", ".sqlite": "nsys-sqlite", ".speedscope.json": "speedscope",
                   ".pb.gz": "pprof", ".folded": "folded"}
        (self.folder / "asked").mkdir()
        for ending, form in of_name.items():
            by_name, asked = f"a{ending}", f"asked/a{ending}"
            self.ok("export", "--no-symbols", self.trace, "-o", by_name)
            self.ok("export", "--no-symbols", self.trace, "-o", asked, "--format", form)
            self.assertEqual((self.folder / by_name).read_bytes(), (self.folder / asked).read_bytes(), ending)
        self.ok("export", self.trace, "-o", "a.csv")
        self.assertTrue((self.folder / "a.kernels.csv").exists())
        self.ok("export", self.trace, "--format", "chrome", "-o", "as.asked")
        self.assertEqual(chrome_json.violations(chrome_json.load(self.folder / "as.asked")), [])

    def test_an_ending_that_says_nothing_is_refused_with_those_that_do(self):
        for name in ("out", "out.txt", "train.trace.json.gz", ".json"):
            with self.subTest(name):
                self.refused(2, f"which format is {name}? Give --format, or a name that ends in one of .json (chrome), .pftrace (perfetto)",
                             self.trace, "-o", name)
                self.assertFalse((self.folder / name).exists())

    def test_files_are_not_replaced_unasked(self):
        target = self.folder / "mine.json"
        target.write_text("mine")
        self.refused(2, "--force-overwrite", self.trace, "-o", target)
        self.assertEqual(target.read_text(), "mine")
        self.ok("export", self.trace, "-o", target, "--force-overwrite")
        self.assertNotEqual(target.read_text(), "mine")

    def test_a_pipe_is_written_to_and_stays_one(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        with subprocess.Popen([SYNCTRACE, "export", self.trace, "-o", pipe, "--force-overwrite"]) as process:
            text = pipe.read_text(encoding="utf-8")
            self.assertEqual(process.wait(PATIENCE_S), 0)
        (self.folder / "read.json").write_text(text, encoding="utf-8")
        self.assertEqual(chrome_json.violations(chrome_json.load(self.folder / "read.json")), [])
        self.assertTrue(pipe.is_fifo())

    def test_a_link_is_followed(self):
        target, link = self.folder / "target.json", self.folder / "link.json"
        target.write_text("old", encoding="utf-8")
        link.symlink_to(target)
        self.refused(2, "exists already", self.trace, "-o", link)
        self.ok("export", self.trace, "-o", link, "--force-overwrite")
        self.assertTrue(link.is_symlink())
        self.assertEqual(chrome_json.violations(chrome_json.load(target)), [])

    def test_what_it_cannot_do(self):
        self.refused(2, "--output", self.trace)
        self.refused(2, "chrome", self.trace, "--format", "pdf", "-o", "x.json")
        self.refused(2, "there is no folder no/such", self.trace, "-o", "no/such/folder.json")
        self.refused(3, "absent.synctrace", "absent.synctrace", "-o", "x.json")
        self.assertFalse((self.folder / "x.json").exists())
        self.refused(4, "no *.synctrace", GOLDEN / "export", "-o", "x.json")

    def test_a_trace_is_never_replaced_by_its_export(self):
        before = self.trace.read_bytes()
        self.refused(2, "one of the traces", self.trace, "-o", self.trace, "--force-overwrite")
        self.assertEqual(self.trace.read_bytes(), before)

    def test_two_traces_of_one_name(self):
        (self.folder / "a").mkdir()
        (self.folder / "a/case.synctrace").write_bytes(self.trace.read_bytes())
        self.refused(2, "one by one", self.trace, "a", "-o", "out/")

    def test_a_full_disk(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = subprocess.run([SYNCTRACE, "export", self.trace, "-o", "-"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("No space left", done.stderr)

    def test_a_trace_that_cannot_be_read_beside_one_that_can(self):
        done = self.cli("export", "absent.synctrace", self.trace, "-o", "x.json")
        self.assertEqual(done.returncode, 3)
        self.assertEqual(chrome_json.violations(chrome_json.load(self.folder / "x.json")), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
