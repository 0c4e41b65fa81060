# SPDX-License-Identifier: Apache-2.0
"""A classifier of sounds is trained in JAX, and the host changes the loudness of each clip. It computes the gain of a
clip with jax.numpy from four numbers, so each gain is several tiny operations and a wait on the GPU."""
import argparse
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

BATCH, SAMPLES, FRAME, WIDTH, LAYERS, CLASSES = 16, 32768, 256, 4096, 6, 10


def init_params(seed):
    sizes = [FRAME] + [WIDTH] * LAYERS + [CLASSES]
    layers = zip(jax.random.split(jax.random.PRNGKey(seed), len(sizes)), sizes, sizes[1:])
    return [{"w": jax.random.normal(key, (m, n)) * m ** -0.5, "b": jnp.zeros(n)} for key, m, n in layers]


def loss_fn(params, frames, labels):
    for layer in params[:-1]:
        frames = jax.nn.relu(frames @ layer["w"] + layer["b"])
    scores = (frames @ params[-1]["w"] + params[-1]["b"]).mean(axis=1)
    return -jnp.take_along_axis(jax.nn.log_softmax(scores), labels[:, None], axis=1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(params, frames, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, frames, labels)
    return jax.tree.map(lambda p, g: p - 1e-3 * g, params, grads), loss


def gain_of(decibels):
    return float(10.0 ** (jnp.array(decibels).mean() / 20.0))


def make_batch(rng, clips, labels):
    rows = rng.integers(0, len(clips), BATCH)
    waves = [gain_of(rng.normal(0.0, 6.0, 4).astype(np.float32)) * clips[row] for row in rows]
    return np.stack(waves).reshape(BATCH, -1, FRAME), labels[rows]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    rng, params = np.random.default_rng(0), init_params(0)
    clips = rng.standard_normal((500, SAMPLES), dtype=np.float32)
    labels = rng.integers(0, CLASSES, len(clips), dtype=np.int32)
    for step in range(steps):
        if step == steps // 5:
            jax.block_until_ready(params)
            start = time.perf_counter()
        frames, target = make_batch(rng, clips, labels)
        params, loss = train_step(params, frames, target)
    jax.block_until_ready(params)
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g" % float(loss))


if __name__ == "__main__":
    main()
