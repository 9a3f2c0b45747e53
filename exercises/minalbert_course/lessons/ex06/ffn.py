"""Exercise 6 with half of it shared: one attention for all layers, an FFN for each."""

from ...block import ATTENTION_NAMES, FFN_NAMES, encoder_forward
from ...compare import Wrong, same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers
from ..corners import Corner, also, something
from ..matches import matches
from .gradients_by_name import DEEP, by_name, list_by_name, of_passes, same_gradients
from .passes import (
    COMPARED,
    ENCODERS,
    LAYERS,
    added,
    as_gone,
    as_transformers,
    cache_untouched,
    copied,
    drawn_weights,
    how_many,
    misled,
    moved,
    natural,
    outside_point,
    passes,
    point,
    ramps,
    right_passes,
    slips,
    suspects_of,
    wrong_sums,
)

variant = Lesson(
    "ex06-ffn", "layers that share attention alone", minutes=60, variant_of="ex06", withheld=ENCODERS,
    functions={"encoder_forward": "y, cache", "encoder_backward": "dx, dattention, dffns"},
    usual_references={"encoder_forward": lambda x, attention, ffns, mask, heads, eps: encoder_forward(
        x, [attention | ffn for ffn in ffns], mask, heads, eps)},
    own_results=("encoder_forward", "encoder_backward"),
)  # fmt: skip


def apart(draw, H, F):
    first, *others = (drawn_weights(draw, H, F) for _ in range(how_many(draw)))
    sets = [first] + [first | {name: other[name] for name in FFN_NAMES} for other in others]
    kind = getattr(draw, "corner", Corner()).kind
    if kind == "again":
        sets[-1] = first
    if kind == "copies":
        sets = [first | copied(picked(first, FFN_NAMES)) for _ in sets]
    return sets


def parts(p):
    """What the student gets: the attention's weights, and the FFNs', one object where two layers have the same."""
    first = [next(i for i, other in enumerate(p.sets) if other is weights) for weights in p.sets]
    ffns = [Given.of("filled", f"FFN {i}", ffn) if first.count(i) > 1 else ffn
            for i, ffn in zip(first, ffns_of(p), strict=True)]  # fmt: skip
    return picked(p.sets[0], ATTENTION_NAMES), ffns


def ffns_of(p):
    return [picked(weights, FFN_NAMES) for weights in p.sets]


def picked(weights, names):
    return {name: weights[name] for name in names}


def other_ffns(p):
    L = len(p.sets)
    ways = {
        "all layers have the first FFN": p.sets[:1] * L,
        "all layers have the last FFN": p.sets[-1:] * L,
        "the FFNs are used in reverse order": p.sets[::-1],
        "the last layer is missing": p.sets[:-1],
        "the first layer is missing": p.sets[1:],
        "this is the state after the first layer": p.sets[:1],
        "this is the state after the second layer": p.sets[:2],
        "this is the state after the third layer": p.sets[:3],
        "each layer is applied twice": [weights for weights in p.sets for _ in range(2)],
        "the last layer is applied twice": p.sets + p.sets[-1:],
        "the first layer is applied once more behind the last": p.sets + p.sets[:1],
        "all layers are applied, and all of them again": p.sets * 2,
        "the last layer alone is applied": p.sets[-1:],
        "of every two layers the second is missing": p.sets[::2],
        "each layer has the FFN of the next": p.sets[1:] + p.sets[:1],
        "each layer has the FFN of the one before": p.sets[-1:] + p.sets[:-1],
    }
    return {says: sets for says, sets in ways.items() if sets and [id(a) for a in sets] != [id(a) for a in p.sets]}


def passed(yours, p):
    y, cache = yours.encoder_forward(p.x, *parts(p), p.mask, p.heads, p.eps)
    return y, *yours.encoder_backward(p.dy, cache)


@variant.check(2, "encoder", of="encoder_forward", formula="layer l has the shared attention and its own FFN")
@also(*LAYERS)
def encoder_value(yours, draw):
    p = point(draw, apart)
    y, _ = yours.encoder_forward(p.x, *parts(p), p.mask, p.heads, p.eps)
    ways = suspects_of(p, other_ffns(p))
    matches("y", y, right_passes(p).y, "bth", lambda: ways | misled(p), limit=DEEP, given=moved(p))


@variant.check(2, "encoder dx", of="encoder_backward", formula="from the last layer to the first, each with its cache")
@also(*LAYERS)
def encoder_gradient(yours, draw):
    p = point(draw, apart)
    y, dx, _, _ = passed(yours, p)
    p = as_gone(p, y, other_ffns(p))
    matches("dx", dx, right_passes(p).dx, "bth", lambda: {says: back[0] for says, back in slips(p).items()}, limit=DEEP,
            natural=natural(p), given=(lambda dy: passes(p._replace(dy=dy)).dx, {"dy": p.dy}))  # fmt: skip


@variant.check(2.5, "dattention", of="encoder_backward", formula="dattention = Σ over layers")
@also(*LAYERS)
def attention_weights(yours, draw):
    p = point(draw, apart)
    y, _, dattention, _ = passed(yours, p)
    p = as_gone(p, y, other_ffns(p))
    by_name("dattention", dattention, parts(p)[0])
    gradients = right_passes(p).gradients
    expected = picked(added(gradients), ATTENTION_NAMES)
    same_gradients("dattention", dattention, expected, lambda: wrong_sums(p, added), of_passes(gradients))


@variant.check(1.5, "dffns", of="encoder_backward", formula="dffns[l] is layer l's own gradient, not a sum")
@also(*LAYERS, Corner("again", L=3, B=2, T=3, N=2, D=2, F=3), Corner("copies", L=2, B=2, T=3, N=2, D=2, F=5))
def ffn_weights(yours, draw):
    p = point(draw, apart)
    y, _, _, dffns = passed(yours, p)
    list_by_name("dffns", dffns, ffns_of(p))
    p = as_gone(p, y, other_ffns(p))
    if len(p.sets) != len(dffns):
        raise Wrong(f"y is the state after {len(p.sets)} of {len(dffns)} layers: not every FFN was asked")
    right = right_passes(p).gradients

    def suspects(layer):
        backwards = right[len(right) - 1 - layer]
        return {"the list is in reverse order: the last layer comes first on the way back, and last in the list":
                backwards} | {f"this is the gradient of layer {i}": other for i, other in enumerate(right) if i != layer
        } | {
            "this is the sum over all layers; no two layers share an FFN": added(right),
            "later layers' gradients are in it, too; no two layers share an FFN": added(right[layer:]),
            "earlier layers' gradients are in it, too; no two layers share an FFN": added(right[: layer + 1]),
        }  # fmt: skip

    for layer in reversed(range(len(right))):
        own = picked(right[layer], FFN_NAMES)
        same_gradients(f"dffns[{layer}]", dffns[layer], own, lambda layer=layer: suspects(layer), of_passes(right))


@variant.check(1.5, "as transformers", of="encoder_backward", formula="AlbertModel's encoder, one attention for all")
def outside(yours, draw):
    sets = [ramps(8, 12, start=20 * layer) for layer in range(3)]
    p = outside_point([picked(sets[0], ATTENTION_NAMES) | picked(weights, FFN_NAMES) for weights in sets])
    y, dx, dattention, dffns = passed(yours, p)
    as_transformers("ffn", y, dx)
    by_name("dattention", dattention, parts(p)[0])
    list_by_name("dffns", dffns, parts(p)[1])
    for name in COMPARED:
        for layer, answers in enumerate(dffns) if name in FFN_NAMES else [("all", dattention)]:
            named = f"d {name!r} of layer {layer} (transformers' numbers)"
            same(named, answers[name], numbers("ex06")[f"ffn.{layer}.{name}"], limit=DEEP)


@variant.check(0.5, "inputs untouched", of="encoder_backward")
def purity(yours, draw):
    y, dx, dattention, dffns = passed(yours, point(draw, apart))
    cache_untouched(yours)
    something(y=y, dx=dx, dattention=dattention)
    for own in dffns:
        something(dffns=own)
    yours.untouched()
