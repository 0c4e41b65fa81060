# SPDX-License-Identifier: Apache-2.0
"""Loops in JAX whose steps are known: step_shapes_jax.py SHAPE, like step_shapes_torch.py."""
import sys

import jax
import jax.numpy as jnp
from truth import Phase, tell


def forward(weights, x):
    for layer in weights:
        x = jnp.tanh(x @ layer)
    return x


def loss_of(weights, x):
    return jnp.mean(jnp.square(forward(weights, x)))


@jax.jit
def update(weights, x):
    loss, gradients = jax.value_and_grad(loss_of)(weights, x)
    return jax.tree.map(lambda w, g: w - 1e-2 * g, weights, gradients), loss


score = jax.jit(loss_of)


def start():
    keys = jax.random.split(jax.random.PRNGKey(0), 7)
    weights = [jax.random.normal(key, (1024, 1024)) * 0.03 for key in keys[:6]]
    x = jax.random.normal(keys[6], (512, 1024))
    jax.block_until_ready((update(weights, x), score(weights, x)))  # compiled before the loops
    return weights, x


def rare_wait():
    (weights, x), phase = start(), Phase("rare wait", __file__)
    with phase:
        for step in range(300):  # loop: rare wait
            weights, loss = update(weights, x)
            if step % 20 == 19:
                jax.block_until_ready(loss)
            phase.step()


def with_evaluation():
    (weights, x), training, evaluation = start(), Phase("train", __file__), Phase("evaluate", __file__)
    for _ in range(3):
        with training:
            for _ in range(100):  # loop: train
                weights, loss = update(weights, x)
                jax.block_until_ready(loss)
                training.step()
        with evaluation:
            for _ in range(60):  # loop: evaluate
                float(score(weights, x))
                evaluation.step()


{"rare_wait": rare_wait, "with_evaluation": with_evaluation}[sys.argv[1]]()
tell()
