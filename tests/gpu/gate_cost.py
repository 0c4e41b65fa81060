# SPDX-License-Identifier: Apache-2.0
"""What `synctrace run --gate` costs an eager PyTorch step, by alternating windows inside the process that is judged. (Whether it
finds what waits is gate.py's to show: in a step that launches bind, reading a value waits for nothing.)

  gate_cost.py --build BUILD --out FOLDER [--seconds 60]

Two runs under the gate, which have to pass: one with the recorder switched on and off by turns, which gives the cost, and one with
it on throughout. Writes FOLDER/gate_cost.jsonl, a line a run. Exit status 1 when one did not pass or the cost is over one per
cent beyond doubt; 77 without PyTorch.
"""
import argparse
import importlib.util
import json
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "overhead"), str(HERE.parent / "support")]
import measured_rows  # noqa: E402

SHORT_S = 4
# Between two steps the clock waits for the GPU.
WINDOWS_MAY_WAIT = """\
[[allow]]
rule = "*-sync"
at = "torch_steps.py:window_ms"
reason = "windows begin and end with an idle GPU"
"""
MOST_RATIO = 1.01


def program(seconds, in_turns):
    """What is judged: windows of steps; what it measured goes to stdout."""
    import alternation
    import torch
    from torch_steps import eager_step, window_ms

    torch.manual_seed(0)
    run = eager_step()

    def step():
        torch.cuda.nvtx.range_push("step")
        run()
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


def judge(synctrace, out, environment, in_turns, seconds):
    """A row: what the gate said, and what the program measured."""
    import programs

    folder = programs.fresh(out / "scratch")
    (folder / "synctrace.toml").write_text(WINDOWS_MAY_WAIT)
    words = [synctrace, "run", "--gate", "-o", "trace", "--root", HERE, "--write", "json=gate.json", "--", sys.executable, pathlib.Path(__file__).resolve(), "program",
             str(seconds), str(int(in_turns))]
    done = programs.run(words, {**environment, **({"SYNCTRACE_TEST_CONTROL": "1"} if in_turns else {})}, seconds + 90, cwd=folder)
    row = {"in_turns": in_turns, "status": done.status, "passed": False}
    if not (folder / "gate.json").exists():
        return {**row, "failed": done.why() or "no verdict was written"}
    answer = json.loads((folder / "gate.json").read_text())
    row["lines"] = sorted({f"{finding['file']}:{finding['line']}" for finding in answer["findings"] if finding["fails"]})
    row["not_judged"] = answer["not_judged"]
    row["passed"] = done.status == 0 and not row["lines"] and not row["not_judged"]
    if not row["passed"]:
        row["said"] = [line for _, line in done.err[-4:]]
    row["cost"] = next((json.loads(line) for _, line in done.out if line.startswith("{")), {}).get("gate") if in_turns else None
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=60)
    measured_rows.add_option(parser)
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
        for in_turns in (True, False):
            try:
                row = judge(options.build.resolve() / "bin" / "synctrace", out, environment, in_turns, options.seconds if in_turns else SHORT_S)
            except Exception as error:  # the other run still has something to say
                row = {"in_turns": in_turns, "passed": False, "failed": repr(error)}
            rows.append(row)
            stream.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
    cost = rows[0].get("cost")
    passed = sum(row["passed"] for row in rows)
    if cost:
        measured_rows.Rows("gate").add("cost", "eager PyTorch step at syncs, run --gate", f"{cost['ratio']:.3f}", error=f"{cost['low']:.3f} to {cost['high']:.3f}",
                                       n=cost["rounds"])
    print(f"{passed} of {len(rows)} passed; cost of the gate: " +
          (f"{cost['ratio']:.4f} ({cost['low']:.4f} to {cost['high']:.4f}), {cost['rounds']} rounds" if cost else "not measured"))
    return 0 if passed == len(rows) and cost and cost["low"] <= MOST_RATIO else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["program"]:
        program(float(sys.argv[2]), sys.argv[3] == "1")
    else:
        sys.exit(main())
