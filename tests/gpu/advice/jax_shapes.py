# SPDX-License-Identifier: Apache-2.0
"""A text classifier is trained in JAX on batches that are as wide as their longest text. Nearly every batch has
another width, and JAX compiles the step anew for each width that it has not seen."""
import argparse
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np

BATCH, VOCABULARY, WIDTH, CLASSES = 1024, 30000, 1024, 20


def init_params(seed):
    table, mix, head = jax.random.split(jax.random.PRNGKey(seed), 3)
    return {"table": jax.random.normal(table, (VOCABULARY, WIDTH)),
            "mix": jax.random.normal(mix, (2, WIDTH)),
            "head": jax.random.normal(head, (WIDTH, CLASSES)) * 0.03}


def loss_fn(params, tokens, labels):
    words = params["table"][tokens]
    pairs = jnp.tanh(words[:, :-1] * params["mix"][0] + words[:, 1:] * params["mix"][1])
    valid = (tokens[:, 1:] > 0).astype(pairs.dtype)
    pooled = (pairs * valid[:, :, None]).sum(axis=1) / valid.sum(axis=1, keepdims=True)
    scores = jax.nn.log_softmax(pooled @ params["head"])
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


@functools.partial(jax.jit, donate_argnums=0)
def train_step(params, tokens, labels):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens, labels)
    return jax.tree.map(lambda p, g: p - 0.5 * g, params, grads), loss


def make_batch(rng):
    lengths = np.clip(rng.normal(155, 21, BATCH), 16, None).astype(np.int64)
    width = lengths.max()
    valid = np.arange(width) < lengths[:, None]
    tokens = np.zeros((BATCH, width), np.int32)
    tokens[valid] = rng.integers(1, VOCABULARY, lengths.sum(), dtype=np.int32)
    return tokens, tokens[:, 0] % CLASSES


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=300)
    steps = parser.parse_args().steps
    rng, params = np.random.default_rng(0), init_params(0)
    for step in range(steps):
        if step == steps // 5:
            jax.block_until_ready(params)
            start = time.perf_counter()
        tokens, labels = make_batch(rng)
        params, loss = train_step(params, tokens, labels)
    jax.block_until_ready(params)
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g" % float(loss))


if __name__ == "__main__":
    main()
