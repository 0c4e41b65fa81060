# SPDX-License-Identifier: Apache-2.0
"""A recommender is trained on a stream of events and keeps each event as a dict that links to the user's event before and
after. Python's automatic collections go through these millions of objects again and again."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch import nn

USERS, ITEMS, WIDTH, HIDDEN, BATCH = 50000, 20000, 128, 4096, 2048


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items = nn.Embedding(USERS, WIDTH), nn.Embedding(ITEMS, WIDTH)
        layers = [nn.Linear(2 * WIDTH, HIDDEN), nn.ReLU()]
        for _ in range(5):
            layers += [nn.Linear(HIDDEN, HIDDEN), nn.ReLU()]
        self.mlp = nn.Sequential(*layers, nn.Linear(HIDDEN, 1))

    def forward(self, users, items):
        return self.mlp(torch.cat([self.users(users), self.items(items)], dim=1)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=400)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    model = Recommender().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    users = torch.randint(USERS, (steps, BATCH)).pin_memory()
    items = torch.randint(ITEMS, (steps, BATCH)).pin_memory()
    ratings = torch.randn(steps, BATCH).pin_memory()
    history, latest = [], {}
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = model(users[step].cuda(non_blocking=True), items[step].cuda(non_blocking=True))
        loss = F.mse_loss(output.float(), ratings[step].cuda(non_blocking=True))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        for user, item, rating in zip(users[step].tolist(), items[step].tolist(), ratings[step].tolist()):
            before = latest.get(user)
            event = {"user": user, "item": item, "scores": [rating], "before": before, "after": None}
            if before is not None:
                before["after"] = event
            latest[user] = event
            history.append(event)
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g %d" % (loss.item(), len(history)))


if __name__ == "__main__":
    main()
