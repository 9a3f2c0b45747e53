"""The variant of exercise 5: heads in groups share keys (Ainslie et al., 2023, arXiv:2305.13245)."""

import functools
import math

import numpy as np

from minalbert.layers import key_mask

from ...compare import LIMIT, Wrong, same
from ...lesson import Lesson
from ...outside import numbers, ramp
from ..corners import MANY, Corner, also, guessing, something, upstream
from ..matches import matches
from . import attention
from .attention import (
    ROUNDED,
    ROWS,
    SCORES,
    compare_large,
    compare_small,
    constants,
    named,
    natural,
)
from .grouped_heads import (
    folded,
    grouped_backward,
    grouped_forward,
    groups_of,
    other_groups,
    softmax1,
    softmax1_forward,
    wrong_folds,
    wrong_softmax1,
)
from .padded_keys import (
    PADDED,
    compare_beside_padding,
    compare_far_mask,
    compare_padded,
    compare_padded_later,
    compare_with_holes,
    drawn_mask,
    far_keys,
    meeting,
)
from .wrong_attention import (
    probabilities,
    scores_followed,
    softmax_way_back,
    transposed,
    wrong_contexts,
    wrong_probabilities,
    wrong_score_gradients,
    wrong_ways_back,
)

variant = Lesson(
    "ex05-groups", "grouped heads, which may attend to nothing", minutes=80, variant_of="ex05",
    functions={
        "softmax1_forward": "y, cache",
        "softmax1_backward": "dx",
        "grouped_forward": "context, cache",
        "grouped_backward": "dq, dk, dv, dmask",
    },
    withheld=attention.lesson.withheld,
    references={"softmax1_forward": softmax1_forward, "softmax1_backward": softmax_way_back,
                "grouped_forward": grouped_forward, "grouped_backward": grouped_backward},
    own_results=("softmax1_forward", "softmax1_backward", "grouped_forward", "grouped_backward"),
)  # fmt: skip

ADDED_FIRST = "the heads of a group are summed before the product; form each head's product first, then the sum"
NOTHING_SEEN = (
    "each head must give nothing where nothing is to be seen; perhaps the mask is left out there, or the 1 of the "
    "divisor is missing, or made small with the scores"
)
HEADS = (
    Corner(padding="none", B=1, G=1, R=1, T=1, D=1),
    Corner("tiny", B=2, G=3, R=1, T=4, D=1),
    Corner("large", B=4, G=1, R=2, T=3, D=2),
    Corner("zero", padding="none", B=3, G=2, R=2, T=2, D=3),
    Corner(padding="all but one", B=1, G=2, R=2, T=4, D=16),
    Corner(padding="none", B=1, G=1, R=3, T=41, D=3),
    Corner(B=3, G=3, R=3, T=3, D=3),
    Corner(padding="none", B=2, G=5, R=1, T=5, D=1),
    Corner(padding="none", B=1, G=7, R=3, T=2, D=1),
    Corner(padding="none", B=70, G=1, R=1, T=2, D=1),
    Corner(padding="none", B=1, G=2, R=49, T=2, D=1),  # 49 * (2 / 98) is less than 1
    Corner(padding="none", B=1, G=22, R=2, T=1, D=1),  # 30 / 44 * 22 is less than 15
    Corner(padding="none", B=1, G=1, R=1, T=65, D=2),  # of blocks of 64, say, the last has one token
)
LONG = Corner(padding="none", B=1, G=1, R=1, T=129, D=2)


@variant.check(1, "softmax", of="softmax1_forward", formula="y_i = exp(x_i) / (1 + Σ_j exp(x_j)), over the last axis")
@also(*ROWS)
def softmax_value(yours, draw):
    drawn = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    for x in (drawn, drawn[0], drawn[0, 0], drawn[None], drawn - 6, -drawn[None, :, None]):
        y, _ = yours.softmax1_forward(x)
        suspects = functools.partial(wrong_softmax1, x) if x.ndim > 1 else None
        name = "y" if x.ndim == 3 else f"y for x of shape {x.shape}"
        matches(name, y, softmax1(x), suspects=suspects, given=(softmax1, {"x": x}))


@variant.check(0.5, "large numbers", of="softmax1_forward", formula="y_i = exp(x_i - m) / (exp(-m) + Σ_j exp(x_j - m))")
def softmax_large(yours, draw):
    something(y=yours.softmax1_forward(draw.normal(2, 3))[0])
    compare_large(yours.softmax1_forward, softmax1, wrong_softmax1, draw)


@variant.check(1.5, "softmax dx", of="softmax1_backward", formula="dx = y (dy - Σ_j dy_j y_j)")
@also(*ROWS)
def softmax_gradient(yours, draw):
    given = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    above = upstream(draw, *given.shape)
    for place in ((), (0,), (0, 0), (None,), (None, slice(None), None)):
        x, dy = given[place], above[place]
        dx, y = yours.forward_and_back("softmax1", dy, x), softmax1(x)
        name = "dx" if x.ndim == 3 else f"dx for x of shape {x.shape}"
        suspects = functools.partial(wrong_rows_back, dy, y) if x.ndim > 1 else None
        matches(name, dx, softmax_way_back(dy, y), suspects=suspects, natural=ROUNDED * np.abs(dy * y).max(),
                given=(softmax_way_back, {"dy": dy, "y": y}))  # fmt: skip
    compare_small(yours.softmax1_forward, yours.softmax1_backward, softmax1, draw)


def wrong_rows_back(dy, y):
    whole = y / y.sum(axis=-1, keepdims=True)
    return wrong_ways_back(dy, y) | {
        "this is the gradient of the usual softmax, whose rows sum to one": softmax_way_back(dy, whole),
        "the sum Σ_j dy_j y_j is divided by Σ_j y_j, which is not one here":
            y * (dy - (dy * whole).sum(axis=-1, keepdims=True)),
        "the term of the score 0 is subtracted, too; nothing of it reaches the loss":
            y * (dy - (dy * y).sum(axis=-1, keepdims=True) - (1 - y.sum(axis=-1, keepdims=True))),
    }  # fmt: skip


def point(draw):
    """q, k, v, mask and dcontext; the last keys of some sequences are padding."""
    B, G, R, T, D = draw.sizes(B=2, G=2, R=3, T=5, D=4, least=2)
    q, k, v = draw.normal(B, G * R, T, D), draw.normal(B, G, T, D), draw.normal(B, G, T, D)
    return q, k, v, drawn_mask(draw, B, T), upstream(draw, *q.shape)


def of_heads(q, k, v):
    """Keys and values of each head, and its group."""
    of = groups_of(q.shape[1], k.shape[1])
    return k[:, of], v[:, of], of


def reference(q, k, v, mask, dcontext):
    context, cache = grouped_forward(q, k, v, mask)
    return context, grouped_backward(dcontext, cache)


def gradient(place, **given):
    return reference(**given)[1][place]


def suspected_contexts(q, k, v, mask):
    own_k, own_v, _ = of_heads(q, k, v)
    found = wrong_contexts(q, own_k, own_v, mask, softmax1, wrong_softmax1)
    for says, of in other_groups(q.shape[1], k.shape[1]).items():
        P = probabilities(q, k[:, of], mask, softmax1)
        found |= {says: P @ v[:, of], f"of the keys alone: {says}": P @ own_v,
                  f"of the values alone: {says}": probabilities(q, own_k, mask, softmax1) @ v[:, of]}  # fmt: skip
    return found


@variant.check(1.5, "context", of="grouped_forward", formula="context = softmax₁(q kᵀ / √D + mask) v, group n G // N")
@also(*HEADS, LONG)
def attention_value(yours, draw):
    q, k, v, mask, _ = far_keys(draw, point(draw))
    context, _ = yours.grouped_forward(q, k, v, mask)
    matches("context", context, contexts(q, k, v, mask), "bntd", lambda: suspected_contexts(q, k, v, mask),
            natural=np.abs(v).max(), given=(contexts, {"q": q, "k": k, "v": v, "mask": mask}))  # fmt: skip
    if not hasattr(draw, "corner"):
        q, k, mask = 10 * q, meeting(10 * q, 10 * k, mask), np.maximum(mask, PADDED)
        name, right = "context where scores are above 100", contexts(q, k, v, mask)
        matches(name, yours.grouped_forward(q, k, v, mask)[0], right, "bntd", limit=100 * LIMIT)
        compare_with_holes(yours.grouped_forward, contexts, *point(draw)[:4])
        compare_in_turn(yours.grouped_forward, draw)


def compare_in_turn(forward, draw):
    """So many heads in other groups, one call after the other."""
    q, mask = draw.normal(1, 6, 2, 3), np.zeros((1, 1, 1, 2))
    for groups in (2, 3, 6, 1):
        k, v = draw.normal(1, groups, 2, 3), draw.normal(1, groups, 2, 3)
        with guessing("perhaps: which group a head is in is kept from an earlier call"):
            same(f"context of 6 heads in {groups} groups", forward(q, k, v, mask)[0], contexts(q, k, v, mask), "bntd")


def contexts(q, k, v, mask):
    return grouped_forward(q, k, v, mask)[0]


@variant.check(1.5, "dv", of="grouped_backward", formula="dv = Σ over the heads of the group of Pᵀ dcontext")
@also(*HEADS)
def value_gradient(yours, draw):
    q, k, v, mask, dcontext = given = far_keys(draw, point(draw))
    _, _, dv, _ = yours.forward_and_back("grouped", dcontext, q, k, v, mask)
    own_k, own_v, of = of_heads(q, k, v)
    P, G = probabilities(q, own_k, mask, softmax1), k.shape[1]

    def suspects():
        each = transposed(P) @ dcontext
        return wrong_folds(each, of, G) | {
            "the probabilities are not transposed in dv = Pᵀ dcontext": folded(P @ dcontext, of, G),
            "the probabilities are missing: this is dcontext": folded(dcontext, of, G),
            "v is used where dcontext is meant": folded(transposed(P) @ own_v, of, G),
            ADDED_FIRST: transposed(folded(P, of, G)) @ folded(dcontext, of, G),
        }

    def follows():
        wrong = wrong_probabilities(q, own_k, mask, softmax1, wrong_softmax1)
        return {says: folded(transposed(other) @ dcontext, of, G) for says, other in wrong.items()}

    matches("dv", dv, reference(*given)[1][2], "bgtd", suspects, known=constants(q), follows=follows,
            given=(functools.partial(gradient, 2), named(*given)))  # fmt: skip


@variant.check(1.5, "dq", of="grouped_backward", formula=SCORES)
@also(*HEADS, LONG)
def query_gradient(yours, draw):
    q, k, v, mask, dcontext = given = far_keys(draw, point(draw))
    dq, _, _, _ = yours.forward_and_back("grouped", dcontext, q, k, v, mask)
    own_k, own_v, _ = of_heads(q, k, v)
    spread = q, own_k, own_v, mask, dcontext

    def suspects():
        dS, wrong = score_gradient(*spread), wrong_score_gradients(*spread, softmax1, wrong_rows_back)
        found = {says: other @ own_k for says, other in wrong.items()} | {
            "q is used where k is meant": dS @ q, "v is used where k is meant": dS @ own_v,
            "dS is transposed: dq = dS k / √D": transposed(dS) @ own_k,
        }  # fmt: skip
        others = other_groups(q.shape[1], k.shape[1])
        return found | {f"on the way back, {says}": dS @ k[:, of] for says, of in others.items()}

    def follows():
        return {says: dS @ own_k for says, dS in scores_followed(*spread, softmax1, wrong_softmax1).items()}

    matches("dq", dq, reference(*given)[1][0], "bntd", suspects, known=constants(q), natural=natural(*spread),
            follows=follows, given=(functools.partial(gradient, 0), named(*given)))  # fmt: skip


def score_gradient(q, k, v, mask, dcontext):
    """dS / √D of each head"""
    return softmax_way_back(dcontext @ transposed(v), probabilities(q, k, mask, softmax1)) / math.sqrt(q.shape[-1])


@variant.check(1, "dk", of="grouped_backward", formula=f"of each head {SCORES}; dk: Σ over the heads of the group")
@also(*HEADS)
def key_gradient(yours, draw):
    q, k, v, mask, dcontext = given = far_keys(draw, point(draw))
    _, dk, _, _ = yours.forward_and_back("grouped", dcontext, q, k, v, mask)
    own_k, own_v, of = of_heads(q, k, v)
    spread, G = (q, own_k, own_v, mask, dcontext), k.shape[1]

    def suspects():
        dS, wrong = score_gradient(*spread), wrong_score_gradients(*spread, softmax1, wrong_rows_back)
        return wrong_folds(transposed(dS) @ q, of, G) | {
            says: folded(transposed(other) @ q, of, G) for says, other in wrong.items()} | {
            "k is used where q is meant": folded(transposed(dS) @ own_k, of, G),
            "v is used where q is meant": folded(transposed(dS) @ own_v, of, G),
            "dS is not transposed in dk = dSᵀ q": folded(dS @ q, of, G),
            "this is dv: dk comes second": reference(*given)[1][2],
            ADDED_FIRST: transposed(folded(dS, of, G)) @ folded(q, of, G),
        }  # fmt: skip

    def follows():
        wrong = scores_followed(*spread, softmax1, wrong_softmax1)
        return {says: folded(transposed(dS) @ q, of, G) for says, dS in wrong.items()}

    matches("dk", dk, reference(*given)[1][1], "bgtd", suspects, natural=natural(*spread), known=constants(q),
            follows=follows, given=(functools.partial(gradient, 1), named(*given)))  # fmt: skip


@variant.check(0.5, "padding", of="grouped_backward", formula="where P is 0, dk and dv are 0; all padding: context 0")
def padding(yours, draw):
    q, k, v, mask, _ = given = point(draw)
    compare_padded(yours.grouped_forward, yours.grouped_backward, given, of="grouped_forward")
    compare_padded_later(yours.grouped_forward, grouped_forward, given, of="grouped_forward")
    for far in (-1e9, -10000.0):
        context, cache = yours.grouped_forward(q, k, v, np.full_like(mask, far))
        try:
            same(f"context where all keys are padding, with {far:g}", context, np.zeros_like(q), "bntd")
        except Wrong as error:
            raise Wrong(error.seen, NOTHING_SEEN, of="grouped_forward") from None
    dq, dk, dv, _ = yours.grouped_backward(given[-1], cache)
    for name, gradient, argument in (("dq", dq, q), ("dk", dk, k), ("dv", dv, v)):
        same(f"{name} where all keys are padding", gradient, np.zeros_like(argument))

    def of_other_keys(q, k, v, mask):
        return yours.grouped_forward(q, np.where(transposed(mask) < 0, 0.0, k), v, mask)[0]

    compare_far_mask(yours.grouped_forward, of_other_keys, q, k, v, of="grouped_forward")
    compare_beside_padding(yours.grouped_forward, yours.grouped_backward, given, of="grouped_forward")


@variant.check(0.5, "as PyTorch", of="grouped_backward", formula="PyTorch's scaled_dot_product_attention, enable_gqa")
def outside(yours, draw):
    q, dcontext = (ramp(2, 4, 3, 4, start=start) for start in (1, 4))
    k, v = (ramp(2, 2, 3, 4, start=start) for start in (2, 3))
    mask = key_mask(np.array([[1, 1, 1], [1, 1, 0]]), np.float64)
    context, cache = yours.grouped_forward(q, k, v, mask)
    attention.compare_with_torch(context, yours.grouped_backward(dcontext, cache), numbers("ex05_groups"))


@variant.check(0.5, "inputs untouched", of="grouped_forward")
@also(Corner(B=1, T=3, D=MANY // 6, rows=MANY // 6))
def purity(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    rows, K = draw.sizes(rows=2, K=4, least=2)
    y, cache = yours.softmax1_forward(draw.normal(rows, 3, K))
    dx = yours.softmax1_backward(draw.normal(rows, 3, K), cache)
    context, cache = yours.grouped_forward(q, k, v, mask)
    dq, dk, dv, _ = yours.grouped_backward(dcontext, cache)
    something(y=y, dx=dx, context=context, dq=dq, dk=dk, dv=dv)
    yours.untouched()
