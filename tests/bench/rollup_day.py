# SPDX-License-Identifier: Apache-2.0
"""rollup_day.py BIN: a recording of one rank and day, in which 40 lines wait for the GPU once in each minute, as tables: time, memory,
and the bytes and rows of each table."""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "rollup"))
import parquet_file  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

SECOND = 1_000_000_000
LINES, MINUTES = 40, 1440
HEAD = f"""synctrace-text 1 start_realtime_ns={1_700_000_000 * SECOND} process_id=77
chunk
schemas
clock monotonic_ns=0 realtime_ns={1_700_000_000 * SECOND}
context context=1 device=0 null_stream=7
window time_ns=0 open=1 reason="start"
string id=1 text="k"
api_name api=33554563 category=1 name="cudaStreamSynchronize"
"""


def day():
    yield HEAD
    for line in range(1, LINES + 1):
        yield f'code id={line} python_version=50921712 first_line={10 * line} file="/home/ada/train_{line % 7}.py" function="part_{line}"\n'
        yield f'stack id={line} frames="p{line}:-1"\n'
    for minute in range(MINUTES):
        for line in range(1, LINES + 1):
            begin, length = minute * 60 * SECOND + line * 1_400_000_000, 900_000_000 + line * 1000 + minute * 17
            work = minute * LINES + line
            yield f"launch thread=9 begin_ns={begin} duration_ns=10 api=33554643 correlation={work}\n"
            yield f"kernel begin_ns={begin + 1000} duration_ns={length} context=1 stream=7 name=1 correlation={work}\n"
            yield f"call thread=9 begin_ns={begin + 2000} duration_ns={length} api=33554563 context=1 stream=7 stack={line}\n"
    yield f'end time_ns={MINUTES * 60 * SECOND} reason="exit"\n'


def main():
    synctrace = pathlib.Path(sys.argv[1]) / "synctrace"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text, trace = folder / "day.trace.txt", folder / "day.synctrace"
        text.write_text("".join(day()))
        subprocess.run([synctrace, "dump", "-f", "--assemble", text, "-o", trace], check=True)
        with subprocess.Popen([synctrace, "rollup", "--no-symbols", "-o", folder / "dataset", trace]) as process:
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        print(f"{used.ru_utime + used.ru_stime:.2f} s of processor time, {used.ru_maxrss / 1024:.0f} MiB")
        added = measured_rows.Rows("fleet", gpus=0)
        added.add("day", "a rank and day, 40 lines a minute: processor time", f"{used.ru_utime + used.ru_stime:.2f}", "s")
        added.add("day", "a rank and day, 40 lines a minute: memory", f"{used.ru_maxrss / 1024:.0f}", "MiB")
        for file in sorted((folder / "dataset").rglob("*.parquet")):
            table = file.relative_to(folder / "dataset").parts[0]
            added.add("day", f"{table}: rows", len(parquet_file.ParquetFile(file).rows))
            added.add("day", f"{table}: bytes", file.stat().st_size)
            print(f"{table:12} {len(parquet_file.ParquetFile(file).rows):7} rows {file.stat().st_size:8} bytes")
    return process.returncode


if __name__ == "__main__":
    sys.exit(main())
