# SPDX-License-Identifier: Apache-2.0
"""Many short epochs, each of which ends with the only wait; its loop is as regular as the one of the batches."""
import torch
from models import Classifier
from torch.nn import functional as F
from torch.utils.data import DataLoader
from truth import Phase, tell

model = Classifier()
optimizer = torch.optim.SGD(model.parameters())
loader = DataLoader(8)
phase = Phase("train", __file__)
for epoch in range(15):
    with phase:
        for batch in loader:  # loop: train
            batch = batch.to("cuda", non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(batch), batch)
            loss.backward()
            optimizer.step()
            phase.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
tell()
