# SPDX-License-Identifier: Apache-2.0
import unittest

import check_includes
from tree_case import TreeCase


class Includes(TreeCase):
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


if __name__ == "__main__":
    unittest.main()
