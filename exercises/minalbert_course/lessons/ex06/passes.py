"""What the checks of exercise 6 share: a point, and the passes of an encoder over it.

An encoder is right if it does what the library's blocks do one after the other, or what the student's own blocks do:
a mistake in the block costs the block's points, not the loop's as well.
"""

from typing import Any, NamedTuple

import numpy as np

from minalbert.layers import key_mask
from minalbert.model import encoder
from minalbert.params import ATTENTION

from ...alike import alike as same_again
from ...block import NAMES, block_backward, block_forward, encoder_forward
from ...compare import Wrong, same
from ...outside import numbers as outside_numbers
from ...outside import ramp
from ...remembered import remembered
from ...values import NotWritten, Stopped
from ..corners import Corner, upstream
from .gradients_by_name import DEEP, KEY_BIAS, by_name, real

ENCODERS = (encoder.encoder_forward, encoder.encoder_backward)
COMPARED = ("attention.query.w", "attention.output.b", "attention.norm.gain", "ffn.up.w", "ffn.down.b", "ffn.norm.bias")
PROJECTIONS = [f"attention.{name}" for name in ATTENTION]
USED_UP = (
    "the cache was written into (pop, reverse, +=), an argument as others are, which belongs to the caller; or "
    "something is kept outside it, in a global variable, say"
)
MANY = 20                                            # layers
PADDED = -1e4                                        # "a number far below all scores" is not only the lowest


BLOCKS = (
    Corner(B=1, T=2, N=2, D=3, F=5),
    Corner(B=1, T=1, N=1, D=2, F=1),
    Corner("tiny", B=2, T=3, N=4, D=1, F=2),
    Corner("large", B=4, T=1, N=2, D=2, F=3),
    Corner("zero", padding="none", B=3, T=4, N=1, D=1, F=4),
    Corner(padding="all but one", B=1, T=2, N=3, D=1, F=3),
    Corner(padding="none", B=3, T=3, N=3, D=1, F=3),
    Corner(B=1, T=2, N=4, D=32, F=3),
    Corner(B=1, T=3, N=12, D=1, F=2),
    Corner(padding="none", B=20, T=2, N=1, D=2, F=70),
)
LAYERS = (
    Corner(L=1, B=1, T=1, N=1, D=2, F=3),
    Corner(L=2, B=1, T=2, N=4, D=32, F=3),
    Corner("tiny", L=2, B=2, T=3, N=1, D=4, F=2),
    Corner("zero", padding="none", L=3, B=3, T=2, N=3, D=1, F=1),
    Corner(padding="all but one", L=5, B=4, T=4, N=2, D=1, F=4),
    Corner(padding="none", L=6, B=1, T=2, N=1, D=3, F=2),
    Corner("large", L=1, B=4, T=1, N=2, D=2, F=3),
    Corner(L=27, B=2, T=4, N=2, D=4, F=9),
    Corner(L=2, B=1, T=3, N=12, D=1, F=2),
    Corner("still", L=3, B=2, T=3, N=2, D=2, F=3),
    Corner(L=1, B=2, T=3, N=2, D=2, F=3),
    Corner(padding="none", L=2, B=70, T=2, N=1, D=2, F=2),
)


class Point(NamedTuple):
    x: Any
    mask: Any
    heads: int
    eps: float
    dy: Any
    sets: list                                       # whose weights each layer has; shared ones come again


class Passes(NamedTuple):
    y: Any
    dx: Any
    gradients: list                                  # layer by layer, {name: array}
    caches: list


def shapes(H, F):
    wide = {"ffn.up.w": (H, F), "ffn.up.b": (F,), "ffn.down.w": (F, H)}
    return {name: wide.get(name, (H, H) if name.endswith(".w") else (H,)) for name in NAMES}


def drawn_weights(draw, H, F):
    """Weights of a size at which every term of a block shows; each of many layers does little."""
    corner = getattr(draw, "corner", None)
    size = 0.1 if corner and corner.sizes.get("L", 0) > MANY else 1.0

    def drawn(name, shape):
        if corner and corner.kind == "still":
            return np.full(shape, float(name.endswith(".gain")))
        if name.endswith(".gain"):
            return 1 + size * (draw.gain(H) - 1)
        return size * (draw.matrix(*shape) if len(shape) == 2 else draw.normal(*shape, scale=0.2))

    weights = {name: drawn(name, shape) for name, shape in shapes(H, F).items()}
    return weights if draw.first else {name: weights[name] for name in another_order(weights)}


def copied(weights):
    return {name: array.copy() for name, array in weights.items()}


def another_order(names):
    """Weights are known by name, not by place: the projections backwards, the norms' bias before the gain."""
    projections = [name for name in names if name in PROJECTIONS]
    parts = [projections[i : i + 2] for i in range(0, len(projections), 2)]
    other = [name for part in reversed(parts) for name in part]
    others = sorted((name for name in names if name not in PROJECTIONS), key=lambda name: name.rpartition(".")[0])
    gains = {"gain": "bias", "bias": "gain"}
    return other + [f"{half}.{gains.get(kind, kind)}" for half, _, kind in (name.rpartition(".") for name in others)]


def ramps(H, F, start=0):
    """Weights that nobody drew, for numbers from outside."""
    return {
        name: ramp(*shape, start=start + i, scale=0.5) + name.endswith(".gain")
        for i, (name, shape) in enumerate(shapes(H, F).items())
    }


def point(draw, sets):
    """sets: (draw, H, F) -> the weights of each layer"""
    B, T, N, D, F = draw.sizes(B=2, T=5, N=3, D=2, F=7, least=2)
    x, dy = draw.normal(B, T, N * D), upstream(draw, B, T, N * D)
    eps = 0.1 if draw.first else float(draw.uniform(0.02, 0.3))
    kind = getattr(draw, "corner", Corner()).kind
    if kind in ("tiny", "still"):
        eps = 1e-12
    if kind == "still":
        x[...] = 1.0 - 2.0 * (np.arange(N * D) % 2)  # of mean 0 and variance 1: a norm leaves it as it is
    mask = key_mask(draw.padding(B, T), np.float64)
    if draw.number and not hasattr(draw, "corner"):
        mask = np.maximum(mask, PADDED)
    return Point(x, mask, N, eps, dy, sets(draw, N * D, F))


def natural(p):
    """The size of what dx is a sum of: dy through the last norm."""
    return 0.1 * float(np.abs(p.dy).max() * max(np.abs(weights["ffn.norm.gain"]).max() for weights in p.sets))


def how_many(draw):
    """Layers: three, or as many as the draw has."""
    if corner := getattr(draw, "corner", None):
        return corner.sizes["L"]
    return 3 if draw.first else int(draw.integers(2, 7))


def outside_point(sets):
    x, dy = ramp(2, 4, 8, start=1), ramp(2, 4, 8, start=2)
    mask = key_mask(np.array([[1, 1, 1, 1], [1, 1, 0, 0]]), np.float64)
    return Point(x, mask, 2, 0.1, dy, sets)


def passes(p, forward=block_forward, backward=block_backward):
    """Every layer in turn, and back; the weights of each are taken to be its own."""
    x, caches = p.x, []
    for weights in p.sets:
        x, cache = forward(x, weights, p.mask, p.heads, p.eps)
        caches.append(cache)
    dx, gradients = go_back(p.dy, caches, backward)
    for gradient, weights in zip(gradients, p.sets, strict=True):
        by_name("dweights", gradient, weights)
        if any(np.shape(gradient[name]) != np.shape(weights[name]) for name in weights):
            raise Wrong("dweights has wrong shapes")
    return Passes(real("y", x, p.x), real("dx", dx, p.x), gradients, caches)


@remembered
def right_passes(p):
    return passes(p)


@remembered
def state_after(p):
    return encoder_forward(p.x, p.sets, p.mask, p.heads, p.eps)[0]


def go_back(dy, caches, backward=block_backward):
    gradients = []
    for cache in reversed(caches):
        dy, gradient = backward(dy, cache)
        gradients.insert(0, gradient)
    return dy, gradients


def slips(p):
    """What a wrong way back through the passes gives: {mistake: (dx, gradients)}"""
    caches = right_passes(p).caches
    last = go_back(p.dy, caches[-1:])
    twice = go_back(p.dy, [cache for cache in caches for _ in range(2)])
    pairs = zip(twice[1][::2], twice[1][1::2], strict=True)
    return {
        "each pass is gone back through twice": (twice[0], [added(pair) for pair in pairs]),
        "every pass goes back through the cache of the last pass; each needs its own":
            go_back(p.dy, [caches[-1]] * len(caches)),
        "every pass goes back through the cache of the first pass; each needs its own":
            go_back(p.dy, [caches[0]] * len(caches)),
        "the caches are taken in forward order; on the way back the last pass comes first":
            go_back(p.dy, caches[::-1]),
        "this is the way back through the last pass alone": (last[0], last[1] * len(caches)),
        "dx is summed over the passes; x's gradient is what the backward pass of the first one returns":
            (sum(go_back(p.dy, caches[i:])[0] for i in range(len(caches))), right_passes(p).gradients),
    }  # fmt: skip


def wrong_sums(p, fold):
    """{mistake: a function of none that gives what it makes of the gradients}, brought together by fold"""

    def handed_dy():
        return [block_backward(p.dy, cache)[1] for cache in passes(p).caches]

    def kept(number):
        """The gradients of one pass for each set of weights; those of its other passes are zero."""
        gradients = passes(p).gradients
        chosen = [i for i, weights in enumerate(p.sets) if same_sets(p, weights)[number] == i]
        nothing = {name: np.zeros_like(array) for name, array in p.sets[0].items()}
        return [gradient if i in chosen else nothing for i, gradient in enumerate(gradients)]

    def mean():
        shares = [len(same_sets(p, weights)) for weights in p.sets]
        return [{name: array / share for name, array in gradient.items()}
                for gradient, share in zip(passes(p).gradients, shares, strict=True)]  # fmt: skip

    ways = {
        "this is the gradient of the first of the passes that share alone: each overwrites (=) what others left; add "
        "(+=)": lambda: kept(0),
        "this is the gradient of the last of the passes that share alone: no other was added": lambda: kept(-1),
        "the sum over the passes is divided by their number; each pass has its whole say in the loss": mean,
        "every pass is handed dy; each needs the dx that the pass after it returned": handed_dy,
    }
    ways |= {says: (lambda back=back: back[1]) for says, back in slips(p).items()}
    return {says: (lambda way=way: fold(way())) for says, way in ways.items()}


def same_sets(p, weights):
    """The layers that share with this one: by their attention, which is shared wherever anything is."""
    shared = KEY_BIAS
    return [i for i, other in enumerate(p.sets) if other[shared] is weights[shared]]


def added(gradients):
    return {name: sum(np.asarray(gradient[name], float) for gradient in gradients) for name in gradients[0]}


def encoder_check(yours, p, compare):
    """compare(passes) raises Wrong."""
    right = right_passes(p)
    try:
        compare(right)
    except Wrong as wrong:
        try:
            own = passes(p, yours.block_forward, yours.block_backward)
            if p.x.any() and len(p.sets) > 1 and idle(own, p) and not idle(right, p):
                raise wrong                          # blocks that do nothing prove nothing
            compare(own)
        except (Wrong, NotWritten, Stopped):
            raise wrong from None


def idle(gone, p):
    """Do some passes, or their ways back, change nothing?"""
    return alike(gone.y, p.x) or alike(gone.gradients[0]["ffn.down.b"], gone.gradients[-1]["ffn.down.b"])


def alike(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    return a.shape == b.shape and bool(np.abs(a - b).max() <= 1e-5 * np.abs(a).max())


def suspects_of(p, ways):
    """ways: {mistake: the weights of the layers that it goes through, in turn}"""
    return {says: (lambda sets=sets: passes(p._replace(sets=sets)).y) for says, sets in ways.items()}


def misled(p):
    """Where an argument does not reach the layers: {mistake: y}"""
    return {
        "the mask does not reach the layers": lambda: passes(p._replace(mask=0 * p.mask)).y,
        "the mask reaches the first layer alone": lambda: after(p, lambda i: p._replace(mask=p.mask * (i == 0))),
        "eps does not reach the layers": lambda: passes(p._replace(eps=1e-12)).y,
        "eps is taken to be 0.1": lambda: passes(p._replace(eps=0.1)).y,
        "eps is taken to be 1": lambda: passes(p._replace(eps=1.0)).y,
        f"eps is taken to be {p.heads}, which is heads": lambda: passes(p._replace(eps=p.heads)).y,
        "heads is taken to be 1": lambda: passes(p._replace(heads=1)).y,
        "this is x itself: no layer was applied": p.x,
    }


def moved(p):
    """What `matches` is given of an encoder."""
    return lambda x, mask: passes(p._replace(x=x, mask=mask)).y, {"x": p.x, "mask": p.mask}


def after(p, point_of):
    x = p.x
    for i, weights in enumerate(p.sets):
        own = point_of(i)
        x, _ = block_forward(x, weights, own.mask, own.heads, own.eps)
    return x


def as_gone(p, y, ways):
    """The point with the layers that an encoder did go through: the way back is marked by the way there.

    Where it hardly matters which layers those are, float32 is no nearer to the right ones than to others.
    """
    try:
        y = real("y", y, p.x)
    except Wrong:
        return p
    places = [p.sets]
    if not np.abs(state_after(p) - y).max() <= 1e-9:
        places += ways.values()
    off = [float(np.abs(state_after(p._replace(sets=sets)) - y).max()) for sets in places]
    nearest = int(np.argmin(off))
    known = off[nearest] <= min(DEEP * np.abs(y).max(), off[0] / 1000)
    return p._replace(sets=places[nearest]) if known else p


def cache_untouched(yours):
    """Raise Wrong unless the last call, a backward pass, gives the same once more with the same cache."""
    call = yours.made[-1]
    try:
        again = yours.repeated()
    except Stopped as error:
        raise Wrong(f"asked once more with the same cache, {error}", USED_UP, call.name) from error
    if not same_again(call.result, again):
        raise Wrong(f"{call.name}, asked once more with the same cache, gives another answer", USED_UP, call.name)


def as_transformers(kind, y, dx):
    for name, answer in (("y", y), ("dx", dx)):
        same(f"{name} (transformers' numbers)", answer, outside_numbers("ex06")[f"{kind}.{name}"], "bth", limit=DEEP)
