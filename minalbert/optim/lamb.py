"""LAMB: Adam's direction, with each tensor's step in proportion to its weights (You et al., 2020).

    m ← β₁ m + (1 - β₁) g
    v ← β₂ v + (1 - β₂) g²
    u = m / (√v + ε) + λ w           Adam's direction, with decay inside
    r = ‖w‖ / ‖u‖                    the trust ratio, one number for a tensor; 1 if either norm is zero
    w ← w - rate r u

A step therefore changes a tensor by ‖Δw‖ = rate ‖w‖, however large or noisy its gradient. So a tensor of small weights
survives batches of 4096, whose few steps need a high learning rate.

This is the form that ALBERT was trained with: no bias correction, ε outside the root, no limit to r. Biases and the
gains of the norms are exempt from decay and from the ratio: r = 1, λ = 0. Two switches give other libraries' LAMBs:
`bias_correction` (apex, timm, optax; see adamw) and `clamp`, the largest r allowed (timm's trust_clip: 1).

w, g, m, v, u: one shape   r: a number
"""

from dataclasses import dataclass

from ..arguments import is_number, refusal
from ..backend import array_module
from ..errors import ConfigError, named_fields
from .adamw import corrections, write_direction
from .blocks import as_factor, blocks, check, check_settings, exempt, runs, scratch
from .clip import sum_of_squares


def lamb_tensor(
    w, g, m, v, rate, t=1, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, bias_correction=False, clamp=None
):  # fmt: skip
    """One step of one tensor. Returns the new w, m and v, and the trust ratio."""
    xp, (beta1, beta2) = array_module(w), betas
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * (g * g)
    c1, c2 = corrections(betas, t) if bias_correction else (1.0, 1.0)
    u = m * c1 / (xp.sqrt(v) * c2 + eps)
    if w.ndim == 1:                                  # a bias, or a norm's gain
        return w - rate * u, m, v, 1.0

    u = u + weight_decay * w
    w_norm, u_norm = float(xp.linalg.norm(w)), float(xp.linalg.norm(u))
    r = w_norm / u_norm if w_norm > 0 and u_norm > 0 else 1.0
    if clamp is not None:
        r = min(r, clamp)
    return w - rate * r * u, m, v, r


@named_fields(ConfigError)
@dataclass(frozen=True)
class Lamb:
    """LAMB's settings, and its step over all tensors.

    betas             β₁ and β₂, of the two running means
    eps               ε, added to √v
    weight_decay      λ, not for biases and norms
    bias_correction   as in AdamW; ALBERT was trained without
    clamp             the largest trust ratio allowed; None: no limit
    """

    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-6
    weight_decay: float = 0.01
    bias_correction: bool = False
    clamp: float | None = None

    def __post_init__(self):
        check_settings(self)
        if self.clamp is not None and not (is_number(self.clamp) and self.clamp > 0):
            raise refusal("clamp", self.clamp, "a number above 0, or None for no limit", ConfigError)

    def step(self, params, grads, moments, rate, t, scale=1.0, only=None):
        """Change params and moments in place, by `scale` times the gradients. Returns {name: trust ratio}.

        only: names of the tensors to change, such as params.select("encoder.").names. All others are frozen: neither
        they nor their moments change, not even by decay.

        Each run is passed over twice, for u and the norms and then for w, because a ratio needs all of a tensor's u.
        """
        check(params, grads, moments, rate, t, scale)
        scale = as_factor(scale, params)
        xp, (longest_u, longest_s) = array_module(params.flat), scratch(params, "run", "block")
        ratios = {}
        for place, parts in runs(params, only):
            vectors = [kind.flat[place] for kind in (params, grads, *moments)]
            whole_w, whole_u = vectors[0], longest_u[: len(vectors[0])]
            adapted = {name: part for name, part in parts.items() if not exempt(name, params[name])}
            squares = dict.fromkeys(adapted, (0.0, 0.0))
            for u, w, g, m, v in blocks(whole_u, *vectors):
                write_direction(u, w, g, m, v, longest_s[: len(w)], self, t, scale, adapted.values())
                for name, part in adapted.items():
                    of_w, of_u = squares[name]
                    squares[name] = of_w + sum_of_squares(w[part]), of_u + sum_of_squares(u[part])
            lengths = dict.fromkeys(parts, float(rate))
            for name in adapted:
                ratios[name] = self.ratio(*map(xp.sqrt, self._whole_squares(name, squares[name])))
                lengths[name] = xp.asarray(rate * ratios[name], dtype=whole_w.dtype)
            for w, u in blocks(whole_w, whole_u):
                for name, part in parts.items():
                    xp.multiply(u[part], lengths[name], out=u[part])
                w -= u
        return ratios

    def _whole_squares(self, name, squares):
        """Σ w² and Σ u² of the whole tensor: of these weights, unless another rank has some of the tensor's."""
        return squares

    def ratio(self, w_norm, u_norm):
        """The trust ratio of two norms, computed on their device without a synchronisation."""
        xp = array_module(w_norm)
        both = (w_norm > 0) & (u_norm > 0)
        r = xp.where(both, w_norm / xp.where(both, u_norm, 1.0), 1.0)
        return r if self.clamp is None else xp.minimum(r, self.clamp)
