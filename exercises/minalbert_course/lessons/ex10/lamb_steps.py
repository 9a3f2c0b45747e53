"""What both forms of exercise 10 ask of a step of LAMB: one tensor, and all of its numbers."""

from typing import Any, NamedTuple

import numpy as np

from minalbert.gradcheck.diagnose import PERHAPS, SEEN
from minalbert.optim.lamb import lamb_tensor

from ...compare import Wrong, numbers, same
from ..checks import Later
from .lamb_mistakes import (
    direction,
    moment_mistakes,
    ratio_mistakes,
    trust,
    vector_mistakes,
    weight_mistakes,
)


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
        v=draw.uniform(0.05, 1.5, *shape), rate=0.23 + draw.number / 32, t=3 + draw.number, betas=(0.8, 0.95),
        eps=0.1, weight_decay=0.3, clamp=clamp if corrected else None,
    )  # fmt: skip


def points(draw, corrected, vector=False):
    """(what is special, a Case): a usual one, then those that an answer may forget."""
    usual = case(draw, corrected, (5 + draw.number,) if vector else None)
    yield "", usual
    for shape in ((1,), (12,), (150,)) if vector else ((1, 4), (4, 1), (1, 1), (2, 3, 4), (2, 1, 3, 2)):
        one = case(draw, corrected, shape)           # where a single number may not be the small rest of two
        one = one._replace(w=-abs(one.w), g=abs(one.g), m=abs(one.m)) if one.w.size == 1 else one
        yield f"shape {shape}", one._replace(weight_decay=0.0) if one.w.size == 1 else one
    for words, changes in special(usual):
        yield words, usual._replace(**changes)
    if vector:
        yield "w = 0", usual._replace(w=0 * usual.w)


def special(usual):
    """(words, {field: another value})"""
    holes = np.where(np.arange(usual.w.size).reshape(usual.w.shape) % 3, usual.w, 0.0)
    yield "a large w, no decay", {"w": 300 * usual.w, "weight_decay": 0.0}
    yield "a small w", {"w": 0.02 * usual.w}
    yield "a tiny w", {"w": 1e-16 * usual.w}
    yield "a small w, λ = 3000", {"w": 2e-4 * usual.w, "weight_decay": 3000.0}
    tiny = {"g": 1e-16 * usual.g, "m": 1e-16 * usual.m, "weight_decay": 0.0}
    yield "a tiny u", tiny | ({"clamp": 1e25} if usual.corrected else {})
    yield "zeros in w", {"w": holes}
    yield "large gradients", {"g": 30 * usual.g, "m": 40 * usual.m, "v": 900 * usual.v}
    yield "small gradients", {"g": 0.01 * usual.g, "m": 0.02 * usual.m}
    for name in "gmv":
        yield f"{name} = 0", {name: 0 * usual.w}
    yield "g = v = 0, ε = 1e-6", {"g": 0 * usual.g, "v": 0 * usual.v, "eps": 1e-6}
    for name in "mv":
        yield f"g = {name} = 0", {"g": 0 * usual.g, name: 0 * usual.w}
    yield "m, √v and g near 1e-6, ε = 0", {"g": 1e-6 * usual.g, "m": 1e-6 * usual.m, "v": 1e-12 * usual.v, "eps": 0.0}
    yield "m = v = 0, t = 1", {"m": 0 * usual.m, "v": 0 * usual.v, "t": 1, "rate": 0.5}
    for t in (usual.t, 150, 2000):
        yield f"β = (0.9, 0.999), t = {t}", {"betas": (0.9, 0.999), "t": t}
    yield "β = (0.99, 0.9999), t = 12000", {"betas": (0.99, 0.9999), "t": 12000}
    yield "β = (0.9, 0.9)", {"betas": (0.9, 0.9)}
    yield "β = (0.95, 0.8), t = 2", {"betas": (0.95, 0.8), "t": 2}
    settings = {"t": (1, 2, 30, 20000), "eps": (1e-6, 12.0, 1.0, 3000.0, 0.0), "rate": (0.0, 1.0, 12.0),
                "weight_decay": (0.0, 1.0, 12.0, 3000.0)}  # fmt: skip
    for name, values in settings.items():
        for value in values:
            yield f"{name} = {value:g}", {name: value}
    for which, betas in (("β₁", (0.0, 0.95)), ("β₂", (0.8, 0.0))):
        yield f"{which} = 0", {"betas": betas}
    yield "the entries of w sum to 0", {"w": of_sum_zero(usual.w)}
    ones = alternating(usual.w)
    yield "the entries of u sum to 0", {
        "g": 0.6 * ones, "m": 0.3 * ones, "v": 0 * usual.v + 0.5, "weight_decay": 0.0}  # fmt: skip


def of_sum_zero(w):
    """Entries like those of w, in whole quarters: they sum to 0 exactly, in any order."""
    made = np.round(4 * w) / 4
    made.flat[-1] -= made.sum()
    return made if made.any() else alternating(w)


def alternating(like):
    """1 and -1 in turns, as many of the one as of the other; and a 0 at the end, where the number is odd"""
    made = (-1.0) ** np.arange(like.size)
    made[like.size // 2 * 2 :] = 0.0
    return made.reshape(like.shape)


def in_each(yours, draw, corrected, check, vector=False):
    """Run check(case, answer) at all points; where it fails after the first, the cause is one of that case alone."""
    cases = list(points(draw, corrected, vector))
    answers = yours.each("lamb_step", [s.asked() for _, s in cases])
    for words, s in cases:
        try:
            check(s, next(answers))
        except Wrong as error:
            if words:
                error.seen = f"{error.seen} ({words})"
                named = error.cause and not error.cause.startswith(PERHAPS)
                error.final = any(not array.any() for array in (s.w, s.g, s.m, s.v))     # many mistakes give the same
                guess = PERHAPS if error.final else ""
                error.cause = f"{guess}in this case ({words}): {error.cause.removeprefix(SEEN)}" if named else ELSEWHERE
            raise


ELSEWHERE = "seen: in the cases before it was right; is there one of its own for such arguments?"


def reference(s):
    return lamb_tensor(*s[:9], bias_correction=s.corrected, clamp=s.clamp)


def to_judge(s, answer):
    """w, m, v, ratio, with the m and v that the rest is judged by: the student's own, if they can be."""
    w, m, v, ratio = answer
    _, right_m, right_v, _ = reference(s)
    if not fits(m, s.w) or not fits(v, s.w) or (np.asarray(v) < 0).any():
        return w, right_m, right_v, ratio
    for own, right, beta in ((m, right_m, s.betas[0]), (v, right_v, s.betas[1])):
        corrected = right / (1 - beta**s.t)
        if beta**s.t > 1e-3 and right.any() and np.allclose(own, corrected, rtol=1e-5, atol=0):    # not those to keep
            return w, right_m, right_v, ratio
    return w, np.asarray(m, float), np.asarray(v, float), ratio


def fits(value, like):
    try:
        array = numbers("", value)
    except Wrong:
        return False
    return array.shape == like.shape and bool(np.isfinite(array).all())


def number(name, value, expected, suspects=None):
    if isinstance(value, np.ndarray) and value.shape == (1,):
        value = value[0]
    same(name, value, expected, suspects=suspects)


def check_moments(s, answer):
    _, m, v, _ = answer
    right_w, right_m, right_v, _ = reference(s)
    others = {"m is v": right_v, "the new w stands where m must": right_w}
    same("m", m, right_m, suspects=moment_mistakes(s, "m", 0, s.m, s.g, right_m) | others)
    known = moment_mistakes(s, "v", 1, s.v, s.g * s.g, right_v) | {
        "g is not squared": s.betas[1] * s.v + (1 - s.betas[1]) * s.g,
        "|g| stands where g² must": s.betas[1] * s.v + (1 - s.betas[1]) * abs(s.g),
        "the square of m stands where g² must": s.betas[1] * s.v + (1 - s.betas[1]) * right_m**2,
        "the square of the old m stands where g² must": s.betas[1] * s.v + (1 - s.betas[1]) * s.m**2,
        "(1 - β₂) is squared with g": s.betas[1] * s.v + ((1 - s.betas[1]) * s.g) ** 2,
        "the root of v is returned; what is kept is v itself": np.sqrt(right_v),
        "v is m": right_m,
        "the new w stands where v must": right_w,
        "v never falls, as AMSGrad's": np.maximum(s.v, right_v),
        "the square of g - m stands where g² must": s.betas[1] * s.v + (1 - s.betas[1]) * (s.g - right_m) ** 2,
    }
    same("v", v, right_v, suspects=known)


def check_ratio(s, answer):
    _, m, v, ratio = to_judge(s, answer)
    number("the trust ratio r", ratio, trust(s, direction(s, m, v)), Later(ratio_mistakes, s, m, v))


def check_weights(s, answer):
    w, m, v, ratio = to_judge(s, answer)
    u = direction(s, m, v)
    same("w", w, s.w - s.rate * trust(s, u) * u, suspects=Later(weight_mistakes, s, m, v, ratio))


def check_exempt(s, answer):
    """w is a vector."""
    w, m, v, ratio = to_judge(s, answer)
    u = direction(s, m, v, decay=False)
    same("w of one axis", w, s.w - s.rate * u, suspects=Later(vector_mistakes, s, m, v))
    decayed = direction(s, m, v)
    number("the trust ratio r of a vector", ratio, 1.0, {
        "the ratio is used; vectors are exempt": trust(s, u),
        "the ratio is used, of a u with decay; vectors are exempt from both": trust(s, decayed),
        "the clamp is used; vectors are exempt from it, too": min(1.0, s.clamp or 1.0),
    })  # fmt: skip


def check_zero(yours, s):
    zero = np.zeros_like(s.w)
    new = s._replace(w=zero)
    w, m, v, ratio = to_judge(new, yours.lamb_step(*new.asked()))
    if (np.asarray(numbers("ratio", ratio)) == 0).all():
        raise Wrong("where w is zero, ratio is 0; it must be 1", "‖w‖ / ‖u‖ is 0: such weights could never move")
    number("the trust ratio r where w is zero", ratio, 1.0)
    same("w, where it was zero,", w, -s.rate * direction(new, m, v))
    still = s._replace(g=zero, m=zero, weight_decay=0.0)
    for asked in (still, still._replace(v=zero)):
        w, _, _, ratio = yours.lamb_step(*asked.asked())
        clamp = {"where u is zero r is the clamp; it must be 1": s.clamp} if s.corrected else None
        number("the trust ratio r where u is zero", ratio, 1.0, clamp)
        same("w, where u is zero,", w, s.w)
