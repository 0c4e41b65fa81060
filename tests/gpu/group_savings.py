# SPDX-License-Identifier: Apache-2.0
"""What the first remedy of a report promises, against the same remedy really applied, on a real GPU.

  group_savings.py --synctrace PATH --out DIR [--repetitions N]
  group_savings.py --program launches|copies STAGE [--steps N]

Two programs of several lines each that one change sets right together: a small network whose step is launch-bound (a CUDA graph of
forward and backward, one of the whole step with its optimizer, and torch.compile), and batches copied from pageable memory (pinned,
non_blocking). "before" is recorded, its remedy is written down; then all stages are timed without the recorder, in turns. Prints a
table in Markdown. Exit status 1 when the first remedy is of another sort, or the saving of what it says (the graph with or without
the optimizer, pinned) lies outside of what was promised by more than 10 points; 77 without a GPU.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

STAGES = {"launches": ("before", "graph", "whole", "compile"), "copies": ("before", "pinned")}
SORT = {"launches": "graph", "copies": "async-copy"}
MOST_OFF = 0.10


def launches(stage):
    import torch
    torch.manual_seed(0)

    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(256, 256)
            self.second = torch.nn.Linear(256, 256)

        def forward(self, x):
            y = torch.tanh(self.first(x))
            y = y * torch.sigmoid(y)
            return x + self.second(y)

    model = torch.nn.Sequential(*[Block() for _ in range(16)]).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, foreach=True)
    inputs = torch.randn(256, 256, device="cuda")

    # A graph of our own needs gradients that stay where they are, one of the compiler's must not have them kept.
    def work(network):
        optimizer.zero_grad(set_to_none=stage == "compile")
        outputs = network(inputs)
        loss = (outputs * outputs).mean()
        loss.backward()
        optimizer.step()

    if stage == "compile":
        compiled = torch.compile(model, mode="reduce-overhead")
        return lambda: work(compiled)
    if stage not in ("graph", "whole"):
        return lambda: work(model)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            work(model)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    if stage == "whole":
        with torch.cuda.graph(graph):
            work(model)
        return graph.replay
    optimizer.zero_grad(set_to_none=True)
    with torch.cuda.graph(graph):
        outputs = model(inputs)
        (outputs * outputs).mean().backward()

    def step():
        graph.replay()
        optimizer.step()

    return step


def copies(stage):
    import torch
    pinned = stage == "pinned"
    torch.manual_seed(0)
    batches = [[torch.randn(4096, 1024) for _ in range(3)] for _ in range(4)]
    if pinned:
        batches = [[part.pin_memory() for part in batch] for batch in batches]
    weight = torch.randn(1024, 4096, device="cuda")
    turn = 0

    def step():
        nonlocal turn
        images, depths, labels = batches[turn % len(batches)]
        turn += 1
        images = images.to("cuda", non_blocking=pinned)
        depths = depths.to("cuda", non_blocking=pinned)
        labels = labels.to("cuda", non_blocking=pinned)
        result = (images + depths - labels) @ weight
        for _ in range(6):
            result = (result @ weight.T) @ weight * 1e-4
        return result

    return step


def run_program(options):
    import torch
    step = {"launches": launches, "copies": copies}[options.program[0]](options.program[1])
    for _ in range(12):  # compiles, captures, fills the allocator
        step()
    torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(options.steps):
        with torch.cuda.nvtx.range("step"):
            step()
    torch.cuda.synchronize()
    print(json.dumps({"step_s": (time.perf_counter() - began) / options.steps}))


def command(name, stage, steps):
    return [sys.executable, __file__, "--program", name, stage, "--steps", str(steps)]


def promised(options, name):
    trace = options.out / f"group_savings.{name}.synctrace"
    subprocess.run([options.synctrace, "run", "--quiet", "--report=none", "--force-overwrite", "-o", str(trace), "--",
                    *command(name, "before", 60)], check=True, capture_output=True, timeout=240)
    done = subprocess.run([options.synctrace, "report", "--format", "json", str(trace)], check=True, capture_output=True, text=True, timeout=240)
    report = json.loads(done.stdout)
    savings = report["processes"][0]["savings"]
    screen = subprocess.run([options.synctrace, "report", str(trace)], check=True, capture_output=True, text=True, timeout=240).stdout
    (options.out / f"group_savings.{name}.txt").write_text(screen, encoding="utf-8")
    same = [remedy for remedy in savings["remedies"] if remedy["fix"] == SORT[name]]
    first = savings["remedies"][0] if savings["remedies"] else None
    total = {key: sum(remedy["marginal_saving_ns"] for remedy in same) / savings["base_ns"] for key in ("ns",)}
    last = same[-1]["cumulative"] if same else {"lo_ns": 0, "hi_ns": 0}
    return {"first": first and first["title"], "is_first": bool(first) and first["fix"] == SORT[name], "saving": total["ns"],
            "lo": last["lo_ns"] / savings["base_ns"], "hi": last["hi_ns"] / savings["base_ns"],
            "same": {"pinned", "whole" if first and "optimizer" in first["title"] else "graph"},
            "lines": sum(len(remedy["fixes"]) + remedy["more_fixes"] for remedy in same)}


def add_rows(name, stage, promise, saved, before, after):
    rows = measured_rows.Rows("savings")
    case = {"graph": "launches, one CUDA graph of forward and backward", "whole": "launches, one CUDA graph of the step", "compile": "launches, torch.compile",
            "pinned": "copies, pinned"}[stage]
    error = f"{100 * promise['lo']:.1f} to {100 * promise['hi']:.1f}"
    rows.add("several-lines", f"{case}: promised", f"{100 * promise['saving']:.1f}", "%", error)
    rows.add("several-lines", f"{case}: saved", f"{100 * saved:.1f}", "%")
    rows.add("several-lines-times", f"{case}: lines", promise["lines"])
    rows.add("several-lines-times", f"{case}: before", f"{1e3 * before:.2f}", "ms")
    rows.add("several-lines-times", f"{case}: after", f"{1e3 * after:.2f}", "ms")
    if stage in promise["same"] and stage != "compile":
        rows.add("agreement", f"{name}: promised and saved apart", f"{100 * abs(promise['saving'] - saved):.1f}", "points")


def compare(options):
    if subprocess.run(["nvidia-smi", "-L"], capture_output=True).returncode != 0:
        print("no GPU here")
        return 77
    options.out.mkdir(parents=True, exist_ok=True)
    promises = {name: promised(options, name) for name in STAGES}
    (options.out / "group_savings.json").write_text(json.dumps(promises, indent=1, default=sorted), encoding="utf-8")
    times = {(name, stage): [] for name, stages in STAGES.items() for stage in stages}
    for _ in range(options.repetitions):
        for name, stage in times:
            done = subprocess.run(command(name, stage, 200), capture_output=True, text=True, timeout=240)
            if done.returncode != 0:
                sys.exit(f"{name} {stage}: {done.stderr.strip()[-600:]}")
            times[name, stage].append(json.loads(done.stdout)["step_s"])
    bad = 0
    print("| program | first remedy | lines | promised, % of a step | applied | ms before | ms after | saved, % |\n|---|---|---|---|---|---|---|---|")
    for name, stages in STAGES.items():
        promise = promises[name]
        before = statistics.median(times[name, "before"])
        for stage in stages[1:]:
            after = statistics.median(times[name, stage])
            saved = 1 - after / before
            off = max(promise["lo"] - saved, saved - promise["hi"], 0)
            wrong = not promise["is_first"] or (off > MOST_OFF and stage in promise["same"])
            bad += wrong
            add_rows(name, stage, promise, saved, before, after)
            print(f"| {name} | {promise['first']} | {promise['lines']} | {100 * promise['saving']:.1f} ({100 * promise['lo']:.1f} to "
                  f"{100 * promise['hi']:.1f}) | {stage} | {1e3 * before:.2f} | {1e3 * after:.2f} | {100 * saved:.1f}{' **off**' if wrong else ''} |")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--synctrace")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--program", nargs=2)
    parser.add_argument("--steps", type=int, default=200)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    if options.program:
        return run_program(options)
    return compare(options)


if __name__ == "__main__":
    sys.exit(main())
