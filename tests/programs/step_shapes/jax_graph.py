# SPDX-License-Identifier: Apache-2.0
"""A jitted step that is one command buffer, a CUDA graph."""
import jax
from truth import Phase, host_work, tell


def main():
    update = jax.jit(60, "graph")
    phase = Phase("train", __file__)
    with phase:
        for step in range(150):  # loop: train
            loss = update()
            host_work(0.2)
            if step % 10 == 9:
                jax.block_until_ready(loss)
            phase.step()
    jax.block_until_ready()
    tell()


main()
