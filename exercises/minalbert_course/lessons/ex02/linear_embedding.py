"""Exercise 2: the affine map and the three tables of the embedding."""

import numpy as np

from minalbert.layers import embedding_backward, embedding_forward, linear_backward, linear_forward

from ...compare import Wrong, agrees
from ...lesson import Lesson
from ...outside import numbers as outside_numbers
from ...outside import ramp
from ..corners import DROPPED_AXIS, MANY, Corner, also, guessing, something
from ..matches import matches
from .wrong_rows import AFFINE, affine, affine_reference, shaped, wrong_biases, wrong_inputs, wrong_weights
from .wrong_tables import (
    LOOKUP,
    ROOMY,
    lookup,
    lookup_reference,
    overwritten,
    wrong_embeddings,
    wrong_positions,
    wrong_types,
    wrong_words,
)

lesson = Lesson(
    "ex02", "linear layer and embedding", minutes=60,
    functions={
        "linear_forward": "y, cache",
        "linear_backward": "dx, dw, db",
        "embedding_forward": "y, cache",
        "embedding_backward": "dids, dtypes, dword, dposition, dtoken_type",
    },
    withheld=(linear_forward, linear_backward, embedding_forward, embedding_backward),
    own_results=("linear_forward", "linear_backward", "embedding_forward", "embedding_backward"),
)  # fmt: skip

IDS, TYPES = [[3, 1, 3, 0], [3, 2, 1, 1]], [[0, 0, 1, 1], [0, 1, 1, 1]]      # of the check with PyTorch's numbers


LINEAR = "dx = dy wᵀ, dw = Σ over rows of x_i dy_o = xᵀ dy, db = Σ over rows of dy; a row for each b and t"
THREE_AXES = "perhaps: this is right for x of three axes alone; all axes but the last are rows, however many"


@lesson.check(1, "linear y", of="linear_forward", formula="y = x w + b")
@also(*AFFINE)
def linear_value(yours, draw):
    x, w, b, dy = affine(draw)
    y, _ = yours.linear_forward(x, w, b)
    expected = affine_reference(x, w, b, dy)[0]

    def suspects():
        return {"w is transposed": x @ w.T + b} if w.shape[0] == w.shape[1] else {}

    matches("y", y, expected, "bto", suspects, lambda: {"the product x w": x @ w, "b": b},
            given=(lambda x, w, b: x @ w + b, {"x": x, "w": w, "b": b}))  # fmt: skip


@lesson.check(1, "dx", of="linear_backward", formula=LINEAR)
@also(*AFFINE)
def linear_dx(yours, draw):
    x, w, b, dy = affine(draw)
    dx, _, _ = yours.forward_and_back("linear", dy, x, w, b)
    expected = affine_reference(x, w, b, dy)[1][0]
    shaped("dx", dx, expected, {(x.shape[0] * x.shape[1], x.shape[2]): "dx has the shape of x, not of its rows"})
    matches("dx", dx, expected, "bti", lambda: wrong_inputs(x, w, dy),
            given=(lambda dy, w: dy @ w.T, {"dy": dy, "w": w}))  # fmt: skip


@lesson.check(1.5, "dw", of="linear_backward", formula=LINEAR)
@also(*AFFINE)
def linear_dw(yours, draw):
    x, w, b, dy = affine(draw)
    _, dw, _ = yours.forward_and_back("linear", dy, x, w, b)
    (B, T, I), O = x.shape, len(b)
    expected = affine_reference(x, w, b, dy)[1][1]
    causes = {
        (O, I): "transposed: dyᵀ x, where xᵀ dy is meant",
        (B, I, O): "the sum over the batch is missing: w is used by all its sequences",
        (B, T, I): "this is dx, it seems: dw comes second",
    }
    shaped("dw", dw, expected, causes)
    parts = {f"row [{b}, {t}]": np.outer(x[b, t], dy[b, t]) for b in range(B) for t in range(T)}
    matches("dw", dw, expected, "io", lambda: wrong_weights(x, w, b, dy, expected), lambda: parts,
            given=(lambda x, dy: np.einsum("bti,bto->io", x, dy), {"x": x, "dy": dy}))  # fmt: skip


@lesson.check(0.5, "db", of="linear_backward", formula=LINEAR)
@also(*AFFINE)
def linear_db(yours, draw):
    x, w, b, dy = affine(draw)
    _, _, db = yours.forward_and_back("linear", dy, x, w, b)
    B, T, O = dy.shape
    expected = affine_reference(x, w, b, dy)[1][2]
    causes = {
        (T, O): "the sum over the second axis is missing: b is used at every place",
        (B, O): "the sum over the first axis is missing: b is used in every sequence",
        (): "everything is summed; each entry of b has its own gradient" if O > 1 else DROPPED_AXIS,
    }
    shaped("db", db, expected, causes)
    matches("db", db, expected, "o", lambda: wrong_biases(b, dy, expected),
            given=(lambda dy: dy.sum(axis=(0, 1)), {"dy": dy}))  # fmt: skip


@lesson.check(0.5, "other leading axes", of="linear_forward", formula="x: (..., I), whatever stands for the dots")
def leading_axes(yours, draw):
    R, S, T, I, O = draw.sizes(R=3, S=2, T=4, I=5, O=6, least=2)
    w, b = draw.matrix(I, O), draw.gain(O)
    for axes in ((R,), (1,), (1, S, T), (S, 1, R, 2)):
        x, dy = draw.normal(*axes, I), draw.normal(*axes, O)
        x.flat[:: I + 1] = 0                         # rows with a zero have a gradient for it, too
        x[1:2], x[2:3] = 0, x[:1]                    # a row of zeros has y = b, and equal rows count each
        w[0], b[0] = 0, 0
        dy.flat[::O + 1] = 0                         # and such entries no gradient; others of their rows may
        y, cache = yours.linear_forward(x, w, b)
        expected, gradients = affine_reference(x, w, b, dy)
        agrees(f"y for x of shape {x.shape}", y, expected, "linear_forward")
        for name, mine, right in zip(("dx", "dw", "db"), yours.linear_backward(dy, cache), gradients, strict=True):
            with guessing(THREE_AXES if axes == (R,) and np.shape(mine) != right.shape else ""):
                agrees(f"{name} for x of shape {x.shape}", mine, right, "linear_backward")


def table_gradients(yours, given):
    return yours.forward_and_back("embedding", given[5], *given[:5])


TABLES = "each row of a table gets the sum of dy over all places (b, t) that looked it up"


@lesson.check(1, "embedding y", of="embedding_forward", formula="y[b, t] = word[ids] + position[t] + token_type[types]")
@also(*LOOKUP)
def embedding_value(yours, draw):
    given = ids, types, word, position, token_type, _ = lookup(draw)
    y, _ = yours.embedding_forward(*given[:5])
    expected = lookup_reference(*given)[0]
    mine = np.broadcast_to(position[: ids.shape[1]], expected.shape)
    terms = {"word[ids]": word[ids], "position[t]": mine, "token_type[types]": token_type[types]}
    matches("y", y, expected, "bte", lambda: wrong_embeddings(*given[:5], expected), lambda: terms,
            given=(lambda **tables: embedding_forward(ids, types, **tables)[0],
                   {"word": word, "position": position, "token_type": token_type}))  # fmt: skip


@lesson.check(1.5, "dword", of="embedding_backward", formula=f"dword[ids[b, t]] += dy[b, t]: {TABLES}")
@also(*ROOMY)
def word_gradient(yours, draw):
    given = ids, _, word, _, _, dy = lookup(draw)
    _, _, dword, _, _ = table_gradients(yours, given)
    expected = lookup_reference(*given)[1][2]
    causes = {dy.shape: "this is a gradient for each place, not yet added up into the rows of the table"}
    shaped("dword", dword, expected, causes)
    parts = {f"place [{b}, {t}]": overwritten(word, ids[b, t], dy[b, t]) for b, t in np.ndindex(ids.shape)}
    matches("dword", dword, expected, "ve", lambda: wrong_words(ids, word, dy, expected), lambda: parts,
            given=(lambda dy: lookup_reference(*given[:5], dy)[1][2], {"dy": dy}))  # fmt: skip


@lesson.check(1, "dposition", of="embedding_backward", formula=f"dposition[t] = Σ_b dy[b, t]: {TABLES}")
@also(*ROOMY, Corner(B=3, T=4, E=2, V=5, M=4))
def position_gradient(yours, draw):
    given = _, _, _, position, _, dy = lookup(draw)
    _, _, _, dposition, _ = table_gradients(yours, given)
    B, T, E = dy.shape
    expected = lookup_reference(*given)[1][3]
    causes = {
        (T, E): "rows of the table after the last position in use have a gradient, too: it is zero",
        (B, T, E): "the sum over the batch is missing: all sequences use the same positions",
    }
    shaped("dposition", dposition, expected, causes)
    parts = np.stack([overwritten(position, np.arange(T), part) for part in dy])
    terms = {f"sequence {b}": part for b, part in enumerate(parts)}
    matches("dposition", dposition, expected, "me", lambda: wrong_positions(position, dy, expected), lambda: terms,
            given=(lambda dy: lookup_reference(*given[:5], dy)[1][3], {"dy": dy}))  # fmt: skip


@lesson.check(0.5, "dtoken_type", of="embedding_backward", formula=f"dtoken_type[types[b, t]] += dy[b, t]: {TABLES}")
@also(*ROOMY)
def type_gradient(yours, draw):
    given = _, types, _, _, token_type, dy = lookup(draw)
    *_, dtoken_type = table_gradients(yours, given)
    expected = lookup_reference(*given)[1][4]
    parts = {f"place [{b}, {t}]": overwritten(token_type, types[b, t], dy[b, t]) for b, t in np.ndindex(types.shape)}
    matches("dtoken_type", dtoken_type, expected, "ke", lambda: wrong_types(types, token_type, dy, expected),
            lambda: parts, given=(lambda dy: lookup_reference(*given[:5], dy)[1][4], {"dy": dy}))  # fmt: skip


@lesson.check(0.5, "none for whole numbers", of="embedding_backward", formula="dids = dtypes = None")
@also(*ROOMY)
def none_for_whole_numbers(yours, draw):
    given = lookup(draw)
    dids, dtypes, dword, _, _ = table_gradients(yours, given)
    if not hasattr(draw, "corner"):
        something(dword=dword)
    for name, value in (("dids", dids), ("dtypes", dtypes)):
        if value is not None:
            raise Wrong(f"{name} is {'an array' if hasattr(value, 'shape') else 'not None'}; it must be None",
                        "a whole number cannot move a little, so there is no derivative")  # fmt: skip


@lesson.check(0.5, "as PyTorch", of="embedding_backward", formula="PyTorch's linear and embedding, and their autograd")
def outside(yours, draw):
    kept = outside_numbers("ex02")
    y, cache = yours.linear_forward(ramp(2, 3, 4, start=1), ramp(4, 5, start=2), ramp(5, start=3))
    gradients = dict(zip(("dx", "dw", "db"), yours.linear_backward(ramp(2, 3, 5, start=4), cache), strict=True))
    for name, answer in ({"y": y} | gradients).items():
        agrees(f"{name} (PyTorch's numbers)", answer, kept[name], f"linear_{'forward' if name == 'y' else 'backward'}")

    tables = (ramp(5, 3, start=5), ramp(6, 3, start=6), ramp(2, 3, start=7))
    y, cache = yours.embedding_forward(np.array(IDS), np.array(TYPES), *tables)
    gradients = yours.embedding_backward(ramp(2, 4, 3, start=8), cache)
    agrees("y of the embedding (PyTorch's numbers)", y, kept["embedded"], "embedding_forward")
    for name, answer in zip(("dword", "dposition", "dtoken_type"), gradients[2:], strict=True):
        agrees(f"{name} (PyTorch's numbers)", answer, kept[name], "embedding_backward")


@lesson.check(0.5, "inputs untouched", of="linear_forward")
@also(Corner(B=1, T=3, E=4, V=5, M=4), Corner(B=1, T=3, E=2, V=5, M=3),
      Corner(B=MANY // 9, T=3, O=3, V=5, M=4))  # fmt: skip
def purity(yours, draw):
    x, w, b, dy = affine(draw)
    y, cache = yours.linear_forward(x, w, b)
    dx, dw, db = yours.linear_backward(dy, cache)
    yours.forward_and_back("linear", x, x, np.eye(x.shape[-1]), np.zeros(x.shape[-1]))
    _, _, dword, dposition, _ = table_gradients(yours, lookup(draw))
    something(y=y, dx=dx, dw=dw, db=db, dword=dword, dposition=dposition)
    yours.untouched()
