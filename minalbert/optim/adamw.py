"""AdamW: each gradient divided by its own recent size, and weight decay beside it (Loshchilov & Hutter, 2019).

    m ← β₁ m + (1 - β₁) g            a running mean of the gradient
    v ← β₂ v + (1 - β₂) g²           and of its square
    u = m / (√v + ε)                 near ±1 where the gradient's sign is steady, near 0 where it is noise
    u ← u + λ w                      decay, not for biases and norms
    w ← w - rate u

Both moments begin at zero and are too small at first, v for longer. Bias correction compensates for it:

    u = m c₁ / (√v c₂ + ε)           c₁ = 1 / (1 - β₁ᵗ)    c₂ = 1 / √(1 - β₂ᵗ)    t = 1, 2, 3, ...

ALBERT leaves it out, in fine-tuning too. Its first steps are therefore too long by a factor of c₂ / c₁: 3.2 at t = 1
and 6.6 at t = 12, when the warm-up has hardly begun.

w, g, m, v, u: one shape
"""

import math
from dataclasses import dataclass

from ..backend import array_module
from ..errors import ConfigError, named_fields
from .blocks import as_factor, blocks, check, check_settings, exempt, runs, scratch


def adamw_tensor(w, g, m, v, rate, t=1, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, bias_correction=True):
    """One step of one tensor. Returns the new w, m and v."""
    beta1, beta2 = betas
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * (g * g)
    c1, c2 = corrections(betas, t) if bias_correction else (1.0, 1.0)
    u = m * c1 / (array_module(w).sqrt(v) * c2 + eps)
    if weight_decay and w.ndim > 1:
        u = u + weight_decay * w
    return w - rate * u, m, v


@named_fields(ConfigError)
@dataclass(frozen=True)
class AdamW:
    """AdamW's settings, and its step over all tensors.

    betas             β₁ and β₂, of the two running means
    eps               ε, added to √v
    weight_decay      λ, not for biases and norms
    bias_correction   False: as in ALBERT's own fine-tuning
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-6
    weight_decay: float = 0.01
    bias_correction: bool = True

    def __post_init__(self):
        check_settings(self)

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None):
        """Change params and moments in place, by `scale` times the gradients. Returns {}: there are no trust ratios.

        only: names of the tensors to change, such as params.select("encoder.").names. All others are frozen: neither
        they nor their moments change, not even by decay.
        """
        check(params, grads, moments, rate, t, scale)
        scale = as_factor(scale, params)
        xp, (longest_u, longest_s) = array_module(params.flat), scratch(params, "block", "block")
        for place, parts in runs(params, only):
            decayed = [part for name, part in parts.items() if not exempt(name, params[name])]
            for w, g, m, v in blocks(*(kind.flat[place] for kind in (params, grads, *moments))):
                u = longest_u[: len(w)]
                write_direction(u, w, g, m, v, longest_s[: len(w)], self, t, scale, decayed)
                w -= xp.multiply(u, float(rate), out=u)
        return {}


def write_direction(u, w, g, m, v, s, settings, t, scale, decayed):
    """Write the direction of one block into u, and update m and v. The operations of adamw_tensor.

    s         scratch
    decayed   the parts of the block that are of matrices and tables
    """
    xp, (beta1, beta2) = array_module(w), settings.betas
    if scale is not None:
        g = xp.multiply(g, scale, out=u)

    xp.multiply(g, 1 - beta1, out=s)                 # m ← β₁ m + (1 - β₁) g
    m *= beta1
    m += s

    xp.multiply(g, g, out=s)                         # v ← β₂ v + (1 - β₂) g²
    s *= 1 - beta2
    v *= beta2
    v += s

    xp.sqrt(v, out=s)                                # u = m c₁ / (√v c₂ + ε)
    if settings.bias_correction:
        c1, c2 = corrections(settings.betas, t)
        s *= c2
        m = xp.multiply(m, c1, out=u)
    s += settings.eps
    xp.divide(m, s, out=u)

    if settings.weight_decay:                        # u ← u + λ w
        xp.multiply(w, settings.weight_decay, out=s)
        for part in decayed:
            xp.add(u[part], s[part], out=u[part])


def corrections(betas, t):
    """c₁ and c₂"""
    beta1, beta2 = betas
    return 1 / (1 - beta1**t), 1 / math.sqrt(1 - beta2**t)
