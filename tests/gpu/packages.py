# SPDX-License-Identifier: Apache-2.0
"""The wheel on a machine with a GPU: installed without a network beside its PyTorch, it records and judges.

  packages.py --packages DIR [--out TABLE.md]

DIR has what `make package` made. The environment is a fresh one that sees the machine's packages; where Python has no
ensurepip, a folder that pip installs into. Exit status 0 when all was right, 1 when something was wrong, 77 without
PyTorch on CUDA.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402
import time

import gate

STARTS = 40
MIB = 1 << 20


def clean_environment(**more):
    foreign = ("SYNCTRACE_", "LD_PRELOAD", "PYTHONPATH", "CUDA_INJECTION", "NVTX_INJECTION")
    return {**{name: value for name, value in os.environ.items() if not name.startswith(foreign)}, **more}


class Installed:
    """The wheel, installed into a folder; how its command is started, and what its programs need of the environment."""

    def __init__(self, wheel, folder):
        pip = ["-m", "pip", "install", "--no-index", "--no-deps", "--disable-pip-version-check", "-q", wheel]
        if importlib.util.find_spec("ensurepip"):
            subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder / "env"], check=True)
            self.how, self.python, self.more = "a venv", folder / "env/bin/python", {}
            subprocess.run([self.python, *pip], check=True)
            # A venv sees the packages of the interpreter that it was made from, but not those of a venv.
            self.more = {"PYTHONPATH": os.pathsep.join(path for path in sys.path[1:] if path.endswith("-packages"))}
            self.package = next((folder / "env").glob("lib/python*/site-packages/synctrace"))
            self.shim = folder / "env/bin/synctrace"
        else:
            subprocess.run([sys.executable, *pip, "--target", folder / "env"], check=True)
            self.how, self.python, self.more = "pip --target", sys.executable, {"PYTHONPATH": str(folder / "env")}
            self.package, self.shim = folder / "env/synctrace", folder / "env/bin/synctrace"
        self.native = self.package / "_native/bin/synctrace"

    def run(self, folder, *words):
        return subprocess.run([str(word) for word in words], cwd=folder, env=clean_environment(**self.more), text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=gate.PATIENCE_S, check=False)


def start_ms(words):
    """The median time from start to end."""
    def once():
        begin = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, env=clean_environment())
        return (time.perf_counter() - begin) * 1000

    return statistics.median(once() for _ in range(STARTS))


def check_recording(installed, folder):
    """A planted .item(), under both names of the command: (what, right, seen)."""
    text = gate.TORCH.format(plant="    host_total += loss.item()")
    (folder / "train.py").write_text(text)
    line = gate.line_of(text, "host_total += loss.item()")
    names = {"synctrace run": [installed.shim], "python -m synctrace run": [installed.python, "-m", "synctrace"]}
    for name, command in names.items():
        words = [*command, "run", "-f", "-o", "trace", "--report=none", "--", installed.python, "train.py"]
        done = installed.run(folder, *words)
        if done.returncode != 0 or done.stdout != "done\n":
            yield name, False, f"status {done.returncode}: {done.stderr.strip()[-300:]}"
            continue
        ask = "import json, synctrace; print(json.dumps(synctrace.report('trace.synctrace')['processes'][0]['waits']))"
        waits = json.loads(installed.run(folder, installed.python, "-c", ask).stdout)
        first = max(waits, key=lambda wait: wait["host_blocked_ns"])
        seen = f"{first['file']}:{first['line']} [{first['rule']}], {first['blocked_count']} of {first['count']} waited"
        yield name, (first["file"] or "").endswith("train.py") and first["line"] == line, seen


def check_gate(installed, folder):
    (folder / "synctrace.toml").write_text("")
    for name, plant, status in (("gate, clean", "    pass", 0), ("gate, planted", "    host_total += loss.item()", 1)):
        (folder / "train.py").write_text(gate.TORCH.format(plant=plant))
        words = ["run", "--gate", "-f", "-o", "trace", "--root", folder, "--", installed.python, "train.py"]
        done = installed.run(folder, installed.shim, *words)
        yield name, done.returncode == status, f"status {done.returncode}"


def check_plugin(installed, folder, repetitions=3):
    if not importlib.util.find_spec("pytest"):
        yield "pytest", True, "skipped: not installed"
        return
    (folder / "test_gpu.py").write_text(gate.PYTEST.format(repetitions=repetitions))
    words = ["run", "--level=syncs", "--report=none", "-f", "-o", "trace", "--", installed.python, "-m", "pytest", "-q"]
    done = installed.run(folder, installed.shim, *words, "-p", "no:cacheprovider", "--gpu-sync=require", "test_gpu.py")
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-300:]])[-1]
    yield "pytest plugin", f"{repetitions} failed, {repetitions} passed" in last, last


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    words = [sys.executable, "-c", "import torch; assert torch.cuda.is_available()"]
    has_cuda = subprocess.run(words, capture_output=True, check=False)
    if has_cuda.returncode != 0:
        print("skipped: no PyTorch with CUDA")
        return 77
    wheel = next(options.packages.resolve().glob("*.whl"))
    with tempfile.TemporaryDirectory(prefix="synctrace-packages-") as name:
        folder = pathlib.Path(name)
        installed = Installed(wheel, folder)
        size = wheel.stat().st_size
        rows = [("wheel", size <= 6_000_000, f"{size / MIB:.2f} MiB, installed by {installed.how}")]
        doctor = installed.run(folder, installed.shim, "doctor")
        rows.append(("doctor", doctor.returncode == 0, doctor.stdout.strip().splitlines()[-1]))
        for check in (check_recording, check_gate, check_plugin):
            rows += check(installed, folder)
        native, shim = start_ms([installed.native, "--version"]), start_ms([installed.shim, "--version"])
        rows.append(("start of the command", native <= 15, f"{native:.1f} ms; by pip's script {shim:.1f} ms"))
    table = "| what | right | seen |\n|---|---|---|\n"
    table += "".join(f"| {what} | {'yes' if right else '**no**'} | {seen} |\n" for what, right, seen in rows)
    if options.out:
        options.out.write_text(table)
    print(table)
    wrong = sum(not right for _, right, _ in rows)
    added = measured_rows.Rows("packages")
    added.add_of("machines", "wheel on a GPU, checks", len(rows) - wrong, len(rows))
    added.add("size", "wheel", size, "B")
    print(f"{len(rows) - wrong} of {len(rows)} right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
