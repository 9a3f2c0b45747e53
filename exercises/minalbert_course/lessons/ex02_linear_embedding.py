"""Exercise 2: the affine map and the three tables of the embedding."""

import numpy as np

from minalbert.layers import embedding_backward, embedding_forward, linear_backward, linear_forward

from ..compare import Wrong, agrees, numbers, same
from ..lesson import Lesson
from ..outside import numbers as outside_numbers
from ..outside import ramp

lesson = Lesson(
    "ex02", "linear layer and embedding", minutes=60,
    functions={
        "linear_forward": "y, cache",
        "linear_backward": "dx, dw, db",
        "embedding_forward": "y, cache",
        "embedding_backward": "dids, dtypes, dword, dposition, dtoken_type",
    },
    withheld=(linear_forward, linear_backward, embedding_forward, embedding_backward),
)  # fmt: skip
LESSONS = [lesson]

IDS, TYPES = [[3, 1, 3, 0], [3, 2, 1, 1]], [[0, 0, 1, 1], [0, 1, 1, 1]]      # of the check with PyTorch's numbers


def affine(draw):
    """x, w, b, dy"""
    B, T, I, O = draw.sizes(B=2, T=3, I=4, O=5, least=2)
    return draw.normal(B, T, I), draw.matrix(I, O), draw.gain(O), draw.normal(B, T, O)


def affine_reference(x, w, b, dy):
    y, cache = linear_forward(x, w, b)
    return y, linear_backward(dy, cache)


def shaped(name, yours, expected, causes):
    """Wrong, with its cause, where the shape tells it. causes: {shape: words}"""
    shape = numbers(name, yours, expected.shape).shape
    if shape != expected.shape and shape in causes:
        raise Wrong(f"{name} has shape {shape}; it must be {expected.shape}", causes[shape])


LINEAR = "dx = dy wᵀ, dw = Σ over rows of x_i dy_o = xᵀ dy, db = Σ over rows of dy; a row for each b and t"


@lesson.check(1, "linear y", of="linear_forward", formula="y = x w + b")
def linear_value(yours, draw):
    x, w, b, dy = affine(draw)
    y, _ = yours.linear_forward(x, w, b)
    suspects = {"b is not added": x @ w, "b is subtracted": x @ w - b}
    same("y", y, affine_reference(x, w, b, dy)[0], "bto", suspects=suspects)


@lesson.check(1, "dx", of="linear_backward", formula=LINEAR)
def linear_dx(yours, draw):
    x, w, b, dy = affine(draw)
    _, cache = yours.linear_forward(x, w, b)
    dx, _, _ = yours.linear_backward(dy, cache)
    same("dx", dx, affine_reference(x, w, b, dy)[1][0], "bti")


@lesson.check(1.5, "dw", of="linear_backward", formula=LINEAR)
def linear_dw(yours, draw):
    x, w, b, dy = affine(draw)
    _, cache = yours.linear_forward(x, w, b)
    _, dw, _ = yours.linear_backward(dy, cache)
    (B, T, I), O = x.shape, len(b)
    expected = affine_reference(x, w, b, dy)[1][1]
    causes = {
        (O, I): "transposed: dyᵀ x, where xᵀ dy is meant",
        (B, I, O): "the sum over the batch is missing: w is used by all its sequences",
    }
    shaped("dw", dw, expected, causes)
    suspects = {
        "the mean over rows is taken, where the sum is meant": expected / (B * T),
        "the mean over the batch is taken, where the sum is meant": expected / B,
        "only the last sequence of the batch reached it: add, do not assign": x[-1].T @ dy[-1],
        "only the first sequence of the batch reached it": x[0].T @ dy[0],
    }
    same("dw", dw, expected, "io", suspects=suspects)


@lesson.check(0.5, "db", of="linear_backward", formula=LINEAR)
def linear_db(yours, draw):
    x, w, b, dy = affine(draw)
    _, cache = yours.linear_forward(x, w, b)
    _, _, db = yours.linear_backward(dy, cache)
    B, T, O = dy.shape
    expected = affine_reference(x, w, b, dy)[1][2]
    causes = {
        (T, O): "the sum over the second axis is missing: b is used at every place",
        (B, O): "the sum over the first axis is missing: b is used in every sequence",
        (): "everything is summed; each entry of b has its own gradient",
    }
    shaped("db", db, expected, causes)
    suspects = {"the mean over rows is taken, where the sum is meant": expected / (B * T)}
    same("db", db, expected, "o", suspects=suspects)


@lesson.check(0.5, "other leading axes", of="linear_forward", formula="x: (..., I), whatever stands for the dots")
def leading_axes(yours, draw):
    R, S, T, I, O = draw.sizes(R=3, S=2, T=4, I=5, O=6, least=2)
    w, b = draw.matrix(I, O), draw.gain(O)
    for axes in ((R,), (R, S, T)):
        x, dy = draw.normal(*axes, I), draw.normal(*axes, O)
        y, cache = yours.linear_forward(x, w, b)
        expected, gradients = affine_reference(x, w, b, dy)
        agrees(f"y for x of shape {x.shape}", y, expected, "linear_forward")
        for name, mine, right in zip(("dx", "dw", "db"), yours.linear_backward(dy, cache), gradients, strict=True):
            agrees(f"{name} for x of shape {x.shape}", mine, right, "linear_backward")


def lookup(draw):
    """ids, types, word, position, token_type, dy. Some words come twice, in one sequence and in two; some never."""
    B, T, E, V, M = draw.sizes(B=2, T=5, E=4, V=7, M=8, least=3)
    V, M = V + 2, max(M, T + 2)
    ids, types = draw.integers(0, V - 1, B, T), draw.integers(0, 2, B, T)
    ids[0, 1], ids[1, 0] = ids[0, 0], ids[0, 0]
    types[0, 0], types[-1, -1] = 0, 1
    return ids, types, draw.normal(V, E), draw.normal(M, E), draw.normal(2, E), draw.normal(B, T, E)


def lookup_reference(ids, types, word, position, token_type, dy):
    y, cache = embedding_forward(ids, types, word, position, token_type)
    return y, embedding_backward(dy, cache)


def table_gradients(yours, given):
    _, cache = yours.embedding_forward(*given[:5])
    return yours.embedding_backward(given[5], cache)


def overwritten(table, rows, dy):
    result = np.zeros_like(table)
    result[rows] = dy
    return result


TABLES = "each row of a table gets the sum of dy over all places (b, t) that looked it up"


@lesson.check(1, "embedding y", of="embedding_forward", formula="y[b, t] = word[ids] + position[t] + token_type[types]")
def embedding_value(yours, draw):
    given = ids, types, _, position, token_type, _ = lookup(draw)
    T = ids.shape[1]
    y, _ = yours.embedding_forward(*given[:5])
    expected = lookup_reference(*given)[0]
    suspects = {
        "the position is not added": expected - position[:T],
        "the token type is not added": expected - token_type[types],
        "positions begin at 1, where they must begin at 0": expected - position[:T] + position[1 : T + 1],
        "the table of positions is looked up with ids": lambda: expected - position[:T] + position[ids % len(position)],
        "the table of token types is looked up with ids": lambda: expected - token_type[types] + token_type[ids % 2],
    }
    same("y", y, expected, "bte", suspects=suspects)


@lesson.check(1.5, "dword", of="embedding_backward", formula=f"dword[ids[b, t]] += dy[b, t]: {TABLES}")
def word_gradient(yours, draw):
    given = ids, _, word, _, _, dy = lookup(draw)
    _, _, dword, _, _ = table_gradients(yours, given)
    expected = lookup_reference(*given)[1][2]
    causes = {dy.shape: "this is a gradient for each place, not yet added up into the rows of the table"}
    shaped("dword", dword, expected, causes)
    counts = np.maximum(1, np.bincount(ids.ravel(), minlength=len(word)))
    suspects = {
        "a word that comes more than once kept only its last gradient: both = and += on table[ids] write each row "
        "once, however often it is named": overwritten(word, ids, dy),
        "the mean over a word's places is taken, where the sum is meant": expected / counts[:, None],
    }
    same("dword", dword, expected, "ve", suspects=suspects)


@lesson.check(1, "dposition", of="embedding_backward", formula=f"dposition[t] = Σ_b dy[b, t]: {TABLES}")
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
    suspects = {
        "the mean over the batch is taken, where the sum is meant": expected / B,
        "only the last sequence of the batch reached it: add, do not assign":
            overwritten(position, np.arange(T), dy[-1]),
        "positions begin at 1, where they must begin at 0": np.roll(expected, 1, axis=0),
    }  # fmt: skip
    same("dposition", dposition, expected, "me", suspects=suspects)


@lesson.check(0.5, "dtoken_type", of="embedding_backward", formula=f"dtoken_type[types[b, t]] += dy[b, t]: {TABLES}")
def type_gradient(yours, draw):
    given = _, types, _, _, token_type, dy = lookup(draw)
    *_, dtoken_type = table_gradients(yours, given)
    suspects = {
        "a type that comes more than once kept only its last gradient: both = and += on table[types] write each row "
        "once, however often it is named": overwritten(token_type, types, dy)
    }
    same("dtoken_type", dtoken_type, lookup_reference(*given)[1][4], "ke", suspects=suspects)


@lesson.check(0.5, "none for whole numbers", of="embedding_backward", formula="dids = dtypes = None")
def none_for_whole_numbers(yours, draw):
    dids, dtypes, *_ = table_gradients(yours, lookup(draw))
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
def purity(yours, draw):
    x, w, b, dy = affine(draw)
    _, cache = yours.linear_forward(x, w, b)
    yours.linear_backward(dy, cache)
    table_gradients(yours, lookup(draw))
    yours.untouched()
