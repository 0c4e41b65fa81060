# SPDX-License-Identifier: Apache-2.0
"""An oscillating system solved by Diffrax under Equinox's jit, many times with other initial values."""
import diffrax
import equinox
import jax
import jax.numpy as jnp


@equinox.filter_jit
def solve(start, speed):
    term = diffrax.ODETerm(lambda t, y, args: jnp.stack([y[1], -args * y[0]]))
    solution = diffrax.diffeqsolve(term, diffrax.Tsit5(), t0=0.0, t1=6.0, dt0=0.05, y0=start, args=speed, max_steps=256)
    return solution.ys[-1], solution.stats["num_accepted_steps"]


def main():
    far, count = 0.0, 0
    start = jax.random.normal(jax.random.key(0), (2, 1024))
    for index in range(40):
        end, _ = solve(start + 0.01 * index, jnp.float32(1.0 + 0.01 * index))
        far = max(far, float(jnp.abs(end).max()))
        count += 1
    print("ok", count, far < 20)


if __name__ == "__main__":
    main()
