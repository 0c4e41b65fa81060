# SPDX-License-Identifier: Apache-2.0
"""A jitted step that the calling thread issues, and an evaluation after each epoch; each step's loss is waited for."""
import jax
from truth import Phase, tell

update, score = jax.jit(50, "inline"), jax.jit(14, "inline")


def main():
    training, evaluation = Phase("train", __file__), Phase("evaluate", __file__)
    for _ in range(3):
        with training:
            for _ in range(50):  # loop: train
                jax.block_until_ready(update())
                training.step()
        with evaluation:
            for _ in range(30):  # loop: evaluate
                jax.block_until_ready(score())
                evaluation.step()
    tell()


main()
