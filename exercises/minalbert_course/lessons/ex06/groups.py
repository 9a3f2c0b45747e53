"""Exercise 6 in groups: layer l has the weights of group l G // L."""

import numpy as np

from ...block import encoder_forward
from ...compare import same
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers
from ..corners import Corner, also, something
from ..matches import matches
from .gradients_by_name import DEEP, list_by_name, of_passes, same_gradients
from .passes import (
    COMPARED,
    ENCODERS,
    added,
    as_gone,
    as_transformers,
    cache_untouched,
    copied,
    drawn_weights,
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
    "ex06-groups", "groups of layers that share", minutes=60, variant_of="ex06", withheld=ENCODERS,
    functions={"encoder_forward": "y, cache", "encoder_backward": "dx, dweights"},
    usual_references={"encoder_forward": lambda x, weights, mask, heads, eps, layers: encoder_forward(
        x, [weights[layer * len(weights) // layers] for layer in range(layers)], mask, heads, eps)},
    own_results=("encoder_forward", "encoder_backward"),
)  # fmt: skip


IN_FLOATS = "perhaps: l G / L is taken in floats, which fall short of a whole number for some l and L; use l * G // L"
GROUPS = (
    Corner(L=1, G=1, B=1, T=1, N=1, D=2, F=3),
    Corner("tiny", L=4, G=4, B=2, T=3, N=1, D=4, F=2),
    Corner("zero", padding="none", L=3, G=1, B=3, T=2, N=3, D=1, F=1),
    Corner(padding="all but one", L=7, G=5, B=4, T=4, N=2, D=2, F=4),
    Corner(padding="none", L=12, G=5, B=1, T=2, N=11, D=1, F=2),
    Corner(L=18, G=14, B=1, T=1, N=1, D=2, F=2, guess=IN_FLOATS),    # where l / (L / G) falls short
    Corner(L=22, G=22, B=1, T=1, N=1, D=4, F=2, guess=IN_FLOATS),    # and here l / L G
    Corner(L=44, G=30, B=1, T=1, N=1, D=4, F=2, guess=IN_FLOATS),    # and here l (G / L)
    Corner(L=9, G=9, B=1, T=1, N=1, D=2, F=2, guess=IN_FLOATS),      # and here l (1 / L) G
    Corner("large", L=2, G=2, B=4, T=1, N=2, D=2, F=3),
    Corner(L=4, G=3, B=1, T=2, N=1, D=3, F=2),
    Corner("again", L=3, G=3, B=2, T=3, N=2, D=2, F=3),
    Corner(L=1, G=1, B=2, T=3, N=2, D=2, F=3),
    Corner(padding="none", L=3, G=2, B=70, T=2, N=1, D=2, F=2),
)


def drawn_layers(draw):
    """L, G"""
    if corner := getattr(draw, "corner", None):
        return corner.sizes["L"], corner.sizes["G"]
    return (5, 2) if draw.first else (int(draw.integers(5, 8)), int(draw.integers(2, 5)))


class Grouped:
    """A point of L layers in G groups, and how their gradients come together."""

    def __init__(self, draw, weights=None, layers=None):
        L, G = layers or drawn_layers(draw)
        self.of = [layer * G // L for layer in range(L)]
        kind = getattr(draw, "corner", Corner()).kind
        self.twice, self.copied = kind == "again", kind == "copies"
        if weights is None:
            self.p = point(draw, lambda draw, H, F: self.spread([drawn_weights(draw, H, F) for _ in range(G)]))
        else:
            self.p = outside_point(self.spread(weights))

    def spread(self, weights):
        if self.twice:
            weights[-1] = dict(weights[0])
        if self.copied:
            weights = [copied(weights[0]) for _ in weights]
        self.weights = weights
        return [weights[group] for group in self.of]

    def fold(self, gradients):
        nothing = {name: np.zeros_like(array) for name, array in self.weights[0].items()}
        return [added([nothing] + [gradient for gradient, of in zip(gradients, self.of, strict=True) if of == group])
                for group in range(len(self.weights))]  # fmt: skip

    def passed(self, yours):
        p = self.p
        y, cache = yours.encoder_forward(p.x, self.handed_out(), p.mask, p.heads, p.eps, len(self.of))
        dx, dweights = yours.encoder_backward(p.dy, cache)
        return y, dx, dweights

    def handed_out(self):
        """In a corner the first group's weights and the last's are one object."""
        if not self.twice:
            return self.weights
        first = Given.of("filled", "first group", self.weights[0])
        return [first, *self.weights[1:-1], first]

    def others(self):
        """Wrong ways through the groups."""
        G, L = len(self.weights), len(self.of)
        ways = {
            "the groups take turns (l % G); a group is a run of layers, l G // L": [layer % G for layer in range(L)],
            "all layers have the weights of the first group": [0] * L,
            "all layers have the weights of the last group": [G - 1] * L,
            "the groups are used in reverse order": self.of[::-1],
            "one layer for each group: this is the state after G layers, not L": list(range(G)),
            "the last layers all fall to the last group: layer l has group l G // L, not l // (L // G)":
                [min(layer // (L // G), G - 1) for layer in range(L)],
            "layer l has group l G // L, not l // (L // G), which makes more groups than G":
                [layer // (L // G) % G for layer in range(L)],
            "L / G is rounded up: layer l has group l G // L": [layer // -(-L // G) for layer in range(L)],
            "L / G is rounded: layer l has group l G // L": [min(layer // round(L / G), G - 1) for layer in range(L)],
            "l G / L is rounded to the nearest, not down": [min(round(layer * G / L), G - 1) for layer in range(L)],
            "l G / L is rounded up, not down": [min(-(-layer * G // L), G - 1) for layer in range(L)],
            "layers are counted from 1: layer l has group l G // L, from 0":
                [min((layer + 1) * G // L, G - 1) for layer in range(L)],
            "the last group begins where layers are counted from the end: layer l has group l G // L":
                [G - 1 - (L - 1 - layer) * G // L for layer in range(L)],
            "the first groups get the layers that are left over": [
                group for group in range(G) for _ in range(L // G + (group < L % G))],
            "l (G - 1) / (L - 1) is taken, where l G / L is meant":
                [layer * (G - 1) // max(1, L - 1) for layer in range(L)],
            "the second half of the layers is missing": self.of[: (L + 1) // 2],
            "the last layer is missing": self.of[:-1],
            "the first layer is missing": self.of[1:],
            "the last layer is applied twice": self.of + self.of[-1:],
        }  # fmt: skip
        return {says: of for says, of in ways.items() if of and of != self.of}

    def ways(self):
        return {says: [self.weights[group] for group in of] for says, of in self.others().items()}

    def follow(self, y):
        """Go through the layers as the student's encoder did."""
        self.p = as_gone(self.p, y, self.ways())
        self.of = [next(i for i, own in enumerate(self.weights) if own is weights) for weights in self.p.sets]


@variant.check(2, "encoder", of="encoder_forward", formula="layer l has the weights of group l G // L")
@also(*GROUPS)
def encoder_value(yours, draw):
    g = Grouped(draw)
    p = g.p
    y, _ = yours.encoder_forward(p.x, g.weights, p.mask, p.heads, p.eps, len(g.of))
    matches("y", y, right_passes(p).y, "bth", lambda: suspects_of(p, g.ways()) | misled(p), limit=DEEP, given=moved(p))


@variant.check(2, "encoder dx", of="encoder_backward", formula="from the last layer to the first, each with its cache")
@also(*GROUPS)
def encoder_gradient(yours, draw):
    g = Grouped(draw)
    y, dx, _ = g.passed(yours)
    g.follow(y)
    matches("dx", dx, right_passes(g.p).dx, "bth", lambda: {says: back[0] for says, back in slips(g.p).items()},
            limit=DEEP, natural=natural(g.p),
            given=(lambda dy: passes(g.p._replace(dy=dy)).dx, {"dy": g.p.dy}))  # fmt: skip


@variant.check(4, "encoder dweights", of="encoder_backward", formula="of each group: Σ over its layers")
@also(*GROUPS, Corner("copies", L=2, G=2, B=2, T=3, N=2, D=2, F=5))
def encoder_weights(yours, draw):
    g = Grouped(draw)
    y, _, dweights = g.passed(yours)
    list_by_name("dweights", dweights, g.weights)
    g.follow(y)
    right = right_passes(g.p).gradients
    everything, expected = added(right), g.fold(right)

    def suspects(group):
        folded = wrong_sums(g.p, g.fold)
        backwards = "the list is in reverse order: the last group comes first on the way back, and last in the list"
        ways = {backwards: expected[::-1][group]} if len(expected) > 1 else {}
        ways |= {says: (lambda given=given: given()[group]) for says, given in folded.items()}
        ways["the gradients of all layers are in every group; a group has those of its own layers"] = everything
        return ways | {f"this is the gradient of group {i}": other for i, other in enumerate(expected) if i != group}

    for group in reversed(range(len(g.weights))):
        parts = [part for part, of in zip(right, g.of, strict=True) if of == group]
        named = f"dweights[{group}]"
        same_gradients(named, dweights[group], expected[group], lambda group=group: suspects(group), of_passes(parts))


@variant.check(1.5, "as transformers", of="encoder_backward", formula="AlbertModel's encoder, 4 layers in 2 groups")
def outside(yours, draw):
    g = Grouped(draw, [ramps(8, 12), ramps(8, 12, start=20)], (4, 2))
    y, dx, dweights = g.passed(yours)
    as_transformers("groups", y, dx)
    list_by_name("dweights", dweights, g.weights)
    for group in (0, 1):
        for name in COMPARED:
            named = f"dweights[{group}][{name!r}] (transformers' numbers)"
            same(named, dweights[group][name], numbers("ex06")[f"groups.{group}.{name}"], limit=DEEP)


@variant.check(0.5, "inputs untouched", of="encoder_backward")
def purity(yours, draw):
    y, dx, dweights = Grouped(draw).passed(yours)
    cache_untouched(yours)
    something(y=y, dx=dx)
    for own in dweights:
        something(dweights=own)
    yours.untouched()
