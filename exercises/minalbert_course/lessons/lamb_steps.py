"""What both forms of exercise 10 ask of a step of LAMB: one tensor, and all of its numbers."""

from typing import Any, NamedTuple

import numpy as np

from minalbert.optim.lamb import lamb_tensor

from ..compare import Wrong, numbers, same


class Case(NamedTuple):
    w: Any
    g: Any
    m: Any
    v: Any
    rate: float
    t: int
    betas: tuple
    eps: float
    weight_decay: float
    clamp: float | None = None                       # None: the form without correction and clamp, whose cases lack it

    @property
    def corrected(self):
        return self.clamp is not None

    def asked(self):
        return tuple(self)[: 10 if self.corrected else 9]


def case(draw, corrected, shape=None, clamp=1e6):
    """At a hard point: ε, λ and the rate far from nothing, betas unlike each other."""
    shape = shape or tuple(draw.sizes(I=4, O=3, least=2))
    return Case(
        w=draw.normal(*shape), g=draw.normal(*shape, scale=0.8), m=draw.normal(*shape, scale=0.5),
        v=draw.uniform(0.05, 1.5, *shape), rate=0.2 + draw.number / 32, t=3 + draw.number % 4, betas=(0.8, 0.95),
        eps=0.1, weight_decay=0.3, clamp=clamp if corrected else None,
    )  # fmt: skip


def reference(s):
    return lamb_tensor(*s[:9], bias_correction=s.corrected, clamp=s.clamp)


def call(yours, s):
    """w, m, v, ratio, and the m and v that the rest is judged by: the student's own, if they can be."""
    w, m, v, ratio = yours.lamb_step(*s.asked())
    _, right_m, right_v, _ = reference(s)
    if not fits(m, s.w) or not fits(v, s.w) or (np.asarray(v) < 0).any():
        return w, right_m, right_v, ratio
    for own, right, beta in ((m, right_m, s.betas[0]), (v, right_v, s.betas[1])):
        if np.allclose(own, right / (1 - beta**s.t), rtol=1e-5):                  # corrected ones, not those to keep
            return w, right_m, right_v, ratio
    return w, np.asarray(m, float), np.asarray(v, float), ratio


def fits(value, like):
    try:
        array = numbers("", value)
    except Wrong:
        return False
    return array.shape == like.shape and bool(np.isfinite(array).all())


def direction(s, m, v, corrected=None, eps_inside=False, decay=True):
    corrected = s.corrected if corrected is None else corrected
    if corrected:
        m, v = m / (1 - s.betas[0] ** s.t), v / (1 - s.betas[1] ** s.t)
    u = m / np.sqrt(v + s.eps) if eps_inside else m / (np.sqrt(v) + s.eps)
    return u + s.weight_decay * s.w if decay else u


def trust(s, u):
    w_norm, u_norm = np.linalg.norm(s.w), np.linalg.norm(u)
    r = w_norm / u_norm if w_norm and u_norm else 1.0
    return r if s.clamp is None else min(r, s.clamp)


def ways(s, m, v):
    """{what went wrong: its u}"""
    found = {
        "ε is inside the root; it is added to √v": direction(s, m, v, eps_inside=True),
        ("m and v are not corrected" if s.corrected else "m and v are corrected for their start; this LAMB does not"):
            direction(s, m, v, corrected=not s.corrected),
        "the decay λ w is not part of u": direction(s, m, v, decay=False),
        "u is made of the old m and v; they are updated first": direction(s, s.m, s.v),
        "u is made of g, not of m": direction(s, s.g, v),
    }  # fmt: skip
    if s.corrected:
        found["the corrections are those of the step after; the first step has t = 1"] = direction(
            s._replace(t=s.t + 1), m, v)  # fmt: skip
    return found


def number(name, value, expected, suspects=None):
    if isinstance(value, np.ndarray) and value.shape == (1,):
        value = value[0]
    suspects = {says: np.atleast_1d(answer) for says, answer in (suspects or {}).items()}
    same(name, value, expected, suspects=suspects)


def check_moments(yours, s):
    _, m, v, _ = yours.lamb_step(*s.asked())
    _, right_m, right_v, _ = reference(s)
    (b1, b2), g, t = s.betas, s.g, s.t
    same("m", m, right_m, suspects={
        "β₁ and 1 - β₁ have changed places": (1 - b1) * s.m + b1 * g,
        "m is returned as it was": s.m,
        "β₂ is used for m": b2 * s.m + (1 - b2) * g,
        "the factor 1 - β₁ is missing": b1 * s.m + g,
        "m is returned corrected; what is kept is m itself": right_m / (1 - b1**t),
    })  # fmt: skip
    same("v", v, right_v, suspects={
        "β₂ and 1 - β₂ have changed places": (1 - b2) * s.v + b2 * g * g,
        "v is returned as it was": s.v,
        "g is not squared": b2 * s.v + (1 - b2) * g,
        "β₁ is used for v": b1 * s.v + (1 - b1) * g * g,
        "the factor 1 - β₂ is missing": b2 * s.v + g * g,
        "v is returned corrected; what is kept is v itself": right_v / (1 - b2**t),
    })  # fmt: skip


def check_ratio(yours, s):
    _, m, v, ratio = call(yours, s)
    u = direction(s, m, v)
    r, w_norm = trust(s, u), np.linalg.norm(s.w)
    suspects = {"the ratio is the wrong way round: ‖w‖ / ‖u‖": np.linalg.norm(u) / w_norm}
    suspects |= {says: trust(s, other) for says, other in ways(s, m, v).items()}
    suspects |= {
        "‖g‖ in the place of ‖u‖": w_norm / np.linalg.norm(s.g),
        "a norm is a root; these are sums of squares": (w_norm / np.linalg.norm(u)) ** 2,
        "the largest entries are compared, not the norms": abs(s.w).max() / abs(u).max(),
    }
    if s.corrected:
        suspects["the ratio is not clamped"] = w_norm / np.linalg.norm(u)
        suspects["the ratio is made at least `clamp`; it must be at most that"] = s.clamp
    number("the trust ratio r", ratio, r, suspects)


def check_weights(yours, s):
    w, m, v, _ = call(yours, s)
    u, bare = direction(s, m, v), direction(s, m, v, decay=False)
    r = trust(s, u)
    suspects = {
        "the step goes up the hill: its sign is wrong": s.w + s.rate * r * u,
        "the trust ratio is not used": s.w - s.rate * u,
        "the rate is not used": s.w - r * u,
        "the ratio is the wrong way round: ‖w‖ / ‖u‖": s.w - s.rate * u / r,
        "the decay is outside u; its length then escapes the ratio":
            s.w - s.rate * (trust(s, bare) * bare + s.weight_decay * s.w),
        "the decay is outside the ratio": s.w - s.rate * (r * bare + s.weight_decay * s.w),
        "w is returned as it was": s.w,
        "this is the step itself, not the new weights": -s.rate * r * u,
    }  # fmt: skip
    suspects |= {says: s.w - s.rate * trust(s, other) * other for says, other in ways(s, m, v).items()}
    if s.corrected:
        suspects["the ratio is not clamped here"] = s.w - s.rate * trust(s._replace(clamp=None), u) * u
    same("w", w, s.w - s.rate * r * u, suspects=suspects)


def check_exempt(yours, s):
    """w is a vector."""
    w, m, v, ratio = call(yours, s)
    u, decayed = direction(s, m, v, decay=False), direction(s, m, v)
    same("w of one axis", w, s.w - s.rate * u, suspects={
        "decay and ratio are used; vectors are exempt from both": s.w - s.rate * trust(s, decayed) * decayed,
        "the decay is used; vectors are exempt": s.w - s.rate * decayed,
        "the ratio is used; vectors are exempt": s.w - s.rate * trust(s, u) * u,
    })  # fmt: skip
    number("the trust ratio r of a vector", ratio, 1.0)


def check_zero(yours, s):
    zero = np.zeros_like(s.w)
    new = s._replace(w=zero)
    w, m, v, ratio = call(yours, new)
    if (np.asarray(numbers("ratio", ratio)) == 0).all():
        raise Wrong("where w is zero, ratio is 0; it must be 1", "‖w‖ / ‖u‖ is 0: such weights could never move")
    number("the trust ratio r where w is zero", ratio, 1.0)
    same("w, where it was zero,", w, -s.rate * direction(new, m, v))
    still = s._replace(g=zero, m=zero, v=zero, weight_decay=0.0)
    w, _, _, ratio = yours.lamb_step(*still.asked())
    number("the trust ratio r where u is zero", ratio, 1.0)
    same("w, where u is zero,", w, s.w)
