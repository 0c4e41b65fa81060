# SPDX-License-Identifier: Apache-2.0
"""A Flax network trained with optax, jitted, with the copy of each batch under way."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax


class Net(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (256, 256, 128):
            x = nn.LayerNorm()(nn.gelu(nn.Dense(width)(x)))
        return nn.Dense(10)(x)


def main():
    random = np.random.default_rng(0)
    x, y = random.standard_normal((4096, 64), dtype=np.float32), random.integers(0, 10, 4096)
    net, optimizer = Net(), optax.adam(1e-3)
    params = net.init(jax.random.key(0), x[:2])
    state = optimizer.init(params)

    @jax.jit
    def step(params, state, x, y):
        def loss_of(p):
            return optax.softmax_cross_entropy_with_integer_labels(net.apply(p, x), y).mean()
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for index in range(500):
        rows = slice(index * 64 % 4096, index * 64 % 4096 + 64)
        params, state, loss = step(params, state, jnp.asarray(x[rows]), jnp.asarray(y[rows]))
        losses.append(float(loss) if index % 4 == 0 else 0.0)
    print("ok", len(losses), bool(np.isfinite(losses).all()), losses[-4] < 5)


if __name__ == "__main__":
    main()
