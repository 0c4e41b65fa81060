# SPDX-License-Identifier: Apache-2.0
"""A network learns a regression in JAX, on batches that the host prepares. Each step makes a Python float of its loss,
so the host waits for the GPU before it prepares the next batch."""
import argparse
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

BATCH, FEATURES, WIDTH, LAYERS = 2048, 128, 4096, 6


def init_params(seed):
    sizes = [FEATURES] + [WIDTH] * LAYERS + [1]
    layers = zip(jax.random.split(jax.random.PRNGKey(seed), len(sizes)), sizes, sizes[1:])
    return [{"w": jax.random.normal(key, (m, n)) * (2.0 / m) ** 0.5, "b": jnp.zeros(n)} for key, m, n in layers]


def loss_fn(params, x, y):
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return jnp.mean(((x @ params[-1]["w"] + params[-1]["b"])[:, 0] - y) ** 2)


@functools.partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, momentum, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 1e-5 * m, params, momentum), momentum, loss


def make_batch(rng, features, targets):
    rows = rng.integers(0, len(features), BATCH)
    return features[rows] + 0.1 * rng.standard_normal((BATCH, FEATURES), dtype=np.float32), targets[rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50000, FEATURES), dtype=np.float32)
    targets = np.sin(features[:, :8].sum(axis=1)) + 0.5 * rng.standard_normal(50000, dtype=np.float32)
    params, losses = init_params(0), []
    momentum = jax.tree.map(jnp.zeros_like, params)
    for step in range(steps):
        if step == steps // 5:
            jax.block_until_ready(params)
            start = time.perf_counter()
        x, y = make_batch(rng, features, targets)
        params, momentum, loss = train_step(params, momentum, x, y)
        losses.append(float(loss))
    jax.block_until_ready(params)
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g" % np.mean([float(loss) for loss in losses[-20:]]))


if __name__ == "__main__":
    main()
