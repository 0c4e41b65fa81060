#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Mutants of the stored traces through every command and format: no crash, at most 10 s of processor time and 1 GiB each.

hostile_traces.py BIN GOLDEN [COUNT [FIRST]]: BIN holds hostile_traces and synctrace, GOLDEN the stored traces. COUNT (60)
mutants run inside one process, and a fourth as many floods of one kind of record each (of 1 MiB where COUNT is large); then
a few mutants by the command line itself. A mutant that ends the process is named, and the run goes on behind it.

HOSTILE_TRACES_ROTATION, a number: only a third of the 60, which one the number says. Three numbers in a row make all of them.
"""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

MOST_SECONDS = 10
MOST_BYTES = 1 << 30
PARTS = 3  # the mutants come in so many parts, in turns
FIRST_FLOOD = 14  # calls; the kinds before them are definitions

COMMANDS = [
    ["report", "--no-symbols", "-f", "--html", "out.html"],
    ["report", "--no-symbols", "-f", "--format", "json", "-o", "out.json"],
    ["gate", "--no-symbols", "--no-config", "--format", "sarif", "-f", "-o", "out.sarif"],
    ["export", "--format", "chrome", "--stacks", "--force-overwrite", "-o", "out.chrome"],
    ["export", "--no-symbols", "--format", "speedscope", "--force-overwrite", "-o", "out.speedscope"],
    ["rollup", "--no-symbols", "-f", "-o", "out.tables"],
    ["dump", "-f", "-o", "out.txt"],
    ["symbols", "--quiet"],  # last: it writes to the trace
]


def run_all(driver, traces, first, count, extra):
    """What was wrong, as lines; what the driver said last goes to stdout."""
    wrong, end = [], first + count
    while first < end:
        # What AddressSanitizer keeps of freed memory is none of a command's.
        sanitizer = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=32"}
        run = subprocess.run([driver, str(first), str(end - first), *traces], env=os.environ | sanitizer | extra,
                             stdout=subprocess.PIPE, text=True, errors="replace", check=False)
        lines = run.stdout.splitlines()
        wrong += [line for line in lines if re.match(r"(took|threw|was refused|crashed|aborted|too long)", line)]
        if run.returncode in (0, 1):
            if "KEEP" not in extra:
                print("\n".join(line for line in lines if line not in wrong))
            break
        ended = re.findall(r"^(?:crashed|aborted|too long): mutant (\d+) ", run.stdout, re.M)
        if not ended:
            return wrong + [f"the driver ended with {run.returncode} and said nothing of a mutant"]
        first = int(ended[-1]) + 1
    return wrong


def check_command(binary, command, trace):
    with subprocess.Popen([binary, *command, trace], cwd=os.path.dirname(trace), stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, preexec_fn=lambda: resource.setrlimit(
                              resource.RLIMIT_CPU, (2 * MOST_SECONDS, 2 * MOST_SECONDS))) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds, peak = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
    name = f"synctrace {' '.join(command)}"
    if process.returncode not in (0, 1, 3, 4):
        return [f"{name} ended with {process.returncode}"]
    if seconds > MOST_SECONDS or peak > MOST_BYTES:
        return [f"{name} took {seconds:.1f} s and {peak >> 20} MiB"]
    return []


def main():
    binaries, golden = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 60
    first = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    if len(sys.argv) <= 3 and "HOSTILE_TRACES_ROTATION" in os.environ:
        count //= PARTS
        first = count * (int(os.environ["HOSTILE_TRACES_ROTATION"]) % PARTS)
    traces = sorted(str(path) for ending in ("*.synctrace", "*.trace.txt") for path in golden.glob(f"*/{ending}"))
    small = [trace for trace in traces if os.path.getsize(trace) < 10_000]
    driver, command_line = str(binaries / "hostile_traces"), str(binaries / "synctrace")
    wrong = run_all(driver, traces, first, count, {})
    flood_bytes = 1 << 20 if count >= 1_000 else 1 << 16
    wrong += run_all(driver, small, first // 4 + FIRST_FLOOD, max(1, min(count // 4, 500)), {"FLOOD": str(flood_bytes)})
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "mutant.synctrace")
        for number in range(first, first + 2 + count // 1000):
            run_all(driver, traces, number, 1, {"KEEP": trace, "ONLY_KEEP": "1"})
            for command in COMMANDS:
                wrong += [f"{line}: mutant {number}" for line in check_command(command_line, command, trace)]
    measured_rows.Rows("survival", gpus=0).add_of("hostile", f"hostile_traces {first} {count}: mutants without a crash", max(0, count - len(wrong)), count)
    print("\n".join(wrong) if wrong else "none was wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
