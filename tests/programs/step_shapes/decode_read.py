# SPDX-License-Identifier: Apache-2.0
"""Inference: prompts, of each prompt tokens, of each token 24 layers. Each token is read."""
import torch
from models import Transformer
from truth import Phase, tell

model = Transformer(24)
phase = Phase("tokens", __file__)


@torch.no_grad()
def generate(prompt, count):
    text = []
    with phase:
        for _ in range(count):  # loop: tokens
            text.append(model.next_token(prompt).item())
            phase.step()
    return text


for length in (20, 28, 24):
    generate(torch.Tensor(4096).to("cuda"), length)
tell()
