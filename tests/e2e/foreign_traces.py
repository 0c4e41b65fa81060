# SPDX-License-Identifier: Apache-2.0
"""Traces from elsewhere: whatever file of this machine they name as source or module, nothing of it is shown, read or
waited for, unless it lies where the user's own sources do. And texts that are not what they look like."""
import contextlib
import ctypes
import gzip
import os
import pathlib
import resource
import sqlite3
import struct
import tempfile
import time
import unittest
import zlib

import harness

SECRET = "correct-horse-battery-staple"
# Reads of a large file or of an endless one, and waits for a FIFO, would take longer.
LONGEST_S = 6
MOST_KIB = 1 << 20

HEAD = """synctrace-text 1 start_realtime_ns={now} process_id=4242
chunk
schemas
{facts}
clock monotonic_ns=1000 realtime_ns={now}
thread thread=4242 name="main"
device device=0 name="GPU"
context context=1 device=0 null_stream=7
window time_ns=1000 open=1 reason="start"
api_name api=33554643 category=14 name="cudaLaunchKernel"
api_name api=33554563 category=1 name="cudaStreamSynchronize"
string id=1 text="kernel"
"""

FORMATS = ("chrome", "perfetto", "nsys-sqlite", "csv", "folded", "speedscope", "pprof")
GATE_FORMATS = ("text", "json", "sarif", "junit", "github", "gitlab", "md")


def quoted(text):
    return '"' + "".join(c if 32 < ord(c) < 127 and c not in '"\\' else f"\\x{b:02x}" for ch in text
                         for c, b in ((chr(b), b) for b in ch.encode())) + '"'


class ForeignTrace(harness.CliTest):
    def setUp(self):
        super().setUp()
        self.elsewhere = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-elsewhere-"))
        self.addCleanup(lambda: harness.shutil.rmtree(self.elsewhere, ignore_errors=True))
        self.places = []  # the next trace's
        self.records = []
        self.facts = [f'fact key="working_folder" value={quoted(str(self.folder))}']

    def source(self, path, line=1):
        """Names a line of a file as the place of a Python function."""
        code = len(self.places) + 1
        self.records.append(f'code id={code} python_version=51118336 first_line={line - 1} file={quoted(str(path))} '
                            f'function="step{code}" line_table="\\xe9\\x02"')
        self.places.append(f"p{code}:0")

    def module(self, path, address, build_id=""):
        """Names an address of a file as the place of a native function."""
        module = len(self.places) + 1
        self.records.append(f"module id={module} begin=4096 end=18446744073709551615 path={quoted(str(path))} build_id=\"{build_id}\"")
        self.places.append(f"n{module}:{address:x}")

    def symbol(self, path, line=1):
        """Names a line of a file as the source of a native function."""
        self.module(f"/nowhere/lib{len(self.places)}.so", 0x10)
        self.records.append(f'symbol module={len(self.places)} address=16 depth=0 flags=2 line={line} function="f" file={quoted(str(path))}')

    def assemble(self, name="foreign"):
        """A trace with a wait at each place."""
        lines = [HEAD.format(now=4_000_000_000_000_000_000, facts="\n".join(self.facts)).rstrip(), *self.records]
        time = 10_000
        for number, place in enumerate(self.places):
            lines.append(f'stack id={number + 1} frames="{place}"')
            for _ in range(4):
                lines.append(f"launch thread=4242 begin_ns={time} duration_ns=1000 api=33554643 correlation={time}")
                lines.append(f"kernel begin_ns={time + 2000} duration_ns=50000 context=1 stream=7 correlation={time} name=1")
                lines.append(f"call thread=4242 begin_ns={time + 1500} duration_ns=51000 api=33554563 context=1 stream=7 "
                             f"correlation={time + 1} stack={number + 1}")
                time += 100_000
        lines.append(f'end time_ns={time} record_count=0 reason="exit"')
        self.places, self.records = [], []
        self.assemble_trace("\n".join(lines) + "\n", name)
        return self.folder / f"{name}.synctrace"

    def timed(self, *arguments, **options):
        done = self.run_program(harness.SYNCTRACE, *arguments, text=False, **options)
        self.assertIn(done.returncode, (0, 1, 2, 3, 4), done.stderr)
        return done

    def everything_about(self, trace, *options):
        """All that any command says of the trace, by its command."""
        said = {}

        def say(*arguments, made=()):
            done = self.timed(*arguments, *options, str(trace))
            text = done.stdout + done.stderr
            for pattern in made:
                for path in sorted(self.folder.glob(pattern)):
                    text += path.read_bytes()
                    path.unlink()
            said[" ".join(map(str, arguments))] = text

        for form in ("text", "json", "md", "csv"):
            say("report", "--format", form, "--stacks")
        say("report", "--html", "page.html", made=["page.html"])
        for form in FORMATS:
            say("export", "--format", form, "--stacks", "-o", f"made.{form}", "--force-overwrite", made=["made*"])
        for form in GATE_FORMATS:
            say("gate", "--format", form, "--all")
        say("gate", "--print-allow")
        say("diff", str(trace))
        say("baseline", "create", "--baseline", "b.json", made=["b.json"])
        copy = self.folder / "copy.synctrace"
        copy.write_bytes(trace.read_bytes())
        said["symbols"] = self.timed("symbols", *options, str(copy)).stderr + copy.read_bytes()
        said["dump"] = self.timed("dump", str(copy)).stdout
        copy.unlink()
        return said

    def assert_never_said(self, words, said):
        for command, text in said.items():
            for word in words:
                self.assertNotIn(word.encode(), text, command)

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class Files(ForeignTrace):
    def hostile_paths(self):
        """Files that a trace must not have shown, and words of theirs."""
        home = self.write(self.elsewhere / "home" / "notes.txt", f"{SECRET}  # synctrace: allow[ST001] {SECRET}\n")
        fifo = self.elsewhere / "fifo"
        os.mkfifo(fifo)
        inner_fifo = self.folder / "fifo.py"
        os.mkfifo(inner_fifo)
        sparse = self.elsewhere / "sparse"
        inner_sparse = self.folder / "sparse.py"
        for path in (sparse, inner_sparse):
            with open(path, "wb") as file:
                file.truncate(60 << 30)
        link = self.folder / "link.py"
        link.symlink_to(home)
        zero = self.folder / "zero.py"
        zero.symlink_to("/dev/zero")
        hidden = self.write(self.folder / ".env", SECRET + "\n")
        return ["/etc/passwd", "/etc/shadow", home, f"{self.folder}/../{self.elsewhere.name}/home/notes.txt", fifo, inner_fifo,
                "/dev/zero", "/dev/tty", sparse, inner_sparse, link, zero, hidden, "/proc/self/environ", "/proc/kcore",
                os.path.relpath(home, self.folder)]

    def test_nothing_of_them_is_in_any_output(self):
        paths = self.hostile_paths()
        mark = f"{SECRET}-variable"
        for path in paths:
            self.source(path)
            self.symbol(path)
        for path in paths:
            self.module(path, 0x10)
            self.module(path, 0x10, "00112233445566778899aabbccddeeff00112233")
        trace = self.assemble()
        os.environ["SECRET_OF_THE_TEST"] = mark
        self.addCleanup(os.environ.pop, "SECRET_OF_THE_TEST")
        said = self.everything_about(trace)
        self.assert_never_said([SECRET, "root:x:0", "root:*:", "root:$"], said)
        for command in ("report --format text --stacks", "report --format json --stacks"):
            self.assertEqual(said[command].count(b"--source-root FOLDER"), 2, command)  # one note for sources, one for modules
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, MOST_KIB)

    def test_lines_of_the_project_have_their_text(self):
        self.write(self.folder / "train.py", "loss.item()  # mine\n")
        self.source(self.folder / "train.py")
        trace = self.assemble()
        self.assertIn(b"loss.item()", self.timed("report", "--full", trace).stdout)
        (self.folder / "deeper").mkdir()
        report = [harness.SYNCTRACE, "report", "--full", str(trace)]
        deeper = harness.subprocess.run(report, cwd=self.folder / "deeper", capture_output=True, timeout=LONGEST_S, check=True).stdout
        self.assertNotIn(b"loss.item()", deeper)
        (self.folder / ".git").mkdir()
        deeper = harness.subprocess.run(report, cwd=self.folder / "deeper", capture_output=True, timeout=LONGEST_S, check=True).stdout
        self.assertIn(b"loss.item()", deeper)

    def test_a_home_folder_is_no_project(self):
        self.write(self.folder / "notes.txt", SECRET + "\n")
        self.source(self.folder / "notes.txt")
        trace = self.assemble()
        self.assertNotIn(SECRET.encode(), self.timed("report", "--full", trace, env={"HOME": self.folder}).stdout)
        self.assertNotIn(SECRET.encode(), self.timed("report", "--full", trace, env={"HOME": self.folder / "deeper"}).stdout)
        self.assertIn(SECRET.encode(), self.timed("report", "--full", "--source-root", self.folder, trace, env={"HOME": self.folder}).stdout)
        self.assertNotIn(SECRET.encode(), self.timed("gate", "--format", "sarif", trace, env={"HOME": self.folder}).stdout)
        self.assertIn(SECRET.encode(), self.timed("gate", "--format", "json", "--root", self.folder, trace, env={"HOME": self.folder}).stdout)

    def test_source_root_allows_a_folder_and_nothing_else(self):
        self.write(self.elsewhere / "one" / "a.py", "first()\n")
        self.write(self.elsewhere / "two" / "b.py", "second()\n")
        self.source(self.elsewhere / "one" / "a.py")
        self.source(self.elsewhere / "two" / "b.py")
        trace = self.assemble()
        said = self.everything_about(trace, "--source-root", str(self.elsewhere / "one"))
        shown = [command for command, text in said.items() if b"first()" in text]
        for command in ("report --format text --stacks", "report --format json --stacks", "gate --format json --all", "symbols"):
            self.assertIn(command, shown)
        self.assert_never_said(["second()"], said)
        done = self.timed("report", "--full", "--source-root", "absent", trace)
        self.assertEqual(done.returncode, 2)
        self.assert_one_line(done.stderr.decode(), "--source-root=absent")

    def test_own_recordings_are_believed(self):
        self.write(self.elsewhere / "a.py", "first()\n")
        self.source(self.elsewhere / "a.py")
        trace = self.assemble()
        self.timed("symbols", "--own", trace)
        self.assertIn(b"first()", self.timed("report", "--full", trace).stdout)

    def test_a_module_without_build_id_is_not_opened_for_strangers(self):
        address = ctypes.cast(ctypes.CDLL(None).qsort, ctypes.c_void_p).value
        for line in pathlib.Path("/proc/self/maps").read_text().splitlines():
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= address < end:
                # A shared library's first segments lie in memory as they do in its file.
                path, at = line.split()[5], address - begin + int(line.split()[2], 16)
        self.module(path, at + 1)
        self.places[-1] = self.places[-1].replace("n", "i")
        trace = self.assemble()
        stacks = ["export", "--format", "folded", "-o", "-"]
        self.assertNotIn(b"qsort", self.timed(*stacks, trace).stdout)
        self.assertIn(b"symbols-file-outside", self.timed("report", "--full", trace).stdout)
        folder = os.path.dirname(os.path.realpath(path))
        self.assertIn(b"qsort", self.timed(*stacks, "--source-root", folder, trace).stdout)
        self.assertNotIn(b"symbols-file-outside", self.timed("report", "--full", "--source-root", folder, trace).stdout)


class Modules(ForeignTrace):
    """Modules of the project's own folder, which are opened, and are no honest ones."""

    LIBRARY = harness.program("libgate_work.so")

    def report_of(self, path):
        for address in (0x1200, 0x1500, 0x2000, 0x3000):
            self.module(path, address)
        begin = time.monotonic()
        done = self.timed("report", "--stacks", self.assemble())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - begin, LONGEST_S)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, MOST_KIB)
        return done.stdout.decode()

    def sections(self, image):
        """The place of each section's header in an ELF file of 64 bits, by name."""
        headers, count, of_names = (struct.unpack_from(form, image, at)[0] for form, at in (("<Q", 40), ("<H", 60), ("<H", 62)))
        names, = struct.unpack_from("<Q", image, headers + 64 * of_names + 24)
        found = {}
        for header in range(headers, headers + 64 * count, 64):
            begin = names + struct.unpack_from("<I", image, header)[0]
            found[image[begin:image.index(b"\0", begin)].decode()] = header
        return found

    def test_sections_that_unpack_without_end(self):
        image = bytearray(pathlib.Path(self.LIBRARY).read_bytes())
        size = 2 << 30
        packer = zlib.compressobj(9, wbits=-15)
        zeros = packer.compress(bytes(1 << 24)) + packer.flush(zlib.Z_FULL_FLUSH)
        # ELF's form: zlib's number and the size, then zlib's begin, the zeros again and again, its end and checksum.
        packed = (struct.pack("<IIQQ", 1, 0, size, 1) + b"\x78\xda" + zeros * (size >> 24) + b"\x03\x00" +
                  struct.pack(">I", (size % 65521) << 16 | 1))
        debugging = [header for name, header in self.sections(image).items() if name.startswith(".debug_")]
        self.assertTrue(debugging)
        for header in debugging:
            flags, = struct.unpack_from("<Q", image, header + 8)
            struct.pack_into("<Q", image, header + 8, flags | 0x800)
            struct.pack_into("<QQ", image, header + 24, len(image), len(packed))
        (self.folder / "bomb.so").write_bytes(image + packed)
        self.assertIn("symbols", self.report_of(self.folder / "bomb.so"))

    def test_headers_of_any_size(self):
        whole = pathlib.Path(self.LIBRARY).read_bytes()
        path = self.folder / "broken.so"
        headers = self.sections(whole).values()
        images = [whole[:size] for size in (4, 64, 100, len(whole) // 2)]
        images += [whole[:at] + struct.pack("<Q", value) + whole[at + 8:] for value in (1, 1 << 33, (1 << 64) - 1)
                   for at in [40, *(header + field for header in list(headers)[::4] for field in (24, 32))]]
        for image in images:
            path.write_bytes(image)
            self.report_of(path)

    def test_a_debugging_file_that_is_a_fifo(self):
        copy = self.folder / "linked.so"
        (self.folder / "link").write_bytes(b"debug.fifo\0\0\1\2\3\4")
        os.mkfifo(self.folder / "debug.fifo")
        for command in (["strip", "-g", self.LIBRARY, "-o", copy], ["objcopy", "--add-section", ".gnu_debuglink=link", copy]):
            self.assertEqual(self.run_program(*command).returncode, 0)
        self.report_of(copy)


class Inputs(ForeignTrace):
    """What commands read besides traces."""

    def assert_refused(self, done, *parts):
        self.assertIn(done.returncode, (2, 3))
        self.assert_one_line(done.stderr.decode(), *parts)

    def odd_files(self):
        os.mkfifo(self.folder / "fifo")
        with open(self.folder / "sparse", "wb") as file:
            file.truncate(60 << 30)
        (self.folder / "zero").symlink_to("/dev/zero")
        return {"fifo": "is not a regular file", "zero": "is not a regular file", "sparse": "has 60.0 GiB"}

    def test_nothing_but_regular_files_of_bounded_size_is_read(self):
        odd = self.odd_files()
        self.source("a.py")
        trace = self.assemble()
        for name, why in odd.items():
            self.assert_refused(self.timed("gate", "--config", name, trace), name, why)
            self.assert_refused(self.timed("gate", "--no-config", "--baseline", name, trace), name, why)
            self.assert_refused(self.timed("dump", "--assemble", name, "-o", "x.synctrace"), name, why)
            self.assert_refused(self.timed("import", name, "-o", "x.synctrace"), name, why)
            if name != "sparse":
                for command in (["report"], ["gate"], ["dump"], ["symbols"], ["export", "-o", "out.json"]):
                    self.assert_refused(self.timed(*command, name), name, why)
            for found in ("synctrace.toml", "pyproject.toml"):
                os.rename(self.folder / name, self.folder / found)
                self.assert_refused(self.timed("gate", trace), found, why, "--no-config")
                os.rename(self.folder / found, self.folder / name)
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, MOST_KIB)

    def test_an_import_with_a_fifo_beside_it(self):
        for name in ("a b?%23#.sqlite", "plain.sqlite"):
            with contextlib.closing(sqlite3.connect(self.folder / name)) as database:
                database.execute("CREATE TABLE StringIds (id INTEGER, value TEXT)")
                database.commit()
            for ending in ("-journal", "-wal"):
                os.mkfifo(self.folder / (name + ending))
            self.assert_refused(self.timed("import", name, "-o", "x.synctrace"), name)

    def test_an_import_that_unpacks_without_end(self):
        event = b'{"ph":"X","cat":"cuda_runtime","name":"a","ts":1,"dur":1,"pid":1,"tid":1},\n'
        with gzip.open(self.folder / "bomb.json.gz", "wb", compresslevel=9) as file:
            file.write(b'{"traceEvents":[')
            for _ in range(40):
                file.write(event * 20_000)
        done = self.timed("import", "bomb.json.gz", "-o", "x.synctrace")
        self.assert_refused(done, "bomb.json.gz", "unpacks to more than 64 times its size")


class Texts(ForeignTrace):
    """Characters that turn the direction of a line, or end it unseen."""

    CHARACTERS = "\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

    def test_are_escapes_in_every_output(self):
        word = f"a{self.CHARACTERS}z"
        for key in ("command_line", "program", "executable", "host", "rank", "level"):
            self.facts.append(f'fact key="{key}" value={quoted(word)}')
        self.write(self.folder / "train.py", f"loss.item()  # {word}\n")
        self.source(self.folder / "train.py")
        self.records.append(f'string id=9 text={quoted(word)}')
        self.records.append(f'nvtx_domain domain=1 name={quoted(word)}')
        self.records.append("nvtx_mark thread=4242 time_ns=9000 domain=1 text=9")
        self.records.append(f'thread thread=77 name={quoted(word)}')
        self.records.append(f'code id=7 python_version=51118336 first_line=3 file={quoted(word + ".py")} function={quoted(word)} '
                            'line_table="\\xe9\\x02"')
        self.places.append("p7:0")
        trace = self.assemble()
        (self.folder / "synctrace.toml").write_text(
            f'[gate]\n[[allow]]\nrule = "ST001"\nat = "{word}"\nreason = "{word}"\n[[allow]]\nrule = "ST001"\n'
            f'at = "train.py"\nreason = "{word}"\n')
        said = self.everything_about(trace)
        said.pop("symbols")  # which holds the trace itself
        self.assert_never_said(self.CHARACTERS, said)
        self.assertIn(b"\\u202e", said["report --format text --stacks"])

    def test_are_escapes_in_messages(self):
        self.source("a.py")
        trace = self.assemble()
        (self.folder / "synctrace.toml").write_text('[gate]\n"max\u202e" = 1\n')
        done = self.timed("gate", trace)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("\u202e".encode(), done.stderr)
        self.assertIn(b"max\\u202e", done.stderr)
        done = self.timed("report", "absent\u2066")
        self.assertIn(b"absent\\u2066", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
