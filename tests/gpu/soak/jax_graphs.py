# SPDX-License-Identifier: Apache-2.0
"""A NumPyro regression: XLA makes the compiled step one CUDA graph, node by node, and launches it STEPS times.

  jax_graphs.py read|no-read [STEPS]

`read` reads the loss each step, so that the host waits; `no-read` lets steps queue up.
"""
import sys

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import SVI, Trace_ELBO
from numpyro.infer.autoguide import AutoNormal

ROWS, COLUMNS, GROUPS = 20000, 40, 50


def model(x, group, y):
    slope = numpyro.sample("slope", dist.Normal(0.0, 1.0).expand([COLUMNS]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    with numpyro.plate("group", GROUPS):
        offset = numpyro.sample("offset", dist.Normal(0.0, 1.0))
    with numpyro.plate("row", ROWS):
        numpyro.sample("y", dist.Bernoulli(logits=x @ slope + scale * offset[group]), obs=y)


def main():
    reads, steps = sys.argv[1] == "read", int(sys.argv[2]) if len(sys.argv) > 2 else 700
    random = np.random.default_rng(1)
    data = (random.standard_normal((ROWS, COLUMNS), dtype=np.float32), random.integers(0, GROUPS, ROWS),
            random.integers(0, 2, ROWS).astype(np.float32))
    data = tuple(jax.device_put(part) for part in data)
    svi = SVI(model, AutoNormal(model), numpyro.optim.Adam(1e-3), Trace_ELBO())
    state, update = svi.init(jax.random.key(0), *data), jax.jit(svi.update)
    losses = []
    for _ in range(steps):
        state, loss = update(state, *data)
        losses.append(float(loss) if reads else loss)
    print("ok", len(losses), bool(np.isfinite(np.asarray(losses)).all()), float(losses[-1]) < float(losses[0]))


if __name__ == "__main__":
    main()
