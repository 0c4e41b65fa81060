# SPDX-License-Identifier: Apache-2.0
"""A plain JAX transformer trains on made-up tokens with float32 weights. Attention, the norms and Adam are written by hand
inside one jitted step. The GPU is busy the whole time."""
import argparse
import math
import time

import jax
import jax.numpy as jnp

BATCH, LENGTH, VOCABULARY = 16, 512, 16384
LAYERS, WIDTH, HEADS = 6, 1024, 16


def make_params(key):
    keys = iter(jax.random.split(key, 4 * LAYERS + 3))

    def weight(*shape):
        return 0.02 * jax.random.normal(next(keys), shape)

    blocks = [{"qkv": weight(WIDTH, 3, HEADS, WIDTH // HEADS), "out": weight(HEADS, WIDTH // HEADS, WIDTH),
               "up": weight(WIDTH, 4 * WIDTH), "down": weight(4 * WIDTH, WIDTH),
               "norm1": jnp.ones(WIDTH), "norm2": jnp.ones(WIDTH)} for _ in range(LAYERS)]
    return {"tokens": weight(VOCABULARY, WIDTH), "positions": weight(LENGTH, WIDTH), "blocks": blocks,
            "norm": jnp.ones(WIDTH), "head": weight(WIDTH, VOCABULARY)}


def normalize(x, scale):
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.mean((x - mean) ** 2, axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + 1e-5) * scale


def attention(block, x):
    q, k, v = jnp.einsum("btd,dshe->sbthe", x, block["qkv"])
    scores = jnp.einsum("bqhe,bkhe->bhqk", q, k) / math.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), dtype=bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhe->bqhe", jax.nn.softmax(scores, axis=-1), v)
    return jnp.einsum("bqhe,hed->bqd", mixed, block["out"])


def loss_of(params, batch):
    x = params["tokens"][batch[:, :-1]] + params["positions"]
    for block in params["blocks"]:
        x = x + attention(block, normalize(x, block["norm1"]))
        x = x + jax.nn.gelu(normalize(x, block["norm2"]) @ block["up"]) @ block["down"]
    logits = normalize(x, params["norm"]) @ params["head"]
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), batch[:, 1:, None], axis=-1)
    return -jnp.mean(chosen)


@jax.jit
def update(params, first, second, count, batch):
    loss, grads = jax.value_and_grad(loss_of)(params, batch)
    count = count + 1
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
    rate = 1e-4 * jnp.sqrt(1 - 0.999 ** count) / (1 - 0.9 ** count)
    params = jax.tree.map(lambda p, m, v: p - rate * m / (jnp.sqrt(v) + 1e-8), params, first, second)
    return params, first, second, count, loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=80)
    steps = parser.parse_args().steps
    key = jax.random.PRNGKey(0)
    params = make_params(key)
    first, second = jax.tree.map(jnp.zeros_like, params), jax.tree.map(jnp.zeros_like, params)
    count = jnp.zeros(())
    corpus = (jax.random.uniform(key, (16, BATCH, LENGTH + 1)) ** 3 * VOCABULARY).astype(jnp.int32)
    batches = list(corpus)
    for step in range(steps):
        if step == steps // 5:
            jax.block_until_ready(params)
            start = time.perf_counter()
        params, first, second, count, loss = update(params, first, second, count, batches[step % 16])
    jax.block_until_ready((params, loss))
    print(f"ms/step={1000 * (time.perf_counter() - start) / (steps - steps // 5):.4f}")
    print(f"result={float(loss):.6g}")


if __name__ == "__main__":
    main()
