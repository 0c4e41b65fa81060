# SPDX-License-Identifier: Apache-2.0
"""A long run at level timeline with a limit on the trace: does memory stay flat, does a launch cost the same at the end, does the
trace keep its limit, and can it be reported?

  long_run.py --build BUILD --out FOLDER [--seconds 3600] [--max-size 300M] [--bare-seconds 60] [--simgpu] [--program CMD...]

Runs tests/programs/training.cu (`training`), first for a while without the recorder; or another program, given behind --program, which then
decides how long it runs. A program may say what a launch or a step costs it in lines of JSON on stderr, as training.cu does. SYNCTRACE_LONG is the default of --seconds. FOLDER gets samples.jsonl (one line for each sample and
window as it comes), summary.json and the trace. Exit status 1 when something was not as it should be, which it says.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

SAMPLES = 240  # in a whole run
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
REPORT_LIMIT_S = 600


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+)([KMG]?)", text).groups()
    return int(number) * UNITS[unit]


def stat_fields(pid):
    """Fields of /proc/PID/stat behind the name, the first of which is the state."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def child_of(parent):
    """The program that `synctrace run` has started, or None."""
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and int(stat_fields(entry)[1]) == parent:
                return int(entry)
        except (OSError, IndexError):
            pass  # it has ended meanwhile
    return None


def sample(pid, trace_folder, started):
    """One sample of the process and of its trace; None when it is gone."""
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        fields = stat_fields(pid)
        resident_kib = int(re.search(r"^VmRSS:\s+(\d+)", status, re.MULTILINE).group(1))
    except (OSError, AttributeError):
        return None
    return {"kind": "sample", "at_s": round(time.monotonic() - started, 2), "resident_kib": resident_kib, "cpu_s": (int(fields[11]) + int(fields[12])) / TICKS_PER_SECOND,
            "trace_bytes": sum(path.stat().st_size for path in trace_folder.glob("trace.synctrace*"))}


class Lines:
    """What a program says on stderr: windows of JSON go to the log, the rest is kept."""

    def __init__(self, stream, log):
        self.windows, self.others = [], []
        self._stream, self._log = stream, log
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self):
        for line in self._stream:
            if line.startswith("{"):
                self.windows.append(json.loads(line))
                self._log({"kind": "window", **self.windows[-1]})
            else:
                self.others.append(line.rstrip("\n"))

    def wait(self):
        self._thread.join()


def watch(command, environment, out, every_s, log, is_recorded):
    """Runs a command; (exit status, its lines, samples)."""
    started = time.monotonic()
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
    lines = Lines(process.stderr, log)
    samples = []
    while process.poll() is None:
        pid = child_of(process.pid) if is_recorded else process.pid
        seen = sample(pid, out, started) if pid else None
        if seen:
            samples.append(seen)
            log(seen)
        try:
            process.wait(every_s)
        except subprocess.TimeoutExpired:
            pass
    lines.wait()
    return process.returncode, lines, samples


def median_of(rows, key, low, high):
    """The median of a field over the part [low, high) of the rows; None without rows."""
    part = rows[int(len(rows) * low):int(len(rows) * high)]
    return statistics.median(row[key] for row in part) if part else None


def steps_of_size(samples, limit):
    """Samples that were taken while the timeline was recorded: until nine tenths of the limit."""
    return [each for each in samples if each["trace_bytes"] < 0.9 * limit]


def summarize(bare, recorded, samples, limit):
    timeline = steps_of_size(samples, limit)
    until_s = timeline[-1]["at_s"] if timeline else 0
    windows = [each for each in recorded.windows if each["seconds"] < until_s]
    after = [each for each in recorded.windows if each["seconds"] > until_s + 10]
    rates = [{"cpu": (b["cpu_s"] - a["cpu_s"]) / (b["at_s"] - a["at_s"])} for a, b in zip(timeline, timeline[1:]) if b["at_s"] > a["at_s"]]
    summary = {"seconds": samples[-1]["at_s"] if samples else 0, "timeline_until_s": until_s, "limit_bytes": limit,
               "trace_bytes_most": max((each["trace_bytes"] for each in samples), default=0)}
    for name, low, high in (("second_quarter", 0.25, 0.5), ("last_quarter", 0.75, 1.0)):
        summary[name] = {"resident_kib": median_of(samples, "resident_kib", low, high), "cpu_share_in_timeline": median_of(rates, "cpu", low, high),
                         "cost_ns_p10": median_of(windows, "cost_ns_p10", low, high),
                         "cost_ns_median": median_of(windows, "cost_ns_median", low, high)}
    for name, rows in (("bare", bare.windows), ("after_the_limit", after)):
        summary[name] = {key: median_of(rows, key, 0, 1) for key in ("cost_ns_p10", "cost_ns_median")}
    return summary


def judge(summary, tolerance, report):
    """What is wrong, in words."""
    wrong = []
    early, late = summary["second_quarter"], summary["last_quarter"]
    if not early["resident_kib"] or not late["resident_kib"]:
        wrong.append("no sample of memory")
    elif late["resident_kib"] > early["resident_kib"] * 1.02 + 2048:
        wrong.append(f"memory grew from {early['resident_kib']:.0f} to {late['resident_kib']:.0f} KiB")
    for key, words in (("cost_ns_p10", "a launch (or step)"), ("cpu_share_in_timeline", "CPU of the process")):
        if early[key] and late[key] and late[key] > early[key] * (1 + tolerance):
            wrong.append(f"{words} got dearer: {key} was {early[key]:.3g}, then {late[key]:.3g}")
    if summary["trace_bytes_most"] > summary["limit_bytes"]:
        wrong.append("the trace passed its limit")
    if report["status"] != 0 or not report["kernels"]:
        wrong.append("no report")
    if any(name.startswith("file-") for name in report["losses"]):
        wrong.append("the trace is damaged")
    return wrong


def report_of(synctrace, trace):
    start = time.monotonic()
    text = subprocess.run([synctrace, "report", trace], capture_output=True, text=True, timeout=REPORT_LIMIT_S, check=False)
    seconds = time.monotonic() - start
    done = subprocess.run([synctrace, "report", "--format", "json", trace], capture_output=True, text=True, timeout=REPORT_LIMIT_S, check=False)
    answer = json.loads(done.stdout)["processes"][0] if done.returncode == 0 else {"work": [], "losses": []}
    return {"status": text.returncode, "seconds": round(seconds, 2), "stored_bytes": trace.stat().st_size if trace.exists() else 0,
            "kernels": sum(work["count"] for work in answer["work"] if work["what"] == "kernels"),
            "losses": {loss["name"]: loss["count"] for loss in answer["losses"]}, "text": text.stdout}


def add_rows(options, summary):
    rows, early, late = measured_rows.Rows("survival", simulated=options.simgpu), summary["second_quarter"], summary["last_quarter"]
    length = "an hour" if options.seconds >= 3600 else f"{options.seconds / 60:.0f} minutes"
    for key, words in (("resident_kib", "memory"), ("cost_ns_p10", "a launch"), ("cpu_share_in_timeline", "CPU of the process")):
        if early[key] and late[key]:
            rows.add("long-run", f"{words} of the last quarter over the second: {length}, {'simulated GPU' if options.simgpu else 'GPU'}", f"{late[key] / early[key]:.3f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=float(os.environ.get("SYNCTRACE_LONG", "3600")))
    parser.add_argument("--bare-seconds", type=float, default=60)
    parser.add_argument("--max-size", default="300M")
    parser.add_argument("--tolerance", type=float, default=0.1, help="by how much the cost of a launch may rise")
    parser.add_argument("--simgpu", action="store_true")
    measured_rows.add_option(parser)
    parser.add_argument("--program", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    build, out = options.build.resolve(), options.out.resolve()
    synctrace = build / "bin" / "synctrace"
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("trace.synctrace*"):
        old.unlink()
    limit = bytes_of(options.max_size)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCTRACE_")}
    if options.simgpu:
        environment["LD_LIBRARY_PATH"] = str(build / "simgpu")

    def program(seconds):
        return options.program or [str(build / "tests/bin/training"), str(seconds), str(max(1.0, seconds / SAMPLES))]

    with open(out / "samples.jsonl", "w", encoding="utf-8", buffering=1) as stream:
        def log(row):
            stream.write(json.dumps(row) + "\n")

        every_s = max(0.5, options.seconds / SAMPLES)
        bare = Lines(iter(()), log)
        if options.bare_seconds > 0 and not options.program:
            log({"kind": "bare"})
            _, bare, _ = watch(program(options.bare_seconds), environment, out, every_s, log, False)
        log({"kind": "recorded"})
        words = [str(synctrace), "run", "--level=timeline", f"--max-size={options.max_size}", "--report=none", "-f", "-o", str(out / "trace"), "--"]
        status, recorded, samples = watch(words + program(options.seconds), environment, out, every_s, log, True)
    summary = {"status": status, "said": recorded.others[-5:], **summarize(bare, recorded, samples, limit)}
    summary["report"] = report_of(synctrace, out / "trace.synctrace")
    (out / "report.txt").write_text(summary["report"].pop("text"))
    wrong = judge(summary, options.tolerance, summary["report"]) + ([f"the program ended with status {status}"] if status else [])
    summary["wrong"] = wrong
    (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    add_rows(options, summary)
    print(json.dumps(summary, indent=1))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
