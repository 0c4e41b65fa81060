# SPDX-License-Identifier: Apache-2.0
"""A training loop in JAX. `--read-every N`: the loss is read on the host every N steps, which is a wait for the GPU."""
import argparse

import jax
import jax.numpy as jnp


def loss_of(weights, inputs, targets):
    hidden = jnp.tanh(inputs @ weights["up"])
    return jnp.mean((hidden @ weights["down"] - targets) ** 2)


@jax.jit
def update(weights, inputs, targets):
    loss, gradients = jax.value_and_grad(loss_of)(weights, inputs, targets)
    return jax.tree.map(lambda w, g: w - 1e-3 * g, weights, gradients), loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--read-every", type=int, default=1)
    parser.add_argument("--steps", type=int, default=4000)
    options = parser.parse_args()
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    weights = {"up": jax.random.normal(keys[0], (1024, 4096)) * 0.02, "down": jax.random.normal(keys[1], (4096, 256)) * 0.02}
    inputs = jax.random.normal(keys[2], (2048, 1024))
    targets = jax.random.normal(keys[3], (2048, 256))
    seen = 0.0
    for step in range(options.steps):
        weights, loss = update(weights, inputs, targets)
        if (step + 1) % options.read_every == 0:
            seen += float(loss)  # read the loss
    jax.block_until_ready(weights)
    print("done", seen > 0)


if __name__ == "__main__":
    main()
