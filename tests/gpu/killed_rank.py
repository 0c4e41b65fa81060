# SPDX-License-Identifier: Apache-2.0
"""A rank that dies under torchrun: its end, the files and the report. Two ranks on one GPU, which NCCL refuses, so they exchange by gloo.

  killed_rank.py --synctrace PATH --folder DIR

Ways: all end well; rank 1 kills itself in step 30 of 60; it raises an exception there. The exit status has to be as without us, each
rank leaves one file with its number and torchrun none, and the report says both ranks and whose end is missing. Exit status: 0 when all holds.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import measured_rows  # noqa: E402

LIMIT_S = 90
WAYS = ("well", "kill", "raise")
EARLY = ("unclean-end", "file-truncated")


def rank_program(way):
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    matrix, total = torch.randn(512, 512, device="cuda"), torch.zeros(1)
    for step in range(60):
        for _ in range(20):
            matrix = torch.tanh(matrix @ matrix)
        total += matrix.sum().item()
        dist.all_reduce(total)
        if step == 30 and dist.get_rank() == 1 and way != "well":
            if way == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("planted")
    dist.destroy_process_group()


def job(way, recorder=()):
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run([*recorder, *torchrun, __file__, "--rank-program", way], capture_output=True, text=True, timeout=LIMIT_S, check=False)


def faults(options, way):
    """What does not hold."""
    folder = options.folder / way
    shutil.rmtree(folder, ignore_errors=True)
    alone = job(way)
    done = job(way, [options.synctrace, "run", "--quiet", "--report=none", "-o", f"{folder}/", "--"])
    if done.returncode != alone.returncode:
        yield f"status {done.returncode}, without us {alone.returncode}"
    names = sorted(file.name for file in folder.iterdir())
    print(f"  status {done.returncode}; {', '.join(names)}")
    if len(names) != 2 or any(f".rank{rank}." not in name for rank, name in enumerate(names)):
        yield "not one file for each rank"
    yield from faults_of_report(options, way, folder)


def faults_of_report(options, way, folder):
    def report(*arguments):
        return subprocess.run([options.synctrace, "report", *arguments, folder], capture_output=True, text=True, timeout=LIMIT_S, check=True).stdout

    screen = report()
    (options.folder / f"{way}.report.txt").write_text(screen)
    rows = {found[1]: found[0] for found in re.finditer(r"^ +([01]) +\d+ .*$", screen, re.MULTILINE)}
    if sorted(rows) != ["0", "1"]:
        yield "not one row for each rank"
    for one in json.loads(report("--format", "json"))["processes"]:
        rank, early = one["process"]["rank"], any(loss["name"] in EARLY for loss in one["losses"])
        kernels = sum(work["count"] for work in one["work"] if work["what"] == "kernels")
        print(f"  rank {rank}: {kernels} kernels{', ends early' if early else ''}")
        if ("ends early" in rows.get(rank, "")) != early:
            yield f"the row of rank {rank} does not tell its end"
        if rank == "1" and early != (way == "kill"):
            yield "the end of rank 1 is not told as it was"


def main():
    if sys.argv[1:2] == ["--rank-program"]:
        return rank_program(sys.argv[2])
    parser = argparse.ArgumentParser()
    parser.add_argument("--synctrace", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    measured_rows.add_option(parser)
    options = parser.parse_args()
    options.synctrace = options.synctrace.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for way in WAYS:
        found = list(faults(options, way))
        failed += bool(found)
        print(f"{'FAILED' if found else 'ok    '}  {way}  {'; '.join(found)}", flush=True)
    measured_rows.Rows("ranks").add("torchrun", "killed_rank: wrong", failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
