# SPDX-License-Identifier: Apache-2.0
"""Models of the shapes: their layers are loops too, and no steps."""
import torch
from torch import nn
from torch.nn import functional as F


class Classifier(nn.Module):
    def __init__(self, blocks=8):
        layers = [layer() for _ in range(blocks) for layer in (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear()

    def forward(self, x):
        return self.head(self.features(x))


class Block(nn.Module):
    def __init__(self):
        self.norm1, self.norm2 = nn.LayerNorm(), nn.LayerNorm()
        self.qkv, self.project, self.up, self.down = nn.Linear(), nn.Linear(), nn.Linear(), nn.Linear()
        self.gelu = nn.GELU()

    def forward(self, x):
        x = self.project(F.attention(self.qkv(self.norm1(x))))
        F.add(x)
        x = self.down(self.gelu(self.up(self.norm2(x))))
        F.add(x)
        return x


class Transformer(nn.Module):
    def __init__(self, depth):
        self.embedding, self.norm, self.head = nn.Embedding(), nn.LayerNorm(), nn.Linear()
        self.blocks = [Block() for _ in range(depth)]

    def forward(self, x):
        x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    def next_token(self, x):
        """A token is chosen; its value stays on the GPU."""
        F.softmax(self(x))
        F.multinomial(x)
        return torch.Tensor(4)
