"""The checks of `clip`, for both forms of exercise 10."""

import math

import numpy as np

from ...compare import Wrong, same
from ...given import Given
from .lamb_steps import number


def gradients(draw, scale, tensors=3):
    """Names in no order, tensors of one to three axes."""
    sizes = draw.sizes(A=3, B=4, C=5, least=2)
    found = {
        "word": draw.normal(*sizes[:2], scale=scale),
        "bias": draw.normal(sizes[2], scale=3 * scale),
        "deep.w": draw.normal(*sizes, scale=scale),
        "one": draw.normal(1, scale=2 * scale),
        "a.zero": np.zeros((2, 2)),
        "column": draw.normal(sizes[0], 1, scale=scale),
    }
    found |= {f"layer.{i}": draw.normal(2, 2, scale=scale) for i in range(10)}
    return dict(list(found.items())[:tensors])


def norm(gradients):
    return math.sqrt(sum(float((g * g).sum()) for g in gradients.values()))


def clip(gradients, limit):
    whole = norm(gradients)
    return {name: min(1.0, limit / whole) * g for name, g in gradients.items()}, whole


def compare_clipped(clipped, grads, factor, limit):
    if not isinstance(clipped, dict) or clipped.keys() != grads.keys():
        left_out = sorted(grads.keys() - clipped.keys()) if isinstance(clipped, dict) else []
        zeros = bool(left_out) and not any(grads[name].any() for name in left_out)
        raise Wrong(f"clipped is no dict of the same names: {', '.join(grads)}",
                    f"tensors of zeros are left out: {', '.join(left_out)}" if zeros else
                    f"seen: of {len(grads)} names {len(left_out)} are missing" if left_out else None)  # fmt: skip
    whole = norm(grads)
    for name, g in grads.items():
        own = norm({"": g})
        suspects = {
            "this tensor is as it was: it is not clipped": g,
            "each tensor is clipped alone; one factor, from the norm of all, must hold for all":
                g * min(1.0, limit / own if own else 1.0),
            "each entry is cut at limit; the whole gradient must keep its direction": np.clip(g, -limit, limit),
            "g / norm, without limit": g / (whole or 1.0),
            "g limit, without the norm": g * limit,
            "limit / norm, which scales small gradients up": g * limit / (whole or 1.0),
            "divided by norm²": g * limit / (whole * whole or 1.0),
            "1e-6 is added to the norm, as PyTorch does; limit / norm is asked for": g * limit / (whole + 1e-6),
            "g norm / limit; it must be limit / norm": g * whole / limit,
            "clipped twice": g * factor * factor,
            "the root of the factor is taken": g * math.sqrt(factor),
        }  # fmt: skip
        suspects = {says: answer for says, answer in suspects.items()
                    if np.abs(answer - factor * g).max() > 1e-5 * factor * own}  # fmt: skip
        same(f"clipped[{name!r}]", clipped[name], factor * g, suspects=suspects)


def norm_mistakes(grads, limit):
    each = [norm({"": g}) for g in grads.values()]
    return {
        "this is the sum of the tensors' norms": sum(each),
        "the root is missing": norm(grads) ** 2,
        "this is the largest of the tensors' norms": max(each),
        "this is the norm after clipping": min(limit, norm(grads)),
        "this is the norm of the last tensor": each[-1],
        "this is the norm of the first tensor": each[0],
        "vectors are left out": norm({name: g for name, g in grads.items() if g.ndim > 1}),
        "this is the sum of |g|": sum(float(abs(g).sum()) for g in grads.values()),
        "this is the largest entry": max(float(abs(g).max()) for g in grads.values()),
        "the mean stands where the sum of the squares must":
            math.sqrt(norm(grads) ** 2 / sum(g.size for g in grads.values())),
    }  # fmt: skip


def compare_equal_tensors(yours, draw):
    """Two tensors of the same numbers, as two arrays and as one under two names: each counts."""
    once = gradients(draw, 2.0)
    grads = once | {"like.word": once["word"].copy()}
    limit = 0.4 * norm(grads)
    usual = norm_mistakes(grads, limit)
    found, whole = yours.clip(grads, limit)
    says = "of equal tensors, or of those of equal norms, one alone counts"
    number("norm", whole, norm(grads), {says: norm(once)} | usual)
    compare_clipped(found, grads, limit / norm(grads), limit)
    one = Given.of("filled", f"clip {draw.seed}", once["word"])
    _, whole = yours.clip(grads | {"word": one, "like.word": one}, limit)
    number("norm", whole, norm(grads), {"an array under two names counts once": norm(once)} | usual)


def compare_one_array(yours, draw):
    """Check that an array under two names is scaled once."""
    grads = gradients(draw, 2.0)
    one = Given.of("filled", f"clip {draw.seed}", grads["word"])
    found, _ = yours.clip(grads | {"word": one, "like.word": one}, 0.5)
    grads["like.word"] = grads["word"]
    try:
        compare_clipped(found, grads, 0.5 / norm(grads), 0.5)
    except Wrong as error:
        error.of = "clip"
        raise


def add_clip(lesson):
    @lesson.check(1, "clip", of="clip", formula="norm = √(Σ g²) over all tensors,  g ← g limit / norm")
    def clipped(yours, draw):
        for scale, limit, tensors in ((2.0, 1.5, 3), (2.0, 12.0, 6), (0.1, 0.3, 1), (0.2, 0.15, 4), (400.0, 1500.0, 5),
                                      (1e-9, 1e-10, 3), (1.0, 0.7, 16), (400.0, 0.01, 3)):  # fmt: skip
            grads = gradients(draw, scale, tensors)
            limit = min(limit, 0.8 * norm(grads))
            found, whole = yours.clip(grads, limit)
            number("norm", whole, norm(grads), norm_mistakes(grads, limit))
            compare_clipped(found, grads, limit / norm(grads), limit)
        grads = gradients(draw, 1.0)
        limit = 0.9995 * norm(grads)                 # just too long
        compare_clipped(yours.clip(grads, limit)[0], grads, 0.9995, limit)
        compare_equal_tensors(yours, draw)

    @lesson.check(0.5, "small gradients", of="clip", formula="norm ≤ limit: nothing changes")
    def small(yours, draw):
        for scale, times, tensors in ((0.01, 10, 3), (0.0, 1, 3), (0.05, 1.1, 1), (3.0, 1.2, 6), (600.0, 2, 4)):
            grads = gradients(draw, scale, tensors)
            limit = times * norm(grads) or 1.0
            found, whole = yours.clip(grads, limit)
            number("norm", whole, norm(grads), norm_mistakes(grads, limit) if scale else None)
            compare_clipped(found, grads, 1.0, limit)
