# SPDX-License-Identifier: Apache-2.0
"""Includes point only back along OFFLINE_ROOMS. Capture stands apart: it knows base, the contract and the writing half of format, and
only its tests know it. What is shown, gated and exported is a finding: nobody but findings reads what it is made of. How names are looked up is
nobody's business but the room names'.
Usage: check_includes.py ROOT"""

import pathlib
import re
import sys

import tree

OFFLINE_ROOMS = ["base", "contract", "format", "model", "names", "code", "steps", "attribution", "kernels", "whatif", "ranks", "findings", "timeline",
                 "recordings", "render", "trial", "watch", "gate", "rollup", "exchange", "cli"]
# Less than the order of the rooms would allow: exports show what happened, never what we think of it; outputs show findings.
NARROW_ROOMS = {
    "kernels": {"base", "model", "kernels"},
    "exchange": {"base", "contract", "format", "model", "exchange"},
    "render": {"base", "findings", "timeline", "render"},
    "recordings": {"base", "format", "model", "findings", "recordings"},
    "trial": {"base", "findings", "render", "trial"},
    "watch": {"base", "findings", "watch"},
    "gate": {"base", "findings", "recordings", "render", "gate"},
    "rollup": {"base", "findings", "recordings", "trial", "rollup"},
    "cli": {"base", "contract", "format", "model", "findings", "timeline", "recordings", "render", "trial", "watch", "gate", "rollup", "exchange", "cli"},
}
# Rooms of which others see what ALLOWED_HEADERS says, and nothing else.
CLOSED_ROOMS = {"names"}
STACKS_WITH_NAMES = {"names/resolve_stack.h": "a stack's functions and lines, as the trace has them"}
# Headers of closed rooms, and of rooms that a narrow room does not know, that it may include all the same, and why.
ALLOWED_HEADERS = {
    "steps": STACKS_WITH_NAMES,
    "attribution": STACKS_WITH_NAMES,
    "findings": STACKS_WITH_NAMES,
    "timeline": STACKS_WITH_NAMES,
    "exchange": STACKS_WITH_NAMES | {
        "contract/recording_limits.h": "importers leave out what the recorder does",
        "timeline/rows.h": "what happened, as rows on lanes",
        "timeline/in_order.h": "several tables of a trace as one sequence",
        "timeline/slice_names.h": "names of rows as numbers",
    },
    "gate": {
        "code/user_frame.h": "entries name paths by the same patterns as --user-code",
        "contract/option_values.h": "sizes in the configuration are written as in options",
        "model/frames.h": "an entry of the allow list names frames, which are plain data",
        "names/source_lines.h": "the comments of an allow list stand in source files, read with the same limits",
    },
    "cli": {
        "code/user_frame.h": "the options --user-code and --library-code make it",
        "names/add_names.h": "the one call that looks names up",
        "names/guarded_probe.h": "doctor tries drivers and libraries that may crash",
    },
}
ROOMS = OFFLINE_ROOMS + ["capture"]

# The subfolders of capture, and which others each may include.
CAPTURE_ROOMS = {
    "process": set(),
    "events": {"process"},
    "unwind": {"process"},
    "python": {"process", "unwind"},
    "stacks": {"process", "events", "unwind", "python"},
    "cupti": {"process", "events", "stacks"},
    "waits": {"process", "events", "python", "stacks", "cupti"},
    "samples": {"process", "events", "python", "stacks", "cupti"},
    "nvtx": {"process", "events", "unwind", "stacks", "cupti", "waits", "samples"},
    "live": {"process"},
}
CAPTURE_ROOMS["recorder"] = set(CAPTURE_ROOMS)  # owns the others

# The subfolders of other rooms, and which parts of their room each may include; "" is the room's own folder.
SUB_ROOMS = {
    "attribution": {"": set()},
    "findings": {
        "report": set(),
        "libraries": {"report"},
        "calls": {"report", "libraries"},
        "remedies": {"report", "libraries", "calls"},
        "changes": {"report"},
        "gpu_work": {"report", "libraries", "calls", "remedies"},
        "loader": {"report"},
        "phases": {"report"},
        "history": {"report", "libraries", "calls"},
        "": {"report", "libraries", "calls", "remedies", "gpu_work", "loader", "phases", "history"},
        "job": {"", "report", "libraries", "calls", "remedies", "gpu_work", "loader", "phases", "history"},
    },
    "timeline": {"": set(), "page": {""}},
    "render": {"": set(), "page": {""}},
}
# What such a part may include of other rooms, where that is less than its room may. Exports are made of the walk, so it knows no findings.
NARROW_PARTS = {("timeline", ""): {"base", "model", "names", "timeline"}}

# Readers allocate and throw: they have no business inside somebody else's process.
OFFLINE_HEADERS = {"format/trace_reader.h", "format/trace_text.h", "format/trace_compress.h", "format/trace_append.h",
                   "format/record_buffer.h", "base/format_text.h", "base/json.h", "base/merged_spans.h", "base/name_text.h", "base/quantity_text.h",
                   "base/regular_file.h", "base/shown_text.h", "base/source_roots.h"}

# The only files of the library that may know NVIDIA's headers, so that all else builds on a machine without CUDA.
CUDA_FILES = {"cupti_api", "cupti_switch", "api_events", "api_params", "gpu_events", "traced_calls"}
NVTX_FILES = {"nvtx", "nvtx_handler"}
# For users' programs: needs NVTX and nothing of ours.
PUBLIC = "include"
CUDA_HEADER = re.compile(r"^(cuda|cupti|generated_cuda|generated_nvtx|driver_types|vector_types|nvml)")
NVTX_HEADER = re.compile(r"^(nvtx3/|nvToolsExt)")

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """The room that a source file belongs to; None outside the library and the command line."""
    if path.parts[0] == "libsynctrace" and len(path.parts) > 2:
        return path.parts[1]
    return "cli" if path.parts[0] == "cli" else None


def is_allowed(room, header):
    """Whether a file of `room` (None: outside) may include a header of the library."""
    target = header.split("/")[0]
    if target == "capture":
        return room == "capture"
    if room is None:
        return True
    if room == "capture":
        return target in ("base", "contract", "format") and header not in OFFLINE_HEADERS
    if room not in OFFLINE_ROOMS:
        return False
    if header in ALLOWED_HEADERS.get(room, {}):
        return True
    if target in CLOSED_ROOMS and target != room:
        return False
    if room in NARROW_ROOMS:
        return target in NARROW_ROOMS[room]
    return OFFLINE_ROOMS.index(target) <= OFFLINE_ROOMS.index(room)


def check_in_capture(path, header):
    """Why a file of one subfolder of capture must not include a header of another, or None."""
    own = path.parts[2] if len(path.parts) > 3 else None
    target = header.split("/")[1]
    if own not in CAPTURE_ROOMS or target not in CAPTURE_ROOMS:
        return f"no subfolder of capture: {', '.join(CAPTURE_ROOMS)}"
    return None if target == own or target in CAPTURE_ROOMS[own] else f"capture/{own} must not include it"


def check_part(room, path, header):
    """Why a file of a part of `room` must not include a header, or None."""
    own = path.parts[2] if len(path.parts) > 3 else ""
    parts = header.split("/")
    if own not in SUB_ROOMS[room]:
        return f"no part of {room}: {', '.join(SUB_ROOMS[room])}"
    if parts[0] in ROOMS and parts[0] not in NARROW_PARTS.get((room, own), ROOMS):
        return f"{room}/{own} must not include it"
    target = parts[1] if len(parts) > 2 else ""
    return None if parts[0] != room or target == own or target in SUB_ROOMS[room][own] else f"{room}/{own} must not include it"


def check_include(path, header):
    """Why `path` must not include `header`, or None."""
    room = room_of(path)
    if room in SUB_ROOMS and "/" in header and (reason := check_part(room, path, header)):
        return reason
    if room == "capture" and header.startswith("capture/"):
        return check_in_capture(path, header)
    if room == PUBLIC:
        is_public = NVTX_HEADER.match(header) or "/" not in header
        return None if is_public else "a header for users' programs needs NVTX's and the standard library's alone"
    if header.split("/")[0] in ROOMS and "/" in header:
        if room is None and path.parts[0] == "tests":
            return None
        return None if is_allowed(room, header) else f"{room or path.parts[0]} must not include it"
    if room is None:
        return None
    if CUDA_HEADER.match(header) and not (room == "capture" and path.stem in CUDA_FILES):
        return "a CUDA header; only " + ", ".join(sorted(CUDA_FILES)) + " of capture may include one"
    if NVTX_HEADER.match(header) and not (room == "capture" and path.stem in NVTX_FILES):
        return "an NVTX header; only capture's NVTX handler may include one"
    return None


def find_violations(root):
    violations = []
    for path in tree.files(root, ".h", ".cpp", ".cu"):
        for number, text in tree.lines(root, path):
            match = INCLUDE.match(text)
            if not match:
                continue
            bracket, header = match.groups()
            reason = check_include(path, header)
            is_ours = bracket == '"' and "/" in header and header.split("/")[0] in ROOMS
            if reason is None and is_ours and not exists(root, header):
                reason = "no such header; paths are relative to libsynctrace/"
            if reason:
                violations.append(f"{path}:{number}: {header}: {reason}")
    return violations


def exists(root, header):
    base = pathlib.Path(root)
    return (base / "libsynctrace" / header).exists() or (base / header).exists()


if __name__ == "__main__":
    sys.exit(tree.report(find_violations(sys.argv[1])))
