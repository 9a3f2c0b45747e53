"""Exercise 6 with dropout: shared layers, each with a mask of its own, which the backward pass computes again."""

import numpy as np

from minalbert.backend import dropout_mask
from minalbert.layers import dropout_backward, dropout_forward

from ...alike import alike
from ...compare import Wrong, same
from ...lesson import Lesson
from ...outside import numbers as stored
from ..corners import guessing, something
from ..matches import matches
from .drop_mistakes import (
    wrong_backs,
    wrong_drops,
    wrong_encoder_backs,
    wrong_encoders,
    wrong_layers,
    wrong_masks,
    wrong_states,
)
from .dropping import (
    LONG,
    added,
    compared,
    encoder,
    encoder_back,
    keys,
    layer,
    layer_back,
    mask_of,
    of_long_key,
    point,
    points,
    ramps,
)
from .gradients_by_name import DEEP, by_name, real
from .passes import ENCODERS

variant = Lesson(
    "ex06-dropout", "shared layers with dropout, computed again", minutes=75, variant_of="ex06",
    functions={
        "dropout_mask": "mask",
        "dropout_forward": "y",
        "dropout_backward": "dx",
        "layer_forward": "y",
        "layer_backward": "dx, dweights",
        "encoder_forward": "y, states",
        "encoder_backward": "dx, dweights",
    },
    withheld=(dropout_mask, dropout_forward, dropout_backward, *ENCODERS),
    own_results=("dropout_mask", "layer_forward", "layer_backward", "encoder_backward"),
)  # fmt: skip

SMALL = "perhaps: a small dy is taken for 0"
RESAMPLED = "a mask is sampled again in each call: make the generator in `dropout_mask`, from the key, and use it there"


def steady(yours):
    """Raise Wrong unless the last call, made again, gives the same."""
    call = yours.made[-1]
    if not alike(call.result, yours.repeated()):
        raise Wrong(f"{call.name}, asked twice with the same key, gives two answers", RESAMPLED)


def own_dropout(yours, way):
    """The student's own dropout, as a layer of ours takes it; None where it drops nothing."""
    function = getattr(yours, f"dropout_{way}")

    def drop(x, rate, key):
        return real("dropout", function(x, rate, key), x)

    tried = drop(np.ones((4, 50)), 0.5, (1, 2))
    return drop if (tried == 0).any() and (tried != 0).any() else None


# The mask, and dropout


@variant.check(1, "mask", of="dropout_mask", formula="1 where u ≥ rate, else 0; u = default_rng(key).random(shape)")
def mask_value(yours, draw):
    masks = [yours.dropout_mask((60,), 0.5, key) for key in ((5, 1), (6, 1), (5, 2))]
    if any(alike(masks[0], other) for other in masks[1:]):
        raise Wrong("mask: two keys give one mask", "the key, or a part of it, is not used, or an earlier mask is kept")
    shapes = tuple(draw.sizes(B=2, T=3, H=5, least=2)), (2000,), (1, 1), (2, 3, 1, 7)
    rates = (0.25 if draw.first else float(draw.uniform(0.1, 0.9))), 0.3125, 0.0, 0.9
    for shape, rate, key in zip(shapes, rates, keys(draw), strict=True):
        mask = yours.dropout_mask(shape, rate, key)
        steady(yours)
        matches("mask", mask, mask_of(shape, rate, key), "bnth"[-len(shape) :],
                lambda given=(shape, rate, key): wrong_masks(*given))  # fmt: skip
    with guessing("perhaps: a small rate is taken for 0", few=4000):
        small = (4000,), 2.0**-8, (5, 1)
        same("mask for a rate of 2⁻⁸", yours.dropout_mask(*small), mask_of(*small), "n")
    u = np.random.default_rng((5, 1)).random(9)
    for rate, says in ((u[4], "a u that equals the rate is kept"), (np.nextafter(u[4], 1), "u and rate are float64")):
        with guessing(f"perhaps: {says}"):
            same(f"mask for a rate of {float(rate):.17g}, beside a u", yours.dropout_mask((9,), float(rate), (5, 1)),
                 (u >= rate) * 1.0, "n")  # fmt: skip
    for key in (LONG, LONG[:-1]):
        given = (60,), 0.5, key
        same(f"mask for a key of {len(key)} numbers", yours.dropout_mask(*given), mask_of(*given), "n",
             suspects=wrong_masks(*given))  # fmt: skip


def with_long_key(draw):
    yield from points(draw)
    yield of_long_key(draw)


def compare_dropped(name, found, yours, given):
    """With the right mask, or with the student's own."""
    x, rate, key = given

    def compare(mask):
        matches(name, found, x * mask / (1 - rate), "bth", lambda: wrong_drops(x, rate, mask))

    def own():
        mask, many = (real("mask", yours.dropout_mask(of.shape, rate, key), of) for of in (x, np.ones((9, 99))))
        return mask if {0.0, 1.0} == set(many.ravel().tolist()) else None

    compared(compare, lambda: mask_of(x.shape, rate, key), own)


@variant.check(1, "dropout", of="dropout_forward", formula="y = x mask / (1 - rate)")
def dropout_value(yours, draw):
    for p in with_long_key(draw):
        y = yours.dropout_forward(p.x, p.rate, p.key)
        steady(yours)
        compare_dropped("y", y, yours, (p.x, p.rate, p.key))


@variant.check(1, "dropout dx", of="dropout_backward", formula="dx = dy mask / (1 - rate), with forward's mask")
def dropout_gradient(yours, draw):
    for p in with_long_key(draw):
        dx = yours.dropout_backward(p.dy, p.rate, p.key)
        steady(yours)
        try:
            compare_dropped("dx", dx, yours, (p.dy, p.rate, p.key))
        except Wrong as wrong:                       # it may be right for a wrong forward function
            drop = own_dropout(yours, "forward")
            if drop is None or not alike(drop(p.dy, p.rate, p.key), dx):
                raise wrong from None


@variant.check(0.5, "nothing dropped", of="dropout_forward", formula="y = x where key is None, or rate is 0")
def evaluation(yours, draw):
    for p in points(draw):
        for rate, key, when in ((p.rate, None, "without a key"), (0.0, p.key, "at rate 0"), (0.0, None, "at rate 0")):
            for name, function, given in (("y", yours.dropout_forward, p.x), ("dx", yours.dropout_backward, p.dy)):
                divided = {"divided by 1 - rate, though nothing is dropped": given / (1 - rate)} if rate else {}
                same(f"{name} {when}", function(given, rate, key), given, "bth", suspects=divided)
    x, rate = np.ones((3, 5)), 2.0**-11
    with guessing("perhaps: a small rate is taken for 0", few=15):
        same("y of ones at a rate of 2⁻¹¹", yours.dropout_forward(x, rate, (5, 1)),
             x * mask_of(x.shape, rate, (5, 1)) / (1 - rate))  # fmt: skip


# A layer


def with_evaluation(draw):
    """points, one of a long key, and one without a key, as in evaluation"""
    yield from with_long_key(draw)
    yield point(draw)._replace(key=None)


def with_small_dy(draw):
    yield from with_evaluation(draw)
    p = point(draw)
    yield p._replace(dy=1e-9 * p.dy)


LAYER = "y = norm(x + dropout(gelu(x w + b)))"


@variant.check(1.5, "layer", of="layer_forward", formula=LAYER)
def layer_value(yours, draw):
    for p in with_evaluation(draw):
        y = yours.layer_forward(*p.one)
        steady(yours)

        def compare(right, y=y, p=p):
            matches("y", y, right, "bth", lambda: wrong_layers(p))

        def own(p=p):
            drop = own_dropout(yours, "forward")
            return drop and layer(*p.one, drop)

        compared(compare, lambda p=p: layer(*p.one), own)


def layer_answers(yours, p):
    dx, dweights = yours.layer_backward(p.dy, *p.one)
    by_name("dweights", dweights, p.weights)
    return dx, dweights


def compare_layer_backs(yours, p, compare):
    """compare((dx, dweights))"""

    def own():
        drop, back = (own_dropout(yours, way) for way in ("forward", "backward"))
        return drop and back and layer_back(p.dy, *p.one, drop, back)

    with guessing(p.small and SMALL):
        compared(compare, lambda: layer_back(p.dy, *p.one), own)


@variant.check(1, "layer dx", of="layer_backward", formula=f"{LAYER}: x is used twice")
def layer_gradient(yours, draw):
    for p in with_small_dy(draw):
        dx, _ = layer_answers(yours, p)
        steady(yours)

        def compare(right, dx=dx, p=p):
            ways = {says: back[0] for says, back in wrong_backs(p).items()}
            matches("dx", dx, right[0], "bth", lambda: ways, natural=np.abs(right[0]).max())

        compare_layer_backs(yours, p, compare)


@variant.check(1, "layer dweights", of="layer_backward", formula=f"{LAYER}: dw, db, dgain, dbias by name")
def layer_weights(yours, draw):
    for p in with_small_dy(draw):
        _, dweights = layer_answers(yours, p)
        steady(yours)
        compare_layer_backs(yours, p, lambda right, found=dweights, p=p: same_by_name(found, right[1], wrong_backs(p)))


def same_by_name(found, right, ways):
    """ways: {mistake: (dx, gradients by name)}"""
    for name in reversed(right):
        suspects = {says: gradients[name] for says, (_, gradients) in ways.items()}
        others = {f"this is the gradient of {other!r}": array for other, array in right.items() if other != name}
        matches(f"dweights[{name!r}]", found[name], right[name], "ho"[: right[name].ndim],
                lambda suspects=suspects | others: suspects, limit=DEEP)  # fmt: skip


# The layers


@variant.check(1, "encoder", of="encoder_forward", formula="x_{l+1} = layer(x_l) with the key (*key, l)")
def encoder_value(yours, draw):
    for p in with_evaluation(draw):
        y, states = yours.encoder_forward(p.x, p.weights, p.eps, p.layers, p.rate, p.key)
        if not isinstance(states, list | tuple) or len(states) != p.layers:
            size = f"has {len(states)} entries" if isinstance(states, list | tuple) else "is no list"
            raise Wrong(f"states {size}; it must be a list of {p.layers} arrays, what entered each layer")

        def compare(right, y=y, states=states, p=p):
            for i, (state, expected) in enumerate(zip(states, right[1], strict=True)):
                ways = wrong_states(i, right) | {says: way[1][i] for says, way in wrong_encoders(p, i).items()}
                matches(f"states[{i}]", state, expected, "bth", lambda ways=ways: ways, limit=DEEP)
            ways = {says: way[0] for says, way in wrong_encoders(p, -1).items()}
            matches("y", y, right[0], "bth", lambda: ways, limit=DEEP)

        def own(p=p):
            found = encoder(p, p.keys, lambda *given: real("y", yours.layer_forward(*given), p.x))
            return None if alike(found[0], p.x) else found

        compared(compare, lambda p=p: encoder(p, p.keys), own)


def encoder_answers(yours, p):
    dx, dweights = yours.encoder_backward(p.dy, encoder(p, p.keys)[1], p.weights, p.eps, p.rate, p.key)
    by_name("dweights", dweights, p.weights)
    return dx, dweights


@variant.check(1, "encoder dx, dweights", of="encoder_backward", formula="from l = L-1 to 0, with (*key, l); Σ")
def encoder_gradient(yours, draw):
    for p in with_small_dy(draw):
        dx, dweights = encoder_answers(yours, p)
        states = encoder(p, p.keys)[1]

        def compare(right, dx=dx, dweights=dweights, p=p, states=states):
            ways = wrong_encoder_backs(p, states)
            matches("dx", dx, right[0], "bth", lambda: {says: way[0] for says, way in ways.items()}, limit=DEEP)
            same_by_name(dweights, right[1], ways)

        def own(p=p, states=states):
            dx, gradients = encoder_back(p, states, p.keys, own_layer_back(yours))
            found = any(map(np.any, gradients[0].values()))
            return (dx, added(gradients)) if found or p.small else None

        def right(p=p, states=states):
            dx, gradients = encoder_back(p, states, p.keys)
            return dx, added(gradients)

        with guessing(p.small and SMALL):
            compared(compare, right, own)


def own_layer_back(yours):
    def back(dy, x, *given):
        dx, dweights = yours.layer_backward(dy, x, *given)
        by_name("dweights", dweights, given[0])
        return real("dx", dx, x), {name: real(name, dweights[name], given[0][name]) for name in given[0]}

    return back


@variant.check(0.5, "as PyTorch", of="encoder_backward", formula="PyTorch's autograd, with these masks")
def outside(yours, draw):
    p, found = ramps(), stored("ex06_dropout")
    y, states = yours.encoder_forward(p.x, p.weights, p.eps, p.layers, p.rate, p.key)
    same("y (PyTorch's numbers)", y, found["y"], "bth", limit=DEEP)
    dx, dweights = yours.encoder_backward(p.dy, states, p.weights, p.eps, p.rate, p.key)
    same("dx (PyTorch's numbers)", dx, found["dx"], "bth", limit=DEEP)
    by_name("dweights", dweights, p.weights)
    for name in p.weights:
        same(f"dweights[{name!r}] (PyTorch's numbers)", dweights[name], found[f"d{name}"], limit=DEEP)


@variant.check(0.5, "inputs untouched", of="encoder_backward")
def purity(yours, draw):
    p = point(draw)._replace(rate=0.1)            # of few numbers, all might be dropped
    something(mask=yours.dropout_mask(p.x.shape, p.rate, p.key), y=yours.dropout_forward(p.x, p.rate, p.key),
              dx=yours.dropout_backward(p.dy, p.rate, p.key), layer=yours.layer_forward(*p.one))  # fmt: skip
    dx, dweights = layer_answers(yours, p)
    something(dx=dx, dweights=dweights)
    dx, dweights = encoder_answers(yours, p)
    y, states = yours.encoder_forward(p.x, p.weights, p.eps, p.layers, p.rate, p.key)
    something(y=y, states=list(states), dx=dx, dweights=dweights)
    yours.untouched()
