# SPDX-License-Identifier: Apache-2.0
"""A jitted step whose kernels the runtime's own thread issues; every 20 steps the loss is waited for."""
import jax
from truth import Phase, tell

update = jax.jit(40, "thread")
phase = Phase("train", __file__)
with phase:
    for step in range(200):  # loop: train
        loss = update()
        if step % 20 == 19:
            jax.block_until_ready(loss)
        phase.step()
jax.block_until_ready()
tell()
