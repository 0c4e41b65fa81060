# SPDX-License-Identifier: Apache-2.0
"""Do samples name the loader that starves a PyTorch loop, and how? Two loops under `synctrace run`: one computes its data
itself (DataLoader with num_workers=0), one waits for a slow worker (num_workers=1). Between the steps the main thread's samples
have to be on the user's `for batch in loader` line: running in the first, blocked in the second.

  loader_samples.py SYNCTRACE [FOLDER]    needs a GPU and PyTorch

Prints the shares, and ends with status 1 when one is not as it should be."""
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

SCRIPT = '''\
import sys
import time

import torch


class Data(torch.utils.data.Dataset):
    def __init__(self, busy_s, idle_s):
        self.busy_s, self.idle_s = busy_s, idle_s

    def __len__(self):
        return 24

    def __getitem__(self, index):
        end = time.perf_counter() + self.busy_s
        while time.perf_counter() < end:
            sum(range(1000))
        time.sleep(self.idle_s)
        return torch.ones(1024)


def train(loader):
    model = torch.nn.Linear(1024, 1024).cuda()
    for batch in loader:  # the loop
        model(batch.cuda()).sum().item()


def main():
    workers = int(sys.argv[1])
    data = Data(0.1, 0) if workers == 0 else Data(0.05, 0.05)
    train(torch.utils.data.DataLoader(data, batch_size=1, num_workers=workers))


if __name__ == "__main__":
    torch.ones(1).cuda()
    main()
'''
LOOP_LINE = next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# the loop"))
UNKNOWN, RUNNING, RUNNABLE, BLOCKED = range(4)


def decode_line(code, offset):
    """The line of a bytecode offset, by the location table of 3.11+ (PEP 657), or by none below."""
    table = code["line_table"]
    data = table.encode("utf-8", "surrogateescape")
    line, at, index = code["first_line"], 0, 0

    def varint(index):
        value = data[index] & 63
        shift = 0
        while data[index] & 64:
            index += 1
            shift += 6
            value |= (data[index] & 63) << shift
        return value, index + 1

    while index < len(data):
        kind, length = data[index] >> 3 & 15, 2 * ((data[index] & 7) + 1)
        index += 1
        if kind < 10:
            index += 1
        elif kind < 13:
            line += kind - 10
            index += 2
        elif kind in (13, 14):
            delta, index = varint(index)
            line += -(delta >> 1) if delta & 1 else delta >> 1
            for _ in range(3 if kind == 14 else 0):
                _, index = varint(index)
        if at <= offset < at + length:
            return None if kind == 15 else line
        at += length
    return None


def shares(synctrace, trace, script):
    """The main thread's samples that are on the loop's line and below it in the loader: their shares by state."""
    os.environ["SYNCTRACE_BIN"] = synctrace
    import trace_records

    text = subprocess.run([synctrace, "dump", trace], check=True, capture_output=True).stdout.decode("utf-8", "surrogateescape")
    records = trace_records.Records(text)
    codes = {code["id"]: code for code in records.of("code")}
    frames = {stack["id"]: [frame for frame in stack["frames"].split() if frame.startswith("p")] for stack in records.of("stack")}
    main = int(records.facts["pid"]) if "pid" in records.facts else min(sample["thread"] for sample in records.of("sample"))
    states = collections.Counter()
    for sample in records.of("sample"):
        if sample["thread"] != main:
            continue
        where = "elsewhere"
        for index, frame in enumerate(frames.get(sample["stack"], [])):
            number, _, offset = frame[1:].rstrip("!").partition(":")
            code = codes.get(int(number))
            if code is None or code["file"] != script or code["function"].rpartition(".")[2] != "train":
                continue
            on_loop = index > 0 and decode_line(code, int(offset)) == LOOP_LINE
            where = "loader" if on_loop else "step"
        if sample["stack"] == 0:
            where = "no stack"
        states[where, sample["state"]] += sample["count"]
    return states, records


def main():
    synctrace = os.path.abspath(sys.argv[1])
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="loader-samples-"))
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "starved.py"
    script.write_text(SCRIPT)
    failed = False
    for workers, wanted, name in ((0, (RUNNING, RUNNABLE), "computes itself"), (1, (BLOCKED,), "waits for a worker")):
        trace = folder / f"workers{workers}"
        done = subprocess.run([synctrace, "run", "-o", str(trace), "--force-overwrite", "--report=none", "--", sys.executable, str(script), str(workers)],
                              text=True, capture_output=True)
        if done.returncode != 0:
            sys.exit(f"{name}: status {done.returncode}\n{done.stderr[-2000:]}")
        states, records = shares(synctrace, f"{trace}.synctrace", str(script))
        total = sum(states.values())
        loader = sum(count for (where, _), count in states.items() if where == "loader")
        right = sum(states["loader", state] for state in wanted)
        facts = {key: value for key, value in records.facts.items() if key.startswith("sampl")}
        print(f"num_workers={workers} ({name}): {total} samples of the main thread, {loader} on the line of the loop, "
              f"{right} of those {'blocked' if workers else 'running'}; {dict(states)}\n  {facts} {records.losses()}")
        # 2.4 s of loading at 100 Hz; half of that is far more than chance.
        good = loader >= 120 and right >= 0.8 * loader
        print("  " + ("as it should be" if good else "NOT as it should be"))
        failed |= not good
    sys.exit(1 if failed else 0)


main()
