# SPDX-License-Identifier: Apache-2.0
"""How long the gate takes over a trace with as many findings as nobody wants to have.

  gate_bench.py FOLDER [FINDINGS]      FOLDER: the programs of a build (build/release/bin); default 10,000 findings

Each finding is a line of Python of its own that waits in every one of five steps. Fails when the fastest of three runs takes a
second or more, or the gate does not find all of them.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

STEPS = 5
MOST_SECONDS = 1.0


def write_trace(out, findings):
    print("synctrace-text 1 start_realtime_ns=1700000000000000000 process_id=99\nchunk\nschemas", file=out)
    print('fact key="level" value="syncs"\nfact key="working_folder" value="/home/ada"', file=out)
    print('api_name api=1 category=1 name="cudaStreamSynchronize"', file=out)
    print('nvtx_domain domain=1 name="synctrace"\nstring id=1 text="step"', file=out)
    for i in range(1, findings + 1):
        # One instruction, at the first line of its function.
        print(f'code id={i} python_version={0x030c0100} first_line={i} file="/home/ada/part{i % 97}.py" function="step{i}" line_table="\\xe9\\x02"', file=out)
        print(f'stack id={i} frames="p{i}:0"', file=out)
    time_ns = 1_000_000
    for _ in range(STEPS):
        print(f"nvtx_push thread=99 time_ns={time_ns} domain=1 text=1", file=out)
        for i in range(1, findings + 1):
            time_ns += 200_000
            print(f"call thread=99 begin_ns={time_ns} duration_ns=150000 api=1 correlation=1 context=1 stream=13 stack={i}", file=out)
        time_ns += 200_000
        print(f"nvtx_pop thread=99 time_ns={time_ns} domain=1", file=out)
        time_ns += 1_000
    print(f'end time_ns={time_ns} reason="exit"', file=out)


def main():
    synctrace = os.path.join(sys.argv[1], "synctrace")
    findings = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        text, trace, result = (os.path.join(folder, name) for name in ("t.txt", "t.synctrace", "gate.json"))
        with open(text, "w", encoding="utf-8") as out:
            write_trace(out, findings)
        subprocess.run([synctrace, "dump", "-f", "--assemble", text, "-o", trace], check=True)
        times = []
        for _ in range(3):
            begin = time.monotonic()
            status = subprocess.run([synctrace, "gate", "--no-config", "--no-symbols", "--judge-steps", "0:", "--format", "sarif", "-o", os.devnull, trace],
                                    check=False).returncode
            times.append(time.monotonic() - begin)
        subprocess.run([synctrace, "gate", "--no-config", "--no-symbols", "--judge-steps", "0:", "--format", "json", "-o", result, trace], check=False)
        with open(result, encoding="utf-8") as file:
            found = sum(finding["fails"] for finding in json.load(file)["findings"])
    measured_rows.Rows("gate", gpus=0).add("time", f"{findings:,} findings of {findings * STEPS:,} calls", f"{min(times):.2f}", "s", n=len(times))
    print(f"{findings:,} lines, {findings * STEPS:,} calls: {found:,} findings, status {status}, {min(times):.2f} s")
    if found != findings or status != 1 or min(times) >= MOST_SECONDS:
        sys.exit(1)


if __name__ == "__main__":
    main()
