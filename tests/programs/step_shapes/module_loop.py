# SPDX-License-Identifier: Apache-2.0
"""A loop at module level that reads the loss of each step."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell

model = Classifier()
optimizer = torch.optim.SGD(model.parameters())
loader = DataLoader(80)
phase = Phase("train", __file__)

total = 0.0
with phase:
    for batch in loader:  # loop: train
        x = batch.to("cuda", non_blocking=True)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), x)
        loss.backward()
        optimizer.step()
        total += loss.item()
        phase.step()
tell()
