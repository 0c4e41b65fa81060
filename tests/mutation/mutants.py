#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants one small fault at a time in a copy of the sources, builds what depends on it, runs the tests, and says which
faults nobody noticed. Each result is a line of build/mutants/results.jsonl; a fault with a result is not tried again, so a run that
was ended goes on where it was. The copy is of the working tree as it is when the script begins."""

import argparse
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import faults

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "mutants"
SOURCE, BUILD = HOME / "source", HOME / "build"
# Nothing optimised, no line tables: a file compiles in seconds. With assertions of the C++ library, as a fault that reads beyond
# an array would show under AddressSanitizer.
FLAGS = "-O0 -g0 -w -D_GLIBCXX_ASSERTIONS -DSYNCTRACE_SMALL_EFFORT"
KINDS = {"unit", "golden", "damage"}
VERY_LONG = {"hostile_traces_test", "golden.agreement", "rollup.readers", "rollup.clickhouse"}  # minutes
LONG_S = 8  # without an optimiser: such a test is run for faults of its own room alone
MOST_MEMORY_KB = 6 << 20
PATIENCE_S = 30
FIRST_STAGE = 4  # tests that are built and run before the others are


def copy_sources():
    """Files that are equal stay as old as they are."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    wanted = {name for name in listed.split("\0") if name and (ROOT / name).is_file()}
    there = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*") if path.is_file()}
    for name in there - wanted:
        (SOURCE / name).unlink()
    for name in wanted:
        if name not in there or (ROOT / name).read_bytes() != (SOURCE / name).read_bytes():
            (SOURCE / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, SOURCE / name)


def configure():
    compiler = shutil.which("clang++") or shutil.which("g++")
    done = subprocess.run(["cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DSYNCTRACE_CAPTURE=off",
                           "-DSYNCTRACE_TESTS=all", f"-DCMAKE_CXX_COMPILER={compiler}", f"-DCMAKE_CXX_FLAGS={FLAGS}"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)


class Test:
    def __init__(self, described):
        properties = {entry["name"]: entry["value"] for entry in described.get("properties", [])}
        self.name = described["name"]
        self.good = {0, properties.get("SKIP_RETURN_CODE", 0)}
        self.labels = set(properties.get("LABELS", []))
        self.environment = dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
        # A test lies in the folder of the room that it is about. ctest knows no command of what is not built.
        self.rooms = {path.parent.name for path in (SOURCE / "tests" / "unit").rglob(f"{self.name}.cpp")}
        unbuilt = [[f"{BUILD}/bin/unit_{room}", "-#", f"[#{self.name}]"] for room in self.rooms] or [[f"{BUILD}/bin/{self.name}"]]
        self.command = described.get("command", unbuilt[0])
        words = [*self.command, *self.environment.values()]
        self.programs = [word for word in words if word.startswith(f"{BUILD}/bin/")]
        self.seconds = 30.0

    def made(self):
        return [os.stat(program).st_mtime_ns if os.path.exists(program) else 0 for program in self.programs]

    def content(self):
        files = [word for word in [*self.command, *self.programs] if os.path.isfile(word)]
        return hashlib.sha1(b"".join(hashlib.sha1(pathlib.Path(file).read_bytes()).digest() for file in files)).hexdigest()


def tests_there():
    shown = subprocess.run(["ctest", "--test-dir", BUILD, "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
    tests = [Test(entry) for entry in json.loads(shown)["tests"]]
    return [test for test in tests if test.labels & KINDS and test.name not in VERY_LONG and test.programs]


def build(tests):
    targets = sorted({os.path.relpath(program, BUILD) for test in tests for program in test.programs})
    return subprocess.run(["cmake", "--build", BUILD, "-j", JOBS, "--target", *map(os.path.basename, targets)],
                          capture_output=True, text=True, check=False)


def end(process):
    with contextlib.suppress(ProcessLookupError):  # it has just ended by itself
        os.killpg(process.pid, signal.SIGKILL)


class Running:
    """Runs tests several at a time, until one fails."""

    def __init__(self, stop_at_first):
        self.stop_at_first = stop_at_first
        self.lock = threading.Lock()
        self.processes = set()
        self.failed = []

    def run(self, tests):
        with concurrent.futures.ThreadPoolExecutor(int(JOBS)) as pool:
            list(pool.map(self.run_one, tests))
        return self.failed

    def run_one(self, test):
        with self.lock:
            if self.failed and self.stop_at_first:
                return
            # A process group of its own, so that what a test starts ends with it.
            process = subprocess.Popen(["sh", "-c", f'ulimit -v {MOST_MEMORY_KB}; exec "$@"', "sh", *test.command], cwd=HOME,
                                       env={**os.environ, **test.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, start_new_session=True)
            self.processes.add(process)
        began = time.monotonic()
        how = "fails"
        try:
            process.wait(PATIENCE_S + 10 * test.seconds)
        except subprocess.TimeoutExpired:
            how = "does not end"
            end(process)
            process.wait()
        with self.lock:
            self.processes.discard(process)
            if process.returncode in test.good:
                if not self.stop_at_first:
                    test.seconds = time.monotonic() - began
            elif not (self.failed and self.stop_at_first):
                self.failed.append((test, how))
                for other in self.processes if self.stop_at_first else ():
                    end(other)


def try_out(fault, tests, noticed_by, with_long):
    """The result, or None if the fault does not compile."""
    path = SOURCE / fault.path
    text = path.read_text(encoding="utf-8")
    room = pathlib.Path(fault.path).parts[1]
    # First those that are likely to notice, for the time that they take; what they do not notice the others may.
    asked = [test for test in tests if with_long or test.seconds < LONG_S or room in test.rooms]
    order = sorted(asked, key=lambda test: (test.seconds + 0.05) / (1 + 20 * (room in test.rooms) + 5 * noticed_by.get((room, test.name), 0)))
    began = time.monotonic()
    building = 0.0
    run = []
    failed = []
    try:
        path.write_text(text[:fault.begin] + fault.new + text[fault.begin + len(fault.old):], encoding="utf-8")
        made = {test: test.made() for test in order}  # before the first stage: tests of both may be in one program
        for stage in (order[:FIRST_STAGE], order[FIRST_STAGE:]):
            build_began = time.monotonic()
            if build(stage).returncode != 0:
                return None
            building += time.monotonic() - build_began
            depending = [test for test in stage if test.made() != made[test]]
            failed = Running(stop_at_first=True).run(depending)
            run += depending
            if failed:
                break
    finally:
        path.write_text(text, encoding="utf-8")
    shown = text.split("\n")[fault.line(text) - 1].strip()
    return {"fault": fault.name, "line": fault.line(text), "text": shown, "old": fault.old, "new": fault.new, "room": room,
            "tests": len(run), "noticed_by": failed[0][0].name if failed else None, "how": failed[0][1] if failed else None,
            "build_s": round(building, 1), "test_s": round(time.monotonic() - began - building, 1)}


def told(result):
    what = f"noticed by {result['noticed_by']}, which {result['how']}" if result["noticed_by"] else f"NOT NOTICED by {result['tests']} tests"
    if not result["noticed_by"]:
        what += f"\n  {result['text']}\n  {result['old'].strip()} -> {result['new'].strip() or 'nothing'}"
    return f"{result['fault']} (line {result['line']}): {what} [{result['build_s']} s + {result['test_s']} s]"


def see_that_all_pass(tests):
    """Builds without a fault. Runs the tests that are not as they were when they last passed; all know how long they take."""
    done = build(tests)
    if done.returncode != 0:
        sys.exit((done.stdout + done.stderr)[-4000:])
    file = HOME / "passed.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    for test in tests:
        test.seconds = known.get(test.name, {}).get("seconds", test.seconds)
    failed = Running(stop_at_first=False).run([test for test in tests if known.get(test.name, {}).get("content") != test.content()])
    broken = {test.name: how for test, how in failed}
    known |= {test.name: {"seconds": round(test.seconds, 2), "content": test.content()} for test in tests if test.name not in broken}
    file.write_text(json.dumps(known, indent=1), encoding="utf-8")
    if broken:
        sys.exit(f"without any fault: {broken}")


def chosen(options, fits):
    """The faults to try, room after room; of those that do not fit (they do not compile) others take the place."""
    by_hand = list(faults.by_hand(SOURCE))
    each = -(-options.count // len(options.rooms))
    for room in options.rooms:
        own = [fault for fault in by_hand if pathlib.Path(fault.path).parts[1] == room]
        taken = itertools.chain(own, faults.in_turn(SOURCE, room, options.seed))
        yield from itertools.islice((fault for fault in taken if fits(fault)), each)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=120, help="how many faults (120)")
    parser.add_argument("--seed", type=int, default=19, help="which ones (19)")
    parser.add_argument("--rooms", nargs="+", metavar="ROOM", choices=faults.ROOMS, default=faults.ROOMS, help="of these rooms (all)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these faults of all there are, again")
    parser.add_argument("--list", action="store_true", help="name all faults that there are, and stop")
    parser.add_argument("--long", action="store_true", help=f"tests of more than {LONG_S} s for faults of all rooms")
    parser.add_argument("--jobs", default=str(os.cpu_count()), help="processes at a time (one for each processor)")
    parser.add_argument("--results", type=pathlib.Path, default=HOME / "results.jsonl")
    options = parser.parse_args()
    global JOBS
    JOBS = options.jobs

    SOURCE.mkdir(parents=True, exist_ok=True)
    copy_sources()
    everything = [*faults.by_hand(SOURCE), *(fault for room in faults.ROOMS for fault in faults.in_turn(SOURCE, room, options.seed))]
    if options.list:
        for fault in everything:
            print(f"{fault.name}: {fault.path}: {fault.old.strip()} -> {fault.new.strip()}")
        return
    configure()
    tests = tests_there()
    see_that_all_pass(tests)
    results = {}
    if options.results.exists():
        results = {result["fault"]: result for result in map(json.loads, options.results.read_text(encoding="utf-8").splitlines())}
    noticed_by = {}
    for result in results.values():
        key = (result.get("room"), result.get("noticed_by"))
        noticed_by[key] = noticed_by.get(key, 0) + 1

    def fits(fault):
        if fault.name not in results or options.only:
            results[fault.name] = try_out(fault, tests, noticed_by, options.long) or {"fault": fault.name, "compiles": False}
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(results[fault.name]) + "\n")
            key = (results[fault.name].get("room"), results[fault.name].get("noticed_by"))
            noticed_by[key] = noticed_by.get(key, 0) + 1
        return results[fault.name].get("compiles", True)

    if options.only:
        tried = [fault for fault in everything if fault.name in options.only]
        unknown = set(options.only) - {fault.name for fault in tried}
        if unknown:
            sys.exit("no such fault: " + ", ".join(sorted(unknown)))
        planted = (fault for fault in tried if fits(fault))
    else:
        planted = chosen(options, fits)
    seen = []
    for fault in planted:
        seen.append(results[fault.name])
        print(told(seen[-1]), flush=True)
    noticed = sum(result["noticed_by"] is not None for result in seen)
    print(f"noticed: {noticed} of {len(seen)}")
    for result in seen:
        if result["noticed_by"] is None:
            print(f"  not noticed: {result['fault']}")


if __name__ == "__main__":
    main()
