# SPDX-License-Identifier: Apache-2.0
"""Shows that each layering check can fail: each test builds a small tree or library that breaks one rule.
The libraries are compiled by the compiler that the environment variable CXX names, and read by the one of NM."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import check_comments
import check_docs
import check_exports
import check_globals
import check_imports
import check_includes
import check_limits
import check_measurements
import check_sentences
import check_sources
import check_standard_headers

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402  (of the folder beside this one)


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def assert_one(self, violations, *words):
        self.assertEqual(len(violations), 1, violations)
        for word in words:
            self.assertIn(word, violations[0])


class StandardHeaders(TreeTest):
    def violations(self, text, header=""):
        self.write("libsynctrace/model/a.h", header)
        self.write("libsynctrace/model/a.cpp", '#include "model/a.h"\n' + text)
        return check_standard_headers.find_violations(self.root)

    def test_a_name_needs_its_header(self):
        self.assertEqual(self.violations("#include <vector>\nstd::vector<int> a;\n"), [])
        self.assert_one(self.violations("std::vector<int> a;\n"), "model/a.cpp", "std::vector", "<vector>")
        self.assert_one(self.violations("#include <vector>\nint a = std::min(1, 2);\n"), "std::min", "<algorithm>")

    def test_a_header_of_ours_may_include_it(self):
        self.assertEqual(self.violations("std::vector<int> a;\n", "#include <vector>\n"), [])

    def test_comments_and_texts_are_no_code(self):
        self.assertEqual(self.violations('// std::vector\nconst char* a = "std::map";\n'), [])

    def test_what_is_precompiled_is_known(self):
        self.write("precompile.cmake", "set(headers <vector> <regex>)\n")
        self.assert_one(self.violations(""), "precompile.cmake", "<regex>")


class Includes(TreeTest):
    def violations(self, path, header, bracket='""'):
        if bracket == '""' and "/" in header:
            self.write(f"libsynctrace/{header}", "")
        self.write(path, f"#include {bracket[0]}{header}{bracket[1]}\n")
        return check_includes.find_violations(self.root)

    def test_back_along_the_line_is_fine(self):
        self.assertEqual(self.violations("libsynctrace/findings/a.cpp", "model/trace.h"), [])

    def test_own_room_is_fine(self):
        self.assertEqual(self.violations("libsynctrace/model/a.cpp", "model/trace.h"), [])

    def test_forward_is_not(self):
        self.assert_one(self.violations("libsynctrace/model/a.cpp", "findings/report/report.h"), "model/a.cpp:1", "model must not")

    def test_exchange_knows_no_findings(self):
        self.assertEqual(self.violations("libsynctrace/exchange/a.cpp", "model/trace.h"), [])
        self.assert_one(self.violations("libsynctrace/exchange/b.cpp", "findings/report/report.h"), "exchange must not")

    def test_findings_alone_know_how_they_are_found(self):
        for room in ("steps", "attribution", "kernels", "whatif"):
            self.assertEqual(self.violations("libsynctrace/findings/a.cpp", f"{room}/a.h"), [])
            for reader in ("libsynctrace/render", "libsynctrace/gate", "libsynctrace/rollup", "cli"):
                with self.subTest(f"{reader} includes {room}"):
                    name = reader.rsplit("/", maxsplit=1)[-1]
                    self.assert_one(self.violations(f"{reader}/a.cpp", f"{room}/a.h"), f"{name} must not")
                    self.write(f"{reader}/a.cpp", "")

    def test_outputs_read_findings(self):
        for room in ("render", "gate", "rollup"):
            self.assertEqual(self.violations(f"libsynctrace/{room}/a.cpp", "findings/report/report.h"), [])
            self.assert_one(self.violations(f"libsynctrace/{room}/a.cpp", "model/trace.h"), f"{room} must not")
            self.write(f"libsynctrace/{room}/a.cpp", "")
        self.assert_one(self.violations("libsynctrace/render/b.cpp", "gate/gate.h"), "render must not")
        self.write("libsynctrace/render/b.cpp", "")
        for header in ("render/words.h", "gate/gate.h"):
            self.assert_one(self.violations("libsynctrace/rollup/b.cpp", header), "rollup must not")
        self.write("libsynctrace/rollup/b.cpp", "")
        self.assert_one(self.violations("libsynctrace/gate/b.cpp", "rollup/tables.h"), "gate must not")

    def test_names_are_looked_up_by_themselves(self):
        self.assertEqual(self.violations("libsynctrace/names/a.cpp", "names/symbolize.h"), [])
        self.assertEqual(self.violations("libsynctrace/names/b.cpp", "model/trace.h"), [])
        self.assert_one(self.violations("libsynctrace/model/a.cpp", "names/resolve_stack.h"), "model must not")
        self.write("libsynctrace/model/a.cpp", "")
        for room in ("steps", "attribution", "whatif", "findings", "render", "gate", "exchange", "cli"):
            folder = room if room == "cli" else f"libsynctrace/{room}"
            with self.subTest(f"{room} includes the inside of names"):
                self.assert_one(self.violations(f"{folder}/a.cpp", "names/symbolize.h"), f"{room} must not")
                self.write(f"{folder}/a.cpp", "")
        for room, header in (("findings", "names/add_names.h"), ("whatif", "names/resolve_stack.h"),
                             ("gate", "names/resolve_stack.h")):
            with self.subTest(f"{room} includes {header}"):
                self.assert_one(self.violations(f"libsynctrace/{room}/a.cpp", header), f"{room} must not")
                self.write(f"libsynctrace/{room}/a.cpp", "")
        self.assert_one(self.violations("libsynctrace/names/c.cpp", "attribution/a.h"), "names must not")

    def test_headers_that_are_allowed_by_name(self):
        for room, headers in check_includes.ALLOWED_HEADERS.items():
            folder = room if room == "cli" else f"libsynctrace/{room}"
            for header in headers:
                self.assertEqual(self.violations(f"{folder}/a.cpp", header), [], header)

    def test_base_stands_alone(self):
        self.assert_one(self.violations("libsynctrace/base/a.h", "format/records.h"), "base must not")

    def test_nobody_includes_capture(self):
        self.assert_one(self.violations("cli/a.cpp", "capture/recorder/recorder.h"), "cli must not")

    def test_examples_do_not_include_capture(self):
        self.assert_one(self.violations("examples/cuda/a/a.cu", "capture/recorder/recorder.h"), "examples must not")

    def test_tests_include_capture(self):
        self.assertEqual(self.violations("tests/unit/a_test.cpp", "capture/recorder/recorder.h"), [])

    def test_subfolders_of_capture(self):
        for own, allowed in check_includes.CAPTURE_ROOMS.items():
            for target in check_includes.CAPTURE_ROOMS:
                with self.subTest(f"{own} includes {target}"):
                    found = self.violations(f"libsynctrace/capture/{own}/a.cpp", f"capture/{target}/b.h")
                    if target == own or target in allowed:
                        self.assertEqual(found, [])
                    else:
                        self.assert_one(found, f"capture/{own} must not")
                    self.write(f"libsynctrace/capture/{own}/a.cpp", "")

    def test_subfolders_of_capture_have_no_circle(self):
        rooms = check_includes.CAPTURE_ROOMS
        for own, allowed in rooms.items():
            for target in allowed - {own}:
                self.assertNotIn(own, rooms[target] if target != "recorder" else set(), (own, target))

    def test_parts_of_rooms(self):
        for room, parts in check_includes.SUB_ROOMS.items():
            for own, allowed in parts.items():
                for target in parts:
                    with self.subTest(f"{room}/{own} includes {room}/{target}"):
                        folder, header = (f"{room}/{part}".rstrip("/") for part in (own, target))
                        found = self.violations(f"libsynctrace/{folder}/a.cpp", f"{header}/b.h")
                        if target == own or target in allowed:
                            self.assertEqual(found, [])
                        else:
                            self.assert_one(found, f"{room}/{own} must not")
                        self.write(f"libsynctrace/{folder}/a.cpp", "")
            self.assert_one(self.violations(f"libsynctrace/{room}/other/a.cpp", f"{room}/b.h"), f"no part of {room}")
            self.write(f"libsynctrace/{room}/other/a.cpp", "")

    def test_parts_of_rooms_have_no_circle(self):
        for room, parts in check_includes.SUB_ROOMS.items():
            for own, allowed in parts.items():
                for target in allowed:
                    self.assertLess(parts[target], allowed, f"{room}: {own or room} includes {target or room}, and not all that it includes")

    def test_the_walk_of_timelines_knows_no_findings(self):
        self.assertEqual(self.violations("libsynctrace/timeline/page/a.cpp", "findings/report/report.h"), [])
        self.assert_one(self.violations("libsynctrace/timeline/a.cpp", "findings/report/report.h"), "timeline/ must not")
        self.write("libsynctrace/timeline/a.cpp", "")
        self.assertEqual(self.violations("libsynctrace/exchange/a.cpp", "timeline/rows.h"), [])
        self.assert_one(self.violations("libsynctrace/exchange/b.cpp", "timeline/page/timeline.h"), "exchange must not")

    def test_capture_has_files_in_subfolders_alone(self):
        self.assert_one(self.violations("libsynctrace/capture/a.cpp", "capture/events/b.h"), "no subfolder")
        self.write("libsynctrace/capture/a.cpp", "")
        self.assert_one(self.violations("libsynctrace/capture/events/a.cpp", "capture/other/b.h"), "no subfolder")

    def test_capture_writes(self):
        self.assertEqual(self.violations("libsynctrace/capture/events/a.cpp", "format/trace_writer.h"), [])

    def test_capture_does_not_read(self):
        for header in check_includes.OFFLINE_HEADERS:
            with self.subTest(header):
                self.assert_one(self.violations("libsynctrace/capture/events/a.cpp", header), "capture must not")

    def test_capture_knows_no_model(self):
        self.assert_one(self.violations("libsynctrace/capture/events/a.cpp", "model/trace.h"), "capture must not")

    def test_cuda_stays_in_its_files(self):
        self.assertEqual(self.violations("libsynctrace/capture/cupti/cupti_api.cpp", "cupti.h", "<>"), [])
        self.assert_one(self.violations("libsynctrace/capture/recorder/recorder.cpp", "cupti.h", "<>"), "CUDA header")

    def test_offline_half_knows_no_cuda(self):
        self.assert_one(self.violations("libsynctrace/model/a.cpp", "cuda_runtime.h", "<>"), "CUDA header")

    def test_nvtx_stays_in_its_file(self):
        self.assertEqual(self.violations("libsynctrace/capture/nvtx/nvtx_handler.cpp", "nvtx3/nvToolsExt.h", "<>"), [])
        self.assert_one(self.violations("libsynctrace/capture/recorder/recorder.h", "nvtx3/nvToolsExt.h", "<>"), "NVTX header")

    def test_missing_header(self):
        self.write("libsynctrace/model/a.cpp", '#include "model/absent.h"\n')
        self.assert_one(check_includes.find_violations(self.root), "no such header")


class Sources(TreeTest):
    LICENCE = f"// {check_sources.LICENCE}\n"

    def test_good_header(self):
        self.write("a.h", self.LICENCE + "#pragma once\n")
        self.assertEqual(check_sources.find_violations(self.root), [])

    def test_long_file(self):
        self.write("a.cpp", self.LICENCE + "\n" * check_sources.MAX_LINES)
        self.assert_one(check_sources.find_violations(self.root), "401 lines")

    def test_no_licence(self):
        self.write("a.cpp", "int a;\n")
        self.assert_one(check_sources.find_violations(self.root), "licence")

    def test_no_guard(self):
        self.write("a.h", self.LICENCE)
        self.assert_one(check_sources.find_violations(self.root), "#pragma once")

    def test_build_folder_is_left_out(self):
        self.write("build/a.cpp", "int a;\n")
        self.assertEqual(check_sources.find_violations(self.root), [])


class Comments(TreeTest):
    def found(self, text, name="a.cpp"):
        self.write(name, text)
        return [line.split(": ", maxsplit=1)[1] for line in check_comments.find_all(self.root)]

    def test_one_more_than_before(self):
        self.write("a.h", "// Of a call.\nint a;  // as it is\n")
        self.assertEqual(check_comments.find_violations(self.root, most=2), [])
        found = check_comments.find_violations(self.root, most=1)
        self.assertEqual(len(found), 3, found)
        self.assertIn("a.h:2: as it is", found)
        self.assertIn("2 sentences", found[-1])

    def test_where_a_comment_begins(self):
        self.assertEqual(self.found("int a;  // of a\nint b;  // those of b\n/* Of c. */\n"), ["of a", "those of b", "Of c."])
        self.assertEqual(self.found("// Two calls.\n// As many again.\n"), ["As many again."])
        self.assertEqual(self.found("// One. Of two. Those.\n"), ["Of two. Those.", "Those."])

    def test_lines_that_go_on(self):
        self.assertEqual(self.found("// The calls\n// of a thread.\nint a;  // the calls\n        // of it\n"), [])
        self.assertEqual(self.found("int a;  // a\n// of b\nint b;\n"), ["of b"])

    def test_texts_are_no_comments(self):
        self.assertEqual(self.found('const char* a = "// Of b";\nchar c = \'"\';  // C\nchar d = \'"\';  // D\n'), [])

    def test_other_words(self):
        self.assertEqual(self.found("// Offsets. Aside. Those_ and the calls of a thread, as they are.\n"), [])

    def test_python(self):
        text = '"""Of a module."""\n\n\ndef a():\n    """A call. As\n    it is."""\n    return "# Of"  # those of a\n'
        self.assertEqual(self.found(text, "a.py"), ["those of a", "Of a module.", "As it is."])

    def test_shell_and_cmake(self):
        for name in ("a.sh", "CMakeLists.txt", "a.cmake", "Makefile"):
            with self.subTest(name):
                self.assertEqual(self.found("# Of a shell.\necho $# of\n", name), ["Of a shell."])
                (self.root / name).unlink()


class Limits(TreeTest):
    ROW = "inline constexpr Share kNearlyAll = percent(80);  // "

    def violations(self, path, text):
        self.write(path, text)
        return check_limits.find_violations(self.root)

    def test_a_number_is_defined_once(self):
        for value in ("constexpr Share kMost = percent(10);", "constexpr std::size_t kMost{10};", "inline constexpr Nanoseconds kMost = 10;"):
            self.write("libsynctrace/whatif/b.cpp", "constexpr double kMost = 10;\n")
            with self.subTest(value):
                self.assert_one(self.violations("libsynctrace/model/a.h", value + "\n"), "whatif/b.cpp:1", "kMost", "model/a.h:1")
        self.write("libsynctrace/whatif/b.cpp", "")
        self.assertEqual(check_limits.find_violations(self.root), [])

    def test_what_is_no_limit_may_have_a_name_again(self):
        self.write("libsynctrace/render/b.cpp", "constexpr std::size_t kRows = 10;\n")
        self.write("libsynctrace/ranks/b.h", "  static constexpr std::size_t kRows = 10;\n  constexpr std::array<int, 2> kNames = {1, 2};\n")
        self.assertEqual(self.violations("libsynctrace/model/a.cpp", "constexpr std::size_t kRows = 20;\nconstexpr std::array<int, 2> kNames{};\n"), [])

    def test_the_step_finder_has_no_bare_ratio(self):
        for line in ("if (size * 5 >= usual * 4) return;", "if (share >= 0.9) return;", "return 4 * work < more;", "x = passes / 8 + 1;"):
            with self.subTest(line):
                self.assert_one(self.violations("libsynctrace/steps/a.cpp", line + "\n"), "steps/a.cpp:1", "bare ratio")
        for line in ("at = sizes.size() / 2;", "items += 2 * size;", "// size * 5 >= 0.9", "mix = (mix ^ mix >> 30) * 0xbf58476d1ce4e5b9U;"):
            with self.subTest(line):
                self.assertEqual(self.violations("libsynctrace/steps/a.cpp", line + "\n"), [])

    def test_a_row_says_unit_reason_and_test(self):
        table = "libsynctrace/steps/step_limits.h"
        self.write("tests/unit/steps/step_cut_test.cpp", "")
        for cells in ("", "steps | names vary", "steps | | step_cut"):
            with self.subTest(cells):
                self.assert_one(self.violations(table, self.ROW + cells + "\n"), "step_limits.h:1", "kNearlyAll")
        self.assert_one(self.violations(table, self.ROW + "steps | names vary | step_joins\n"), "step_joins_test.cpp")
        self.assertEqual(self.violations(table, self.ROW + "steps | names vary | step_cut\n"), [])
        self.assertEqual(self.violations(table, self.ROW + "steps | a sample | cost\n"), [])


class Docs(TreeTest):
    def test_agreement(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.assertEqual(check_docs.find_violations(self.root), [])

    def test_output_that_is_not_the_program_s(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.write("screen.txt", "verdict\n")
        self.write("README.md", "<!-- screen: screen.txt -->\n```\nverdict\n```\n")
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("README.md", "<!-- screen: screen.txt -->\n```\nanother\n```\n")
        self.assert_one(check_docs.find_violations(self.root), "README.md", "screen.txt")

    def test_some_lines_of_the_output(self):
        self.write("screen.txt", "one\ntwo\nthree\n")
        page = "<!-- screen: screen.txt lines {} -->\n```\none\ntwo\n```\n"
        self.write("README.md", page.format("1-2"))
        self.assertEqual(check_docs.check_screens(self.root), [])
        for lines in ("2-3", "1-3", "1-4", "0-2", "2-1"):
            self.write("README.md", page.format(lines))
            self.assert_one(check_docs.check_screens(self.root), "README.md", "screen.txt")
        self.write("README.md", page.format("2-3"))
        check_docs.write_screens(self.root)
        self.assertEqual(check_docs.check_screens(self.root), [])

    def test_undocumented_variable(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT" "SYNCTRACE_LEVEL"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT")
        self.assert_one(check_docs.find_violations(self.root), "SYNCTRACE_LEVEL", "missing")

    def test_invented_variable(self):
        self.write(check_docs.CONTRACT, '"SYNCTRACE_OUTPUT"')
        self.write(check_docs.MANUAL, ".B SYNCTRACE_OUTPUT\n.B SYNCTRACE_COLOUR")
        self.assert_one(check_docs.find_violations(self.root), "SYNCTRACE_COLOUR", "not in")

    def test_broken_link(self):
        self.write("docs/a.md", "[b](b.md)")
        self.assert_one(check_docs.find_violations(self.root), "docs/a.md", "no such file")

    def test_broken_image(self):
        self.write("a.md", '<img alt="x" src="x.svg">')
        self.assert_one(check_docs.find_violations(self.root), "x.svg")

    def test_anchor(self):
        self.write("b.md", "# The words, again\n")
        self.write("a.md", "[b](b.md#the-words-again) [c](b.md#absent)")
        self.assert_one(check_docs.find_violations(self.root), "#absent", "no such heading")

    def test_a_file_that_is_not_there(self):
        self.write("libsynctrace/model/load.cpp", "")
        self.write("a.md", "`libsynctrace/model/load.cpp`, `libsynctrace/model/`, `libsynctrace/model/*.cpp`, `model/gone.cpp`\n")
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("a.md", "`libsynctrace/model/gone.cpp`\n")
        self.assert_one(check_docs.find_violations(self.root), "a.md", "libsynctrace/model/gone.cpp", "no such file")

    def test_a_table_of_files(self):
        table = "| file | does |\n|---|---|\n| `load`, `row_*` | loads `gone` |\n\n| word | is |\n|---|---|\n| `gone` | a word |\n"
        self.write("libsynctrace/model/load.cpp", "")
        self.write("libsynctrace/model/row_parser.h", "")
        self.write("libsynctrace/model/README.md", table)
        self.assertEqual(check_docs.find_violations(self.root), [])
        self.write("libsynctrace/model/README.md", table.replace("`load`", "`gone`"))
        self.assert_one(check_docs.find_violations(self.root), "model/README.md", "gone", "not in its folder")

    def test_code_and_other_sites_are_left_out(self):
        self.write("a.md", "`[a](b)`\n```\n[a](b)\n```\n[a](https://example.org/b)\n")
        self.assertEqual(check_docs.find_violations(self.root), [])


class Exports(TreeTest):
    def violations(self, source, allowed, *options):
        self.write("a.cpp", source)
        library = self.root / "liba.so"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-o", library, self.root / "a.cpp", *options], check=True)
        return check_exports.find_violations(str(library), allowed)

    FREESTANDING = ("-nodefaultlibs", "-lc")

    def test_exact_list(self):
        source = 'extern "C" int puts(const char*); extern "C" void entry() { puts(""); }'
        self.assertEqual(self.violations(source, {"entry"}, *self.FREESTANDING), [])

    def test_another_version(self):
        self.write("a.map", "NEW {}; OLD {};")
        source = 'extern "C" void old() {} asm(".symver old,entry@OLD");'
        found = self.violations(source, {"entry@@NEW"}, "-Wl,--version-script=" + str(self.root / "a.map"),
                                "-Wl,--exclude-libs,ALL", *self.FREESTANDING)
        self.assertTrue(any("exports entry@OLD" in line for line in found), found)
        self.assertTrue(any("does not export entry@@NEW" in line for line in found), found)

    def test_lists_of_architectures(self):
        self.write("list.txt", "# a comment\ndoor\n[x86_64]\nold\n[aarch64]\nnew\n")
        path = self.root / "list.txt"
        self.assertEqual(check_exports.read_list(path, "x86_64"), {"door", "old"})
        self.assertEqual(check_exports.read_list(path, "aarch64"), {"door", "new"})

    def test_unlisted_export(self):
        source = 'extern "C" void entry() {} extern "C" void helper() {}'
        self.assert_one(self.violations(source, {"entry"}, *self.FREESTANDING), "helper", "not on the list")

    def test_absent_export(self):
        self.assert_one(self.violations("", {"entry"}, *self.FREESTANDING), "does not export entry")

    def test_foreign_symbol(self):
        source = 'extern "C" void cuInit(); extern "C" void entry() { cuInit(); }'
        self.assert_one(self.violations(source, {"entry"}, *self.FREESTANDING), "cuInit", "not glibc's")

    def test_foreign_library(self):
        options = ("-nodefaultlibs", "-Wl,--no-as-needed", "-lstdc++", "-lc")
        self.assert_one(self.violations('extern "C" void entry() {}', {"entry"}, *options), "library libstdc++.so.6")

    def test_unique_symbol(self):
        source = r'asm(".data\n.globl entry\n.type entry, @gnu_unique_object\n.size entry, 4\nentry: .long 1\n.text");'
        found = self.violations(source, {"entry"}, *self.FREESTANDING)
        self.assert_one(found, "STB_GNU_UNIQUE")


class Imports(TreeTest):
    PAGE = f"""# Page

{check_imports.HEADING}

| function | who | why |
|---|---|---|
| `dlsym`, `getenv` | somebody | shown here |
| `abort` | the compiler's runtime | shown here |

## Next

| `dlopen` | of another table | |
"""
    LISTED = 'extern "C" void* dlsym(void*, const char*); extern "C" char* getenv(const char*); ' \
             'void* one() { return dlsym(nullptr, getenv("")); }'

    def violations(self, source, page=PAGE):
        self.write(check_imports.PAGE, page)
        self.write("a.cpp", source)
        library = self.root / "liba.so"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-nostdlib", "-o", library, self.root / "a.cpp"], check=True)
        return check_imports.find_violations(str(library), self.root)

    def test_exact_list(self):
        self.assertEqual(self.violations(self.LISTED), [])

    def test_other_functions_need_no_row(self):
        self.assertEqual(self.violations(self.LISTED + 'extern "C" int close(int); int two() { return close(1); }'), [])

    def test_unlisted(self):
        for function in ("dl_iterate_phdr", "_dl_find_object", "dlopen", "__tls_get_addr", "malloc", "_Znwm", "_ZdlPv",
                         "__snprintf_chk", "newlocale", "strerror_r", "secure_getenv", "pthread_create", "__cxa_atexit"):
            with self.subTest(function):
                found = self.violations(self.LISTED + f'extern "C" int {function}(int); int two() {{ return {function}(1); }}')
                self.assert_one(found, f"asks for {function}, which is not in")

    def test_no_more_asked_for(self):
        found = self.violations('extern "C" char* getenv(const char*); char* one() { return getenv(""); }')
        self.assert_one(found, "dlsym is listed, and no more asked for")

    def test_of_no_family(self):
        page = self.PAGE.replace("`dlsym`", "`dlsym`, `close`")
        source = self.LISTED + 'extern "C" int close(int); int two() { return close(1); }'
        self.assertTrue(any("close is of none of the families" in line for line in self.violations(source, page)))


class Globals(TreeTest):
    PAGE = f"""# Page

{check_globals.OURS}

| name | where | why |
|---|---|---|
| `listed` | `capture/a.cpp` | shown here |
| `per_thread` | `capture/a.cpp` (x86-64) | shown here |

{check_globals.RUNTIME}

| `__*`, `DW.ref.*` | reserved |
| `completed.*` | the start files |

## Next
"""
    LISTED = "int listed = 1; thread_local int per_thread = 2; int* use() { return &per_thread; }"

    def violations(self, source, *options, machine="x86_64", page=PAGE):
        self.write(check_globals.PAGE, page)
        text = "namespace synctrace::capture {\n" + source + "\n}\n"
        self.write("libsynctrace/capture/a.cpp", text)
        library = self.root / "liba.so"
        source_file = self.root / "libsynctrace/capture/a.cpp"
        subprocess.run([os.environ["CXX"], "-shared", "-fPIC", "-o", library, source_file, *options], check=True)
        return check_globals.find_violations(str(library), self.root, os.environ.get("NM", "nm"), machine)

    def test_exact_list(self):
        self.assertEqual(self.violations(self.LISTED), [])

    def test_constants_are_none(self):
        constants = "extern const char* const kNames[] = {\"a\", \"b\"}; extern const int kNumber = 3;"
        self.assertEqual(self.violations(self.LISTED + constants), [])

    def test_unlisted(self):
        for what in ("int one;", "int one = 1;", "static int one; int* get() { return &one; }",
                     "namespace { int one; } int* get() { return &one; }", "int* get() { static int one; return &one; }"):
            with self.subTest(what):
                self.assert_one(self.violations(self.LISTED + what), "one can be written to")

    def test_unlisted_thread_local(self):
        self.assert_one(self.violations(self.LISTED + "thread_local int one;"), "one can be written to")

    def test_unlisted_outside_of_our_namespace(self):
        self.assert_one(self.violations(self.LISTED + "} int one; namespace synctrace {"), "one can be written to")

    def test_guard_of_a_static_object(self):
        found = self.violations(self.LISTED + "int f(); int* get() { static int one = f(); return &one; } int f() { return 1; }")
        self.assertEqual(len(found), 2, found)
        self.assertTrue(any("guard variable" in line for line in found), found)

    def test_listed_and_gone(self):
        found = self.violations("thread_local int per_thread; // listed")
        self.assert_one(found, "listed is listed, and no more")

    def test_listed_for_another_architecture(self):
        self.assertEqual(self.violations("int listed; // per_thread", machine="aarch64"), [])
        self.assert_one(self.violations("int listed; // per_thread"), "per_thread is listed, and no more")

    def test_listed_at_a_wrong_place(self):
        page = self.PAGE.replace("`listed` | `capture/a.cpp`", "`listed` | `capture/b.cpp`")
        self.assert_one(self.violations(self.LISTED, page=page), "listed is not in")

    def test_stripped_library(self):
        self.assert_one(self.violations(self.LISTED, "-s"), "not stripped")


class Measurements(TreeTest):
    HEAD = ",".join(check_measurements.COLUMNS) + "\n"
    ROWS = ("pairs,syncs: eager,1.020,,0.006,80,H200,580,,abc,2026-11-26\n"
            "pairs,syncs: reads,1.040,,0.009,24,H200,580,,abc,2026-11-26\n")
    CLAIMS = ",".join(check_measurements.CLAIM_COLUMNS) + "\ncost,pairs,syncs: reads,Cheap,<= 1.02\n"
    PAGE = "# Cost\n\n<!-- rows: pairs -->\n<!-- end -->\n"

    def violations(self, rows=ROWS, claims=CLAIMS, page=PAGE, write=True):
        self.write("docs/measurements/results/cost.csv", self.HEAD + rows)
        self.write("docs/measurements/claims.csv", claims)
        self.write("docs/measurements/README.md", "<!-- claims -->\n<!-- end -->\n")
        self.write("docs/measurements/cost.md", page)
        if write:
            check_measurements.write(self.root)
        return check_measurements.find_violations(self.root)

    def page(self, name="cost"):
        return (self.root / f"docs/measurements/{name}.md").read_text(encoding="utf-8")

    def test_tables_are_made_of_rows(self):
        self.assertEqual(self.violations(), [])
        self.assertIn("|  | eager | reads |\n| --- | --- | --- |\n| syncs | 1.020 (0.006; 80) | 1.040 (0.009; 24) |\n", self.page())
        self.assertIn("[Rows](results/cost.csv) of `pairs`: H200, abc, 2026-11-26.", self.page())
        self.assertIn("| at most 1.02 | 1.040 | 0.009 | 24 | H200 | abc | 2026-11-26 | **missed by 0.020** |", self.page("README"))

    def test_the_last_row_counts(self):
        self.assertEqual(self.violations(self.ROWS + "pairs,syncs: reads,1.019,,,,H200,580,,abd,2026-11-27T10:00Z\n"), [])
        self.assertIn("| 1.019 |  |  | H200 | abd | 2026-11-27 | reached |", self.page("README"))

    def test_so_many_of_so_many(self):
        claims = self.CLAIMS + "cost,pairs,programs,Right,all\n"
        self.assertEqual(self.violations(self.ROWS + "pairs,programs,23,of,,24,H200,580,,abc,2026-11-26\n", claims), [])
        self.assertIn("| all | 23 of 24 |  |  | H200 | abc | 2026-11-26 | **missed by 1** |", self.page("README"))

    def test_a_table_that_was_typed(self):
        found = self.violations(write=False)
        self.assertEqual(len(found), 2, found)
        self.violations()
        self.write("docs/measurements/cost.md", self.page().replace("1.040", "1.010"))
        self.assert_one(check_measurements.find_violations(self.root), "cost.md", "not what the rows say")

    def test_what_has_no_row(self):
        self.assert_one(self.violations(page=self.PAGE.replace("pairs", "windows")), "cost.md", "no rows of windows")
        self.assert_one(self.violations(claims=self.CLAIMS.replace("reads", "decode")), "README.md", "no row of pairs, syncs: decode")

    def test_what_is_no_row(self):
        for wrong, words in (("pairs,a,1,,,,H200\n", "columns"), ("pairs,a,,,,,H200,580,,abc,2026-11-26\n", "needs"),
                             ("pairs,a,1,,,,H200,580,,abc,yesterday\n", "needs"), ("pairs,a,1,of,,,H200,580,,abc,2026-11-26\n", "two numbers")):
            with self.subTest(wrong):
                self.assertTrue(any("results/cost.csv" in line and words in line for line in self.violations(self.ROWS + wrong)))

    def test_a_target_that_is_none(self):
        self.assert_one(self.violations(claims=self.CLAIMS.replace("<= 1.02", "small")), "README.md", "small is no target")

    def test_what_a_script_measured_is_a_row(self):
        self.assertEqual(self.violations(), [])
        results = self.root / "docs/measurements/results"
        with unittest.mock.patch.dict(os.environ, {"MEASURED_ROWS": str(results), "MEASURED_COMMIT": "abe"}):
            rows = measured_rows.Rows("cost", simulated=True)
            rows.add("pairs", "syncs: reads", "1.011", error="0.002", n=30)
            rows.add_of("pairs", "programs: right", 3, 4)
            measured_rows.Rows("gate", gpus=0).add_of("verdicts", "clean", 20, 20)
        self.assertEqual(check_measurements.write(self.root), [])
        self.assertIn("| 1.011 | 0.002 | 30 | simulated; ", self.page("README"))
        self.assertIn("| 3 of 4 |", self.page())
        self.assertTrue((results / "gate.csv").read_text(encoding="utf-8").startswith(self.HEAD))

    def test_nothing_is_recorded_unasked(self):
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("MEASURED_ROWS", None)
            measured_rows.Rows("cost").add("pairs", "syncs: reads", "1.011")
            self.assertIsNone(measured_rows.Rows("cost").file)

    def test_long_page(self):
        self.assert_one(self.violations(page=self.PAGE + "A line.\n" * 60), "cost.md", "at most 60")


class Sentences(TreeTest):
    LONG = "It has " + "one " * 28 + "words.\n"

    def violations(self, text, path="docs/measurements/a.md"):
        self.write(path, text)
        return check_sentences.find_violations(self.root)

    def test_a_long_sentence(self):
        self.assertEqual(self.violations(self.LONG.replace("one ", "", 1) + "Short.\n" * 2), [])
        self.assert_one(self.violations(self.LONG + "Short.\n" * 2), "a.md", "31 words")

    def test_half_of_them(self):
        text = "It has " + "one " * 15 + "words.\n"
        self.assertEqual(self.violations(text.replace("one ", "", 1) * 3), [])
        self.assert_one(self.violations(text * 3), "a.md", "half of the sentences have 18")

    def test_a_line_end_is_no_end(self):
        self.assert_one(self.violations(self.LONG.replace("one one", "one\none", 1) + "Short.\n" * 2), "31 words")

    def test_what_is_no_sentence(self):
        for text in ("| " + self.LONG, "# " + self.LONG, "```\n" + self.LONG + "```\n", "<!-- " + self.LONG + " -->\n",
                     "<!-- rows: a -->\n" + self.LONG + "<!-- end -->\n", "Run `" + self.LONG.strip() + "` now.\n"):
            with self.subTest(text):
                self.assertEqual(self.violations(text), [])

    def test_items_are_sentences_of_their_own(self):
        self.assertEqual(self.violations(("* " + "one " * 16 + "\n") * 3), [])

    def test_which_pages(self):
        self.assertEqual(len(self.violations(self.LONG, "docs/b.md")), 2)
        (self.root / "docs/b.md").unlink()
        self.assertEqual(self.violations(self.LONG, "docs/decisions/b.md"), [])

    def test_the_front_page(self):
        seventeen = "It has " + "one " * 14 + "word.\n"
        self.assertEqual(self.violations(seventeen.replace("one ", "", 1) * 3, "README.md"), [])
        self.assert_one(self.violations(seventeen * 3, "README.md"), "README.md", "at most 16")
        self.assert_one(self.violations("Short.\n" * 111, "README.md"), "README.md", "111 lines")


if __name__ == "__main__":
    unittest.main()
