# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: a rollout of environment steps, each with a small inference that is read, then updates."""
import torch
from models import Classifier
from torch.nn import functional as F
from truth import Phase, host_work, tell


class Environment:
    def step(self, action):
        host_work(0.4)
        return torch.Tensor(256, pinned=True)


def roll_out(policy, environment, phase):
    observation = torch.Tensor(256, pinned=True)
    with phase, torch.no_grad():
        for _ in range(40):  # loop: roll out
            policy(observation.to("cuda", non_blocking=True))
            F.multinomial(observation)
            observation = environment.step(torch.Tensor(4).item())
            phase.step()


def update(policy, optimizer, phase):
    with phase:
        for _ in range(3):
            for _ in range(5):  # loop: update
                optimizer.zero_grad()
                F.mse_loss(policy(None), None).backward()
                optimizer.step()
                phase.step()


def main():
    policy, environment = Classifier(2), Environment()
    optimizer = torch.optim.AdamW(policy.parameters())
    phases = Phase("roll out", __file__), Phase("update", __file__)
    for _ in range(6):
        roll_out(policy, environment, phases[0])
        update(policy, optimizer, phases[1])
    tell()


main()
