"""Exercise 5: softmax and attention."""

import functools
import math

import numpy as np

from minalbert.gradcheck.diagnose import Law
from minalbert.layers import (
    attention_backward,
    attention_forward,
    key_mask,
    log_softmax,
    multi_head_backward,
    multi_head_forward,
    softmax,
    softmax_backward,
    softmax_forward,
)

from ...compare import LIMIT, Wrong, same
from ...lesson import Lesson
from ...outside import numbers, ramp
from ..corners import MANY, Corner, also, guessing, something, upstream
from ..matches import matches
from .padded_keys import (
    PADDED,
    compare_all_padded,
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
    hole,
    probabilities,
    scores_followed,
    softmax_way_back,
    transposed,
    wrong_contexts,
    wrong_probabilities,
    wrong_score_gradients,
    wrong_softmax,
    wrong_ways_back,
)

lesson = Lesson(
    "ex05", "softmax and attention", minutes=75,
    functions={
        "softmax_forward": "y, cache",
        "softmax_backward": "dx",
        "attention_forward": "context, cache",
        "attention_backward": "dq, dk, dv, dmask",
    },
    withheld=(softmax, log_softmax, softmax_forward, softmax_backward, attention_forward, attention_backward,
              multi_head_forward, multi_head_backward),
    own_results=("softmax_forward", "softmax_backward", "attention_forward", "attention_backward"),
)  # fmt: skip

SUM_TO_ZERO = Law(
    "the rows of dx do not sum to zero, as they must: adding a constant to a row of x changes nothing. Perhaps the "
    "term - y Σ_j dy_j y_j is missing, or has another factor",
    lambda dx: dx.sum(axis=-1),
)
PADDING_LEFT_OUT = (
    "perhaps: the probabilities of padding, or its values, are set to 0; where all keys are padding, too, a row of "
    "probabilities sums to 1"
)
SCORES = "dq = dS k / √D, dk = dSᵀ q / √D, with dS = P (dP - Σ_j dP_j P_j) and dP = dcontext vᵀ"
ROUNDED = 0.05                                       # of LIMIT is what float32 loses of one product
ROWS = (
    Corner(B=1, T=1, K=1),
    Corner("tiny", B=1, T=1, K=4),
    Corner("large", B=2, T=3, K=1),
    Corner("large", B=4, T=1, K=2),
    Corner("zero", B=3, T=4, K=3),
    Corner("zero", B=1, T=1, K=4),
    Corner("tiny", B=3, T=2, K=65),
    Corner(B=1, T=1, K=300),
    Corner(B=3, T=3, K=3),
    Corner(B=70, T=2, K=2),
)
HEADS = (
    Corner(padding="none", B=1, N=1, T=1, D=1),
    Corner("tiny", B=2, N=3, T=4, D=1),
    Corner("large", B=4, N=1, T=3, D=2),
    Corner("large", B=3, N=2, T=1, D=4),
    Corner("zero", padding="none", B=3, N=4, T=2, D=3),
    Corner(padding="all but one", B=1, N=4, T=4, D=16),
    Corner(padding="none", B=1, N=2, T=41, D=3),
    Corner(B=3, N=3, T=3, D=3),
    Corner(padding="none", B=2, N=2, T=5, D=1),
    Corner(padding="none", B=1, N=20, T=2, D=1),
    Corner(padding="none", B=70, N=1, T=2, D=1),
    Corner(padding="none", B=1, N=1, T=65, D=2),   # of blocks of 64, say, the last has one token
)
LONG = Corner(padding="none", B=1, N=1, T=129, D=2)


@lesson.check(1, "softmax", of="softmax_forward", formula="y_i = exp(x_i) / Σ_j exp(x_j), over the last axis")
@also(*ROWS)
def softmax_value(yours, draw):
    drawn = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    for x in (drawn, drawn[0], drawn[0, 0], drawn[None], -drawn[None, :, None]):
        y, _ = yours.softmax_forward(x)
        suspects = (lambda x=x: wrong_softmax(x)) if x.ndim > 1 else None
        given = softmax, {"x": x}
        matches("y" if x.ndim == 3 else f"y for x of shape {x.shape}", y, softmax(x), suspects=suspects, given=given)


@lesson.check(0.5, "large numbers", of="softmax_forward", formula="y is the same for x and x - max(x)")
def softmax_large(yours, draw):
    compare_large(yours.softmax_forward, softmax, wrong_softmax, draw)


def compare_large(forward, right, wrong, draw):
    x = np.round(64 * draw.normal(*draw.sizes(T=3, K=4, least=2))) / 64          # float32 loses nothing near 2000
    spread = np.round(2000 * np.linspace(-1, 1, len(x)))[:, None]
    wide = np.where(np.arange(x.shape[-1]) % 2, x + 1500, x)
    cases = {"numbers near 2000": x + 2000, "numbers near -2000": x - 2000, "numbers near -60": x - 60,
             "rows from -2000 to 2000": x + spread,
             "a row with 0 and 1500": wide}  # fmt: skip
    for name, x in cases.items():
        y, _ = forward(x)
        if np.shape(y) == x.shape and not np.isfinite(y).all():
            raise Wrong(f"y of {name} is not finite: exp of a large number overflows, or a sum of tiny ones is 0",
                        hole(list(cases.values()), x, np.isfinite(y)))  # fmt: skip
        cut = {"large numbers are cut to a limit, so that these count alike": right(np.clip(x, -700, 700))}
        matches(f"y of {name}", y, right(x), "tk", lambda x=x, cut=cut: wrong(x) | cut)


@lesson.check(1.5, "softmax dx", of="softmax_backward", formula="dx = y (dy - Σ_j dy_j y_j)")
@also(*ROWS)
def softmax_gradient(yours, draw):
    given = draw.normal(*draw.sizes(B=2, T=5, K=4), scale=2)
    above = upstream(draw, *given.shape)
    for place in ((), (0,), (0, 0), (None,), (None, slice(None), None)):
        x, dy = given[place], above[place]
        x = -x if x.ndim == 5 else np.round(x) if x.ndim == 4 else x         # equal numbers in a row
        dx = yours.forward_and_back("softmax", dy, x)
        suspects = (lambda x=x, dy=dy: wrong_ways_back(dy, softmax(x))) if x.ndim > 1 else None
        name = "dx" if x.ndim == 3 else f"dx for x of shape {x.shape}"
        natural = ROUNDED * np.abs(dy * softmax(x)).max()
        matches(name, dx, softmax_way_back(dy, softmax(x)), suspects=suspects, laws=(SUM_TO_ZERO,), natural=natural,
                given=(softmax_way_back, {"dy": dy, "y": softmax(x)}))  # fmt: skip
    compare_small(yours.softmax_forward, yours.softmax_backward, softmax, draw)


def compare_small(forward, backward, right, draw):
    """Large gradients of small probabilities."""
    x = np.array([0.0, -20.0, -21.0, -22.0]) + draw.normal(2, 4)
    dy = 1e9 * np.array([0.0, 1.0, 2.0, -1.0]) + draw.normal(2, 4)
    with guessing("perhaps: small probabilities are cut off, or something is added to them"):
        _, cache = forward(x)
        same("dx where probabilities near 1e-9 have a dy near 1e9", backward(dy, cache),
             softmax_way_back(dy, right(x)), "tk", limit=1e-3)  # fmt: skip


def point(draw):
    """q, k, v, mask and dcontext; the last keys of some sequences are padding."""
    B, N, T, D = draw.sizes(B=2, N=3, T=5, D=6, least=2)
    q, k, v = (draw.normal(B, N, T, D) for _ in range(3))
    return q, k, v, drawn_mask(draw, B, T), upstream(draw, B, N, T, D)


def constants(q):
    _, N, T, D = q.shape
    others = {"√T": T, "√(N D)": N * D, "√N": N}
    return {"√D": math.sqrt(D), "D": D} | {f"√D/{name}": math.sqrt(D / size) for name, size in others.items()}


def reference(q, k, v, mask, dcontext):
    context, cache = attention_forward(q, k, v, mask)
    return context, attention_backward(dcontext, cache)


@lesson.check(1.5, "context", of="attention_forward", formula="context = softmax(q kᵀ / √D + mask) v")
@also(*HEADS, LONG)
def attention_value(yours, draw):
    q, k, v, mask, _ = far_keys(draw, point(draw))
    context, _ = yours.attention_forward(q, k, v, mask)
    expected = reference(q, k, v, mask, v)[0]
    matches("context", context, expected, "bntd", lambda: wrong_contexts(q, k, v, mask), natural=np.abs(v).max(),
            given=(contexts, {"q": q, "k": k, "v": v, "mask": mask}))  # fmt: skip
    if not hasattr(draw, "corner"):
        q, k, mask = 10 * q, meeting(10 * q, 10 * k, mask), np.maximum(mask, PADDED)
        name, right = "context where scores are above 100", contexts(q, k, v, mask)
        matches(name, yours.attention_forward(q, k, v, mask)[0], right, "bntd", limit=100 * LIMIT)
        compare_with_holes(yours.attention_forward, contexts, *point(draw)[:4])


def contexts(q, k, v, mask):
    return probabilities(q, k, mask) @ v


def gradient(place, **given):
    return reference(**given)[1][place]


def named(*given):
    return dict(zip(("q", "k", "v", "mask", "dcontext"), given, strict=True))


@lesson.check(1.5, "dv", of="attention_backward", formula="dv = Pᵀ dcontext")
@also(*HEADS)
def value_gradient(yours, draw):
    q, k, v, mask, dcontext = far_keys(draw, point(draw))
    _, _, dv, _ = yours.forward_and_back("attention", dcontext, q, k, v, mask)
    P = probabilities(q, k, mask)
    suspects = {
        "the probabilities are not transposed in dv = Pᵀ dcontext": P @ dcontext,
        "the probabilities are missing: this is dcontext": dcontext,
        "v is used where dcontext is meant": transposed(P) @ v,
    }

    def follows():
        return {says: transposed(wrong) @ dcontext for says, wrong in wrong_probabilities(q, k, mask).items()}

    matches("dv", dv, reference(q, k, v, mask, dcontext)[1][2], "bntd", lambda: suspects, known=constants(q),
            follows=follows, given=(functools.partial(gradient, 2), named(q, k, v, mask, dcontext)))  # fmt: skip


def natural(q, k, v, mask, dcontext):
    """The size of the terms that dq and dk are a difference of: those of padding are zero."""
    k = np.where(transposed(mask) < 0, 0.0, k)
    return float(max(np.abs(q).max(), np.abs(k).max()) * np.abs(v).max() * np.abs(dcontext).max())


@lesson.check(1.5, "dq", of="attention_backward", formula=SCORES)
@also(*HEADS, LONG)
def query_gradient(yours, draw):
    given = q, k, v, mask, dcontext = far_keys(draw, point(draw))
    dq, _, _, _ = yours.forward_and_back("attention", dcontext, q, k, v, mask)
    _, (expected, dk, dv, _) = reference(*given)

    def suspects():
        dS = softmax_way_back(dcontext @ transposed(v), probabilities(q, k, mask)) / math.sqrt(q.shape[-1])
        return {says: dS @ k for says, dS in wrong_score_gradients(*given).items()} | {
            "q is used where k is meant": dS @ q, "v is used where k is meant": dS @ v,
            "dS is transposed: dq = dS k / √D": transposed(dS) @ k,
            "this is dk: dq comes first": dk, "this is dv: dq comes first": dv,
        }  # fmt: skip

    def follows():
        return {says: dS @ k for says, dS in scores_followed(*given).items()}

    matches("dq", dq, expected, "bntd", suspects, known=constants(q), natural=natural(*given), follows=follows,
            given=(functools.partial(gradient, 0), named(*given)))  # fmt: skip


@lesson.check(1, "dk", of="attention_backward", formula=SCORES)
@also(*HEADS)
def key_gradient(yours, draw):
    given = q, k, v, mask, dcontext = far_keys(draw, point(draw))
    _, dk, _, _ = yours.forward_and_back("attention", dcontext, q, k, v, mask)
    law = Law(
        "Σ over keys of dk is not zero, as it must be: one vector added to all keys changes no probability. Perhaps "
        "dS is not transposed in dk = dSᵀ q, or something is amiss in softmax's backward pass",
        lambda dk: dk.sum(axis=-2),
    )
    _, (dq, expected, dv, _) = reference(*given)

    def suspects():
        dS = softmax_way_back(dcontext @ transposed(v), probabilities(q, k, mask)) / math.sqrt(q.shape[-1])
        return {says: transposed(dS) @ q for says, dS in wrong_score_gradients(*given).items()} | {
            "k is used where q is meant": transposed(dS) @ k, "v is used where q is meant": transposed(dS) @ v,
            "dS is not transposed in dk = dSᵀ q": dS @ q,
            "this is dq: dk comes second": dq, "this is dv: dk comes second": dv,
        }  # fmt: skip

    def follows():
        return {says: transposed(dS) @ q for says, dS in scores_followed(*given).items()}

    matches("dk", dk, expected, "bntd", suspects, natural=natural(*given), laws=(law,), known=constants(q),
            follows=follows, given=(functools.partial(gradient, 1), named(*given)))  # fmt: skip


@lesson.check(0.5, "padding", of="attention_backward", formula="where P is 0, dk and dv are 0; never NaN")
def padding(yours, draw):
    q, k, v, mask, dcontext = given = point(draw)
    compare_padded(yours.attention_forward, yours.attention_backward, given, of="attention_forward")
    compare_padded_later(yours.attention_forward, attention_forward, given, of="attention_forward")
    everything = np.full_like(mask, -10000.0)
    v = v + 10                                       # whose weighted means are far from zero
    context, cache = yours.attention_forward(q, k, v, everything)
    if not np.isfinite(np.asarray(context, float)).all():
        raise Wrong("context is not finite where all keys are padding", "perhaps: the mask is made -inf somewhere, or "
                    "no maximum is subtracted before exp", of="attention_forward")  # fmt: skip
    middle, reach = v.mean(axis=-2, keepdims=True), np.ptp(v, axis=-2, keepdims=True)
    if np.shape(context) != v.shape or not (np.abs(context - middle) <= reach + 1e-3).all():
        cause = None if np.any(context) else PADDING_LEFT_OUT
        raise Wrong("context is no weighted mean of the values where all keys are padding", cause, "attention_forward")
    compare_all_padded(yours.attention_backward, dcontext, cache)
    compare_far_mask(yours.attention_forward, contexts, q, k, v, of="attention_forward")
    compare_beside_padding(yours.attention_forward, yours.attention_backward, given, of="attention_forward")


@lesson.check(0.5, "as PyTorch", of="attention_backward", formula="PyTorch's scaled_dot_product_attention")
def outside(yours, draw):
    q, k, v, dcontext = (ramp(2, 2, 3, 4, start=start) for start in (1, 2, 3, 4))
    mask = key_mask(np.array([[1, 1, 1], [1, 1, 0]]), np.float64)
    context, cache = yours.attention_forward(q, k, v, mask)
    compare_with_torch(context, yours.attention_backward(dcontext, cache), numbers("ex05"))


def compare_with_torch(context, gradients, found):
    *gradients, dmask = gradients
    for name, answer in zip(("context", "dq", "dk", "dv"), (context, *gradients), strict=True):
        same(f"{name} (PyTorch's numbers)", answer, found[name], "bntd")
    if dmask is not None:
        raise Wrong("dmask is not None", "the mask is a constant, which has no gradient")


@lesson.check(0.5, "inputs untouched", of="attention_forward")
@also(Corner(B=1, T=3, D=MANY // 6, rows=MANY // 6))
def purity(yours, draw):
    q, k, v, mask, dcontext = point(draw)
    rows, K = draw.sizes(rows=2, K=4, least=2)
    y, cache = yours.softmax_forward(draw.normal(rows, 3, K))
    dx = yours.softmax_backward(draw.normal(rows, 3, K), cache)
    context, cache = yours.attention_forward(q, k, v, mask)
    dq, dk, dv, _ = yours.attention_backward(dcontext, cache)
    something(y=y, dx=dx, context=context, dq=dq, dk=dk, dv=dv)
    yours.untouched()
