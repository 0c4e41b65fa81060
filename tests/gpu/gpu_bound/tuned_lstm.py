# SPDX-License-Identifier: Apache-2.0
"""A language model with two LSTM layers that is tuned already trains on made-up tokens: bfloat16, TF32, and a fused optimizer.
The projection to a large vocabulary takes most of each step. The GPU is busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from lstm import LENGTH, VOCABULARY, LanguageModel

BATCH = 128


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    model = LanguageModel().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    corpus = (torch.rand(16, BATCH, LENGTH + 1, device="cuda") ** 3 * VOCABULARY).long()
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        batch = corpus[step % 16]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(batch[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
