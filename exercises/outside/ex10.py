"""optax corrects its moments: 1 / (1 - β^count). From a count of a million on, that is 1 to the last bit."""

import jax
import jax.numpy as jnp
import numpy as np
import optax

from minalbert_course.outside import ramp

FROM = "optax.lamb and optax.adam 0.2.8, float64, with their count begun at 1,000,000: no correction is left"
SETTINGS = {"b1": 0.9, "b2": 0.999, "eps": 1e-3}


def numbers(count=1_000_000):
    jax.config.update("jax_enable_x64", True)
    return {
        "matrix": walk(optax.lamb(0.05, weight_decay=0.01, **SETTINGS), (3, 4), count),
        "vector": walk(optax.adam(0.05, **SETTINGS), (5,), count),
    }


def walk(optimiser, shape, count):
    """Three steps from one ramp, with others as gradients."""
    w = jnp.asarray(ramp(*shape, start=1))
    state = optimiser.init(w)
    if count:
        state = (state[0]._replace(count=jnp.asarray(count, jnp.int32)), *state[1:])
    for t in (1, 2, 3):
        updates, state = optimiser.update(jnp.asarray(ramp(*shape, start=10 * t)), state, w)
        w = optax.apply_updates(w, updates)
    return np.asarray(w)
