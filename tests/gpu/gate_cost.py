# SPDX-License-Identifier: Apache-2.0
"""What `synctrace run --gate` costs an eager PyTorch step, by alternating windows inside the process that is judged, and
whether the verdict is the right one all the same.

  gate_cost.py --build BUILD --out FOLDER [--seconds 60]

Four runs under the gate: clean and with a planted read, each with the recorder switched on and off by turns and with it on
throughout. The clean one in turns gives the cost. Writes FOLDER/gate_cost.jsonl, a line a run. Exit status 1 when a verdict was
wrong or the cost is over one per cent beyond doubt; 77 without PyTorch.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "overhead"))
PLANTED = "total += loss.item()"
SHORT_S = 4
# Between two steps the clock waits for the GPU.
WINDOWS_MAY_WAIT = """\
[[allow]]
rule = "*-sync"
at = "torch_steps.py:window_ms"
reason = "windows begin and end with an idle GPU"
"""
MOST_RATIO = 1.01


def program(seconds, planted, in_turns):
    """What is judged: windows of steps; what it measured goes to stdout."""
    import alternation
    import torch
    from torch_steps import eager_step, window_ms

    torch.manual_seed(0)
    run = eager_step()
    loss = torch.ones(1, device="cuda")
    total = 0.0

    def step():
        nonlocal total
        torch.cuda.nvtx.range_push("step")
        run()
        if planted:
            total += loss.item()
        torch.cuda.nvtx.range_pop()

    def window(mode):
        if in_turns:
            torch.cuda.nvtx.mark("synctrace:" + mode)
        window_ms(step, 1)  # the first step after a switch pays for the switch
        return window_ms(step, 5)

    window_ms(step, 5)
    times = alternation.alternate({"off": lambda: window("off"), "gate": lambda: window("syncs")}, seconds, most_rounds=2000)
    if in_turns:
        torch.cuda.nvtx.mark("synctrace:syncs")
    print(json.dumps(alternation.compare(times, "off")), flush=True)


def planted_line():
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.strip() == PLANTED)


def judge(synctrace, out, environment, planted, in_turns, seconds):
    """A row: what the gate said, whether that is right, and what the program measured."""
    import programs

    folder = programs.fresh(out / "scratch")
    (folder / "synctrace.toml").write_text(WINDOWS_MAY_WAIT)
    words = [synctrace, "run", "--gate", "-o", "trace", "--root", HERE, "--write", "json=gate.json", "--", sys.executable, pathlib.Path(__file__).resolve(), "program",
             str(seconds), str(int(planted)), str(int(in_turns))]
    done = programs.run(words, {**environment, **({"SYNCTRACE_TEST_CONTROL": "1"} if in_turns else {})}, seconds + 90, cwd=folder)
    row = {"planted": planted, "in_turns": in_turns, "status": done.status, "right": False}
    if not (folder / "gate.json").exists():
        return {**row, "failed": done.why() or "no verdict was written"}
    answer = json.loads((folder / "gate.json").read_text())
    row["lines"] = sorted({f"{finding['file']}:{finding['line']}" for finding in answer["findings"] if finding["fails"]})
    row["not_judged"] = answer["not_judged"]
    row["right"] = done.status == int(planted) and row["lines"] == ([f"gate_cost.py:{planted_line()}"] if planted else [])
    if not row["right"]:
        row["said"] = [line for _, line in done.err[-4:]]
    row["cost"] = next((json.loads(line) for _, line in done.out if line.startswith("{")), {}).get("gate") if in_turns else None
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    if not importlib.util.find_spec("torch"):
        print("PyTorch is not installed")
        return 77
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SYNCTRACE_") and name != "LD_PRELOAD"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    with open(out / "gate_cost.jsonl", "w", encoding="utf-8", buffering=1) as stream:
        for planted, in_turns in ((False, True), (True, True), (False, False), (True, False)):
            seconds = options.seconds if in_turns and not planted else SHORT_S
            try:
                row = judge(options.build.resolve() / "bin" / "synctrace", out, environment, planted, in_turns, seconds)
            except Exception as error:  # the other runs still have something to say
                row = {"planted": planted, "in_turns": in_turns, "right": False, "failed": repr(error)}
            rows.append(row)
            stream.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
    cost = rows[0].get("cost")
    right = sum(row["right"] for row in rows)
    print(f"{right} of {len(rows)} verdicts are right; cost of the gate: " +
          (f"{cost['ratio']:.4f} ({cost['low']:.4f} to {cost['high']:.4f}), {cost['rounds']} rounds" if cost else "not measured"))
    return 0 if right == len(rows) and cost and cost["low"] <= MOST_RATIO else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["program"]:
        program(float(sys.argv[2]), sys.argv[3] == "1", sys.argv[4] == "1")
    else:
        sys.exit(main())
