# SPDX-License-Identifier: Apache-2.0
"""Kernel ridge regression is solved by conjugate gradients, one solve in each step. The loop reads the residual on the host
in every iteration to decide whether to stop."""
import argparse
import time

import torch

POINTS = 8192


def solve(matrix, target, tolerance=6e-6):
    solution = torch.zeros_like(target)
    residual = target.clone()
    direction = residual.clone()
    error = torch.dot(residual, residual)
    goal = tolerance**2 * POINTS
    while error.item() > goal:
        product = torch.mv(matrix, direction)
        alpha = error / torch.dot(direction, product)
        solution.addcmul_(direction, alpha)
        residual.addcmul_(product, alpha, value=-1)
        last, error = error, torch.dot(residual, residual)
        direction.mul_(error / last).add_(residual)
    return solution


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    steps = parser.parse_args().steps
    torch.manual_seed(0)
    points = torch.rand(POINTS, 3, device="cuda")
    kernel = torch.exp(-torch.cdist(points, points, compute_mode="donot_use_mm_for_euclid_dist") / 0.2)
    kernel.diagonal().add_(1.0)
    targets = torch.randn(16, POINTS, device="cuda")
    total = torch.zeros((), device="cuda")
    for step in range(steps):
        if step == steps // 5:
            torch.cuda.synchronize()
            start = time.perf_counter()
        weights = solve(kernel, targets[step % len(targets)])
        total += weights.norm()
    torch.cuda.synchronize()
    print("ms/step=%.4f" % ((time.perf_counter() - start) / (steps - steps // 5) * 1000))
    print("result=%.6g" % total.item())


if __name__ == "__main__":
    main()
