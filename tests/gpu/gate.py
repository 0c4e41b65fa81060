# SPDX-License-Identifier: Apache-2.0
"""The gate on a real GPU: clean programs pass, the same programs with one planted wait fail with its line, every time.

  gate.py --build BUILD [--out TABLE.md] [--repetitions 20] [--jobs 4] [--only torch,pytest,jax] [--keep DIR]

A training script of PyTorch (level syncs), a test file with the plugin of pytest (level syncs), a script of JAX (level
timeline: its waits are in no CUDA call). What is not installed is skipped with a line that says so. The folder of a run that
was judged wrong, its trace included, goes to --keep. Exit status 0 when all that ran was right, 1 when a verdict was wrong,
77 when nothing could run.
"""
import argparse
import collections
import concurrent.futures
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = ROOT / "libsynctrace" / "python"
PATIENCE_S = 300

TORCH = """\
import torch
import synctrace

# Steps that keep the GPU busier than the host: only there does reading the loss wait for anything.
model = torch.nn.Sequential(*[torch.nn.Linear(2048, 2048) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
inputs = torch.randn(2048, 2048, device="cuda")
total = torch.zeros((), device="cuda")
host_total = 0.0


def train_step():
    global host_total
    optimizer.zero_grad(set_to_none=True)
    loss = model(inputs).square().mean()
    loss.backward()
    optimizer.step()
    total.add_(loss.detach())
{plant}


for number in range(60):
    with synctrace.step(number):
        train_step()
torch.cuda.synchronize()
print("done")
"""

PYTEST = """\
import pytest
import torch

weights = torch.randn(4096, 4096, device="cuda")
(weights @ weights).sum().item()  # libraries start up at their first use


@pytest.mark.no_gpu_sync
@pytest.mark.parametrize("repetition", range({repetitions}))
def test_clean(repetition):
    result = weights
    for _ in range(20):
        result = result @ weights


@pytest.mark.no_gpu_sync
@pytest.mark.parametrize("repetition", range({repetitions}))
def test_planted(repetition):
    result = (weights @ weights).sum()
    assert result.item() is not None  # planted
"""

JAX = """\
import time

import jax
import jax.numpy as jnp
import synctrace

weights = jax.random.normal(jax.random.PRNGKey(0), (4096, 4096)) * 0.01


@jax.jit
def update(weights):
    hidden = weights
    for _ in range(4):
        hidden = jnp.tanh(hidden @ weights)
    return weights * 0.999, hidden.mean()


def busy_host(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def train_step(weights):
    weights, loss = update(weights)
{plant}
    busy_host(0.02)  # longer than the GPU's work: the host never runs far ahead, where JAX would hold it back
    return weights


for number in range(100):
    with synctrace.step(number):
        weights = train_step(weights)
jax.block_until_ready(weights)
print("done")
"""

Case = collections.namedtuple("Case", "name module level script plant repetitions")


def line_of(text, words):
    return text[:text.index(words)].count("\n") + 1


def run(words, folder, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCTRACE_") and name != "LD_PRELOAD"}
    # JAX takes most of the GPU's memory at once, which several runs side by side cannot.
    environment.update({"PYTHONPATH": str(MODULE), "PYTHONDONTWRITEBYTECODE": "1", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", **more})
    return subprocess.run([str(word) for word in words], cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def judge_once(synctrace, case, planted, folder):
    """(right, what was seen) of one run."""
    folder.mkdir()
    (folder / "synctrace.toml").write_text("")
    text = case.script.format(plant=case.plant if planted else "    pass")
    (folder / "train.py").write_text(text)
    done = run([synctrace, "run", "--gate", f"--level={case.level}", "-o", "trace", "--root", folder, "--write", "json=gate.json", "--", sys.executable,
                "train.py"], folder)
    if not (folder / "gate.json").exists():
        return False, f"status {done.returncode}, no verdict: {done.stderr.strip().splitlines()[-1:]}"
    answer = json.loads((folder / "gate.json").read_text())
    lines = sorted((finding["file"] or "no file", finding["line"] or 0, finding["rule"] or "-") for finding in answer["findings"] if finding["fails"])
    seen = f"status {done.returncode}, " + (", ".join(f"{file}:{line} {rule}" for file, line, rule in lines) or "no line")
    if answer["not_judged"]:
        seen += ", not judged: " + "; ".join(answer["not_judged"])
    if done.stdout != "done\n":
        return False, seen + f", the program did not end as it should: {done.stderr.strip().splitlines()[-1:]}"
    if not planted:
        return done.returncode == 0 and not lines, seen
    return done.returncode == 1 and [line[:2] for line in lines] == [("train.py", line_of(text, case.plant.strip()))], seen


def judge_and_keep(synctrace, case, planted, folder, keep):
    right, seen = judge_once(synctrace, case, planted, folder)
    if keep and not right:
        shutil.copytree(folder, keep / folder.name, dirs_exist_ok=True)
    return right, seen


def run_case(synctrace, case, jobs, folder, keep):
    """Rows of the table."""
    rows = []
    for planted in (False, True):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            futures = [pool.submit(judge_and_keep, synctrace, case, planted, folder / f"{case.module}-{planted}-{i}", keep)
                       for i in range(case.repetitions)]
            results = [future.result() for future in futures]
        seen = collections.Counter(words for _, words in results)
        rows.append((case.name, "planted" if planted else "clean", case.level, sum(right for right, _ in results), len(results),
                     "; ".join(f"{words} ({count})" for words, count in seen.most_common(3))))
        print(rows[-1], flush=True)
    return rows


def run_pytest(synctrace, repetitions, folder):
    folder = folder / "pytest"
    folder.mkdir()
    text = PYTEST.format(repetitions=repetitions)
    (folder / "test_gpu.py").write_text(text)
    done = run([synctrace, "run", "--level=syncs", "--report=none", "-o", "trace", "--", sys.executable, "-m", "pytest", "-q", "-p", "synctrace", "-p",
                "no:cacheprovider", "--gpu-sync=require", "test_gpu.py"], folder, SYNCTRACE_COMMAND=str(synctrace))
    line = line_of(text, "assert result.item()")
    right = done.stdout.count(f"test_gpu.py:{line}: synchronises where nothing may")
    last = (done.stdout.strip().splitlines() or ["nothing was printed"])[-1]
    wanted = f"{repetitions} failed, {repetitions} passed"
    if wanted not in last:
        print(done.stdout[-3000:] + done.stderr[-1000:], file=sys.stderr)
    return [("pytest plugin", "clean", "syncs", repetitions if wanted in last else 0, repetitions, last),
            ("pytest plugin", "planted", "syncs", right if wanted in last else 0, repetitions, f"line {line} named {right} times")]


def is_installed(module):
    return importlib.util.find_spec(module) is not None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--only", default="torch,pytest,jax")
    parser.add_argument("--keep", type=pathlib.Path)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    synctrace = (options.build / "bin" / "synctrace").resolve()
    wanted = options.only.split(",")
    cases = [Case("PyTorch, .item()", "torch", "syncs", TORCH, "    host_total += loss.item()", options.repetitions),
             Case("JAX, float(loss)", "jax", "timeline", JAX, "    total = float(loss)", options.repetitions)]
    rows, skipped = [], []
    with tempfile.TemporaryDirectory(prefix="synctrace-gate-") as name:
        folder = pathlib.Path(name)
        for case in cases:
            if case.module not in wanted:
                continue
            if is_installed(case.module):
                rows += run_case(synctrace, case, options.jobs, folder, options.keep)
            else:
                skipped.append(f"{case.name}: {case.module} is not installed")
        if "pytest" in wanted:
            if is_installed("pytest") and is_installed("torch"):
                rows += run_pytest(synctrace, options.repetitions, folder)
            else:
                skipped.append("pytest plugin: pytest or torch is not installed")
    table = "| program | form | level | right | of | seen |\n|---|---|---|---:|---:|---|\n"
    table += "".join(f"| {' | '.join(str(cell) for cell in row)} |\n" for row in rows)
    table += "".join(f"\nSkipped: {why}.\n" for why in skipped)
    print(table)
    if options.out:
        options.out.write_text(table)
    wrong = [row for row in rows if row[3] != row[4]]
    added = measured_rows.Rows("gate")
    for name, form, level, right, of, _ in rows:
        added.add_of("verdicts", f"{name}, {level}: {form}", right, of)
    if wanted == ["torch", "pytest", "jax"] and not skipped:
        added.add_of("all-rows", "rows right, whole test", len(rows) - len(wrong), len(rows))
    print(f"{len(rows) - len(wrong)} of {len(rows)} rows are right, {len(skipped)} programs were skipped")
    if not rows:
        return 77
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
