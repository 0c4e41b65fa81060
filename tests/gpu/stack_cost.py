# SPDX-License-Identifier: Apache-2.0
"""What a stack costs in real work: a ResNet-50 training step in PyTorch with a scalar read, under `synctrace run`.

  stack_cost.py SYNCTRACE    needs a GPU, PyTorch and torchvision

Prints stacks taken, the mean cost of one as the recorder measured it, and their share of the steps' time. Exit status 0 unless
the program failed or no stack was taken."""
import pathlib
import re
import subprocess
import sys
import tempfile

STEPS = 60


def program():
    import time

    import torch
    import torchvision

    model = torchvision.models.resnet50().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    images = torch.randn(32, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 1000, (32,), device="cuda")
    for step in range(STEPS):
        if step == 10:
            torch.cuda.synchronize()
            begin = time.perf_counter()
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()
    print(f"{(time.perf_counter() - begin) / (STEPS - 10) * 1e3:.2f} ms a step")


def fact(text, key):
    found = re.search(rf'^fact key="{re.escape(key)}" value="(\d+)"', text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def main(synctrace):
    with tempfile.TemporaryDirectory(prefix="synctrace-stack-cost-") as folder:
        for stacks in ("none", "python", "native", "all"):
            trace = pathlib.Path(folder) / f"{stacks}.synctrace"
            done = subprocess.run([synctrace, "run", "--quiet", "--report=none", f"--stacks={stacks}", "-o", trace, "--", sys.executable,
                                   __file__, "program"], stdout=subprocess.PIPE, text=True, timeout=200, check=True)
            text = subprocess.run([synctrace, "dump", trace], stdout=subprocess.PIPE, text=True, check=True).stdout
            taken, total_ns = fact(text, "stacks.taken"), fact(text, "stacks.total_ns")
            mean_ns = total_ns / taken if taken else 0
            print(f"--stacks={stacks}: {done.stdout.strip()}, {taken} stacks of {len(re.findall('^stack ', text, re.MULTILINE))} kinds, "
                  f"{mean_ns:.0f} ns each, {total_ns / 1e6:.2f} ms in all")
            if stacks != "none" and taken == 0:
                sys.exit("no stack was taken")


if __name__ == "__main__":
    program() if sys.argv[1] == "program" else main(sys.argv[1])
