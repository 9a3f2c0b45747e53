"""Exercise 6 in groups: layer l has the weights of group l G // L."""

import numpy as np

from ..compare import same
from ..lesson import Lesson
from ..outside import numbers
from .passes import (
    COMPARED,
    DEEP,
    ENCODERS,
    added,
    as_gone,
    as_transformers,
    drawn_weights,
    list_by_name,
    outside_point,
    passes,
    point,
    ramps,
    same_gradients,
    slips,
    suspects_of,
    wrong_sums,
)

lesson = Lesson(
    "ex06-groups", "groups of layers that share", minutes=60, variant_of="ex06", withheld=ENCODERS,
    functions={"encoder_forward": "y, cache", "encoder_backward": "dx, dweights"},
)  # fmt: skip
LESSONS = [lesson]


class Grouped:
    """A point of L layers in G groups, and how their gradients come together."""

    def __init__(self, draw, weights=None, layers=None):
        L, G = layers or ((5, 2) if draw.first else (int(draw.integers(4, 7)), int(draw.integers(2, 4))))
        self.of = [layer * G // L for layer in range(L)]
        if weights is None:
            self.p = point(draw, lambda draw, H, F: self.spread([drawn_weights(draw, H, F) for _ in range(G)]))
        else:
            self.p = outside_point(self.spread(weights))

    def spread(self, weights):
        self.weights = weights
        return [weights[group] for group in self.of]

    def fold(self, gradients):
        nothing = {name: np.zeros_like(array) for name, array in self.weights[0].items()}
        return [added([nothing] + [gradient for gradient, of in zip(gradients, self.of, strict=True) if of == group])
                for group in range(len(self.weights))]  # fmt: skip

    def passed(self, yours):
        p = self.p
        y, cache = yours.encoder_forward(p.x, self.weights, p.mask, p.heads, p.eps, len(self.of))
        dx, dweights = yours.encoder_backward(p.dy, cache)
        return y, dx, dweights

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
        }  # fmt: skip
        return {says: of for says, of in ways.items() if of != self.of}

    def ways(self):
        return {says: [self.weights[group] for group in of] for says, of in self.others().items()}

    def follow(self, y):
        """Go through the layers as the student's encoder did."""
        self.p = as_gone(self.p, y, self.ways())
        self.of = [next(i for i, own in enumerate(self.weights) if own is weights) for weights in self.p.sets]


@lesson.check(2, "encoder", of="encoder_forward", formula="layer l has the weights of group l G // L")
def encoder_value(yours, draw):
    g = Grouped(draw)
    p = g.p
    y, _ = yours.encoder_forward(p.x, g.weights, p.mask, p.heads, p.eps, len(g.of))
    same("y", y, passes(p).y, "bth", suspects=suspects_of(p, g.ways()), limit=DEEP)


@lesson.check(2, "encoder dx", of="encoder_backward", formula="from the last layer to the first, each with its cache")
def encoder_gradient(yours, draw):
    g = Grouped(draw)
    y, dx, _ = g.passed(yours)
    g.follow(y)
    suspects = {says: back[0] for says, back in slips(g.p).items()}
    same("dx", dx, passes(g.p).dx, "bth", suspects=suspects, limit=DEEP)


@lesson.check(4, "encoder dweights", of="encoder_backward", formula="of each group: Σ over its layers")
def encoder_weights(yours, draw):
    g = Grouped(draw)
    y, _, dweights = g.passed(yours)
    list_by_name("dweights", dweights, g.weights)
    g.follow(y)
    suspects = wrong_sums(g.p, g.fold)
    right = passes(g.p).gradients
    everything, expected = added(right), g.fold(right)
    suspects["the gradients of all layers are in every group; a group has those of its own layers"] = (
        lambda: [everything] * len(g.weights))  # fmt: skip
    suspects["the list is in reverse order: the last group comes first on the way back, and last in the list"] = (
        lambda: expected[::-1])  # fmt: skip
    for group in reversed(range(len(g.weights))):
        suspected = {says: (lambda given=given, group=group: given()[group]) for says, given in suspects.items()}
        same_gradients(f"dweights[{group}]", dweights[group], expected[group], suspected)


@lesson.check(1.5, "as transformers", of="encoder_backward", formula="AlbertModel's encoder, 4 layers in 2 groups")
def outside(yours, draw):
    g = Grouped(draw, [ramps(8, 12), ramps(8, 12, start=20)], (4, 2))
    y, dx, dweights = g.passed(yours)
    as_transformers("groups", y, dx, g.p)
    list_by_name("dweights", dweights, g.weights)
    for group in (0, 1):
        for name in COMPARED:
            named = f"dweights[{group}][{name!r}] (transformers' numbers)"
            same(named, dweights[group][name], numbers("ex06")[f"groups.{group}.{name}"], limit=DEEP)


@lesson.check(0.5, "inputs untouched", of="encoder_backward")
def purity(yours, draw):
    Grouped(draw).passed(yours)
    yours.untouched()
