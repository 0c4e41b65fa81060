# SPDX-License-Identifier: Apache-2.0
"""An encoder with 6 layers of BERT-base's size learns to fill in masked tokens of made-up text in plain
float32. The float32 matrix products keep the GPU busy the whole time."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

BATCH, BATCHES, LENGTH, VOCABULARY = 24, 16, 256, 16384
MASK, UNASKED = 0, -100  # the cross entropy passes over labels of -100


class Encoder(nn.Module):
    def __init__(self, width=768, heads=12, layers=6):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, width), nn.Embedding(LENGTH, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, activation="gelu", batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions.weight
        return self.head(self.norm(self.layers(x)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=60)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Encoder().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    text = 1 + (torch.rand(BATCHES, BATCH, LENGTH, device="cuda") ** 3 * (VOCABULARY - 1)).long()
    masked = torch.rand(BATCHES, BATCH, LENGTH, device="cuda") < 0.15
    tokens, labels = text.masked_fill(masked, MASK), text.masked_fill(~masked, UNASKED)
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        logits = model(tokens[step % BATCHES])
        loss = F.cross_entropy(logits.flatten(0, 1), labels[step % BATCHES].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    torch.cuda.synchronize()
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={loss.item():.6g}")


if __name__ == "__main__":
    main()
