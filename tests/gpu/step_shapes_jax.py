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


gradients_of = jax.jit(jax.grad(loss_of))
apply = jax.jit(lambda weights, total: jax.tree.map(lambda w, g: w - 1e-3 * g, weights, total))
add = jax.jit(lambda a, b: jax.tree.map(jnp.add, a, b))
double = jax.jit(lambda x: jnp.sin(x) * 2)


def micro_batches():
    (weights, x), phase = start(), Phase("micro", __file__)
    add(gradients_of(weights, x), apply(weights, weights))
    with phase:
        for _ in range(60):  # loop: micro
            total = gradients_of(weights, x)
            for _ in range(3):
                total = add(total, gradients_of(weights, x))
            weights = apply(weights, total)
            float(weights[0][0, 0])
            phase.step()


def samples():
    """Operations on small arrays in the data code, 16 a step."""
    (weights, x), phase = start(), Phase("samples", __file__)
    with phase:
        for _ in range(80):  # loop: samples
            rows = [jnp.tanh(jnp.arange(1024.0) * i) / (i + 1) for i in range(16)]
            weights, loss = update(weights, x.at[:16].set(jnp.stack(rows)))
            float(loss)
            phase.step()


def two_functions():
    (weights, x), phase = start(), Phase("two functions", __file__)
    double(x)
    with phase:
        for _ in range(200):  # loop: two functions
            x = double(x)
            float(x[0, 0])
            weights, loss = update(weights, x)
            float(loss)
            phase.step()


{each.__name__: each for each in (rare_wait, with_evaluation, micro_batches, samples, two_functions)}[sys.argv[1]]()
tell()
