# SPDX-License-Identifier: Apache-2.0
"""A residual network of 12 blocks is trained in JAX. Loss and gradients are compiled, but the optimizer's update isn't,
so it starts several operations for each of the 100 arrays of parameters."""
import argparse
import time

import jax
import jax.numpy as jnp

BATCH, FEATURES, WIDTH, INNER, BLOCKS, CLASSES = 4096, 128, 512, 1536, 12, 10


def init_params(seed):
    keys = iter(jax.random.split(jax.random.PRNGKey(seed), 3 * BLOCKS + 2))
    dense = lambda m, n: {"w": jax.random.normal(next(keys), (m, n)) * m ** -0.5, "b": jnp.zeros(n)}
    blocks = [{"scale": jnp.ones(WIDTH), "shift": jnp.zeros(WIDTH), "gate": dense(WIDTH, INNER),
               "up": dense(WIDTH, INNER), "down": dense(INNER, WIDTH)} for _ in range(BLOCKS)]
    return {"first": dense(FEATURES, WIDTH), "blocks": blocks, "last": dense(WIDTH, CLASSES)}


def loss_fn(params, x, labels):
    apply_dense = lambda layer, x: x @ layer["w"] + layer["b"]
    h = apply_dense(params["first"], x)
    for block in params["blocks"]:
        normed = jax.nn.standardize(h) * block["scale"] + block["shift"]
        gated = jax.nn.silu(apply_dense(block["gate"], normed)) * apply_dense(block["up"], normed)
        h = h + apply_dense(block["down"], gated)
    scores = jax.nn.log_softmax(apply_dense(params["last"], h))
    return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()


loss_and_grads = jax.jit(jax.value_and_grad(loss_fn))


def update(params, momentum, grads):
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    return jax.tree.map(lambda p, m: p - 0.002 * m, params, momentum), momentum


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=250)
    steps = parser.parse_args().steps
    inputs = jax.random.normal(jax.random.PRNGKey(1), (8, BATCH, FEATURES))
    batches = [(x, jnp.argmax(x[:, :CLASSES], axis=-1)) for x in inputs]
    params = init_params(0)
    momentum = jax.tree.map(jnp.zeros_like, params)
    for step in range(steps):
        if step == steps // 5:
            jax.block_until_ready(params)
            start = time.perf_counter()
        loss, grads = loss_and_grads(params, *batches[step % len(batches)])
        params, momentum = update(params, momentum, grads)
    jax.block_until_ready(params)
    print("ms/step=%.4f" % (1e3 * (time.perf_counter() - start) / (steps - steps // 5)))
    print("result=%.6g" % float(loss))


if __name__ == "__main__":
    main()
