"""Exercise 12: the same code on two machines. The second, `minalbert_course.pretended_gpu`, is strict."""


import numpy as np

from minalbert.backend import array_module, cuda_missing, device_of, scatter_add, to_device, to_host
from minalbert.layers import gelu_backward, gelu_erf_forward, gelu_forward, layer_norm_forward

from ...compare import Wrong, equal, same, shown
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers, ramp
from ..checks import Later
from ..many_rows import beyond_16_bits
from .device_draws import EPS, beside_large, gelu_points, long_rows, many_rows, norm_points, updates_of
from .device_mistakes import gelu_mistakes, mean_mistakes, norm_mistakes, norm_of_squares, row_laws, scatter_mistakes
from .devices import (
    ONCE,
    as_pytorch,
    beyond_16_bits_there,
    both_live,
    compare_beside_large,
    compare_dtypes,
    explained,
    here,
    keeps_dtype,
    on_device,
    there,
)


def gelu(x):
    return gelu_forward(x)[0]


def layer_norm(x, gain, bias, eps):
    return layer_norm_forward(x, gain, bias, eps)[0]


lesson = Lesson(
    "ex12", "the same code on two machines", minutes=45,
    functions={
        "library": "name",
        "gelu": "y",
        "layer_norm": "y",
        "scatter_add": "table",
        "to_host": "array",
        "mean_loss": "loss",
    },
    withheld=(array_module, device_of, to_device, to_host, scatter_add, cuda_missing, gelu_forward, gelu_backward,
              gelu_erf_forward, layer_norm_forward),
    references={"gelu": gelu, "layer_norm": layer_norm}, usual_references={"mean_loss": np.mean},
)  # fmt: skip

@lesson.check(1, "which library", of="library", formula='"numpy" or "cupy": the library that the array belongs to')
def which_library(yours, draw):
    x = draw.normal(*draw.sizes(B=2, H=3))
    with explained():
        equal("library of a NumPy array, where CuPy is not there,", yours.library(x), "numpy")
        equal("library of an array of the device", yours.library(on_device(x)), "cupy")
        cause = "perhaps: both live in one process: ask the array, not whether CuPy is there"
        equal("library of a NumPy array", yours.library(x), "numpy", cause)
        for number, kind in ((0.5, "float32"), (0.5, "float64"), (3, "int64"), (True, "bool")):
            given = Given.of("a single number", number, kind)
            equal(f"library of a number np.{kind}", yours.library(given), "numpy", "single numbers are NumPy's")
        mapped = yours.library(Given.of("an array of a file", 3))
        equal("library of a np.memmap", mapped, "numpy", "an array that lies in a file is NumPy's: take isinstance")
        kinds = {"whole numbers": np.arange(3), "a single number": np.array(2.0), "nothing": np.ones(0),
                 "float32": x.astype(np.float32), "float16": x.astype(np.float16), "truth values": x > 0}  # fmt: skip
        for kind, array in kinds.items():
            no_part = "seen: dtype, shape and size play no part"
            equal(f"library of an array of the device ({kind})", yours.library(on_device(array)), "cupy", no_part)
            equal(f"library of a NumPy array ({kind})", yours.library(array), "numpy", cause)


# GELU

GELU = "y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))"


@lesson.check(0.5, "GELU on the host", of="gelu", formula=GELU)
def gelu_here(yours, draw):
    with explained():
        both_live(yours)
        for x in gelu_points(draw):
            y = here("y", yours.gelu(x))
            if x.ndim:                               # NumPy makes numbers of arrays without an axis
                keeps_dtype("y", y, x)
            same("y", y, gelu(x), suspects=Later(gelu_mistakes, np.atleast_1d(x)))
        compare_tails(lambda x: here("y", yours.gelu(x)), draw)
        same("y of no number", here("y", yours.gelu(np.zeros((0, 5)))), np.zeros((0, 5)))
    yours.untouched()


def compare_tails(of, draw):
    """From 4 on y is nearly x, and nearly 0 below -4. float32 loses there what 1 + tanh leaves."""
    x = draw.uniform(4.0, 4.4, 6)
    cut = {"beyond some number y is x: it is not quite": x}, {"beyond some number y is 0: it is not quite": 0 * x}
    same("y where it is nearly x", of(x), gelu(x), suspects=cut[0], limit=1e-6)
    same("y where it is nearly 0", of(-x), gelu(-x), suspects=cut[1], limit=0.02)


@lesson.check(1.5, "GELU on the device", of="gelu", formula=GELU)
def gelu_there(yours, draw):
    with explained():
        for x in gelu_points(draw):
            compare_there(yours, x)
        compare_tails(lambda x: there("y", yours.gelu(on_device(x))), draw)
        compare_there(yours, np.array(draw.normal()))                # a single number
    yours.untouched()


def compare_there(yours, x):
    y = keeps_dtype("y", there("y", yours.gelu(on_device(x))), x)
    points = np.atleast_1d(x)
    same("y", y, gelu(points).reshape(x.shape), suspects=Later(gelu_mistakes, points))


@lesson.check(0.5, "GELU in float32", of="gelu", formula="y has the dtype of x")
def gelu_float32(yours, draw):
    x = draw.normal(*draw.sizes(T=4, F=5)).astype(np.float32)
    with explained():
        both_live(yours)
        for array in (x, x.astype(np.float16)) if draw.first else (x,):
            compare_dtypes("y", yours.gelu, [array], (), gelu(x.astype(float)))


# Layer norm

NORM = "y = gain (x - mean) / √(var + eps) + bias, mean and var = mean((x - mean)²) over the last axis"


@lesson.check(0.5, "layer norm on the host", of="layer_norm", formula=NORM)
def norm_here(yours, draw):
    with explained():
        both_live(yours)
        for point in (*norm_points(draw), *long_rows(draw)):
            y = keeps_dtype("y", here("y", yours.layer_norm(*point)), point[0])
            same("y", y, layer_norm_forward(*point)[0], suspects=Later(norm_mistakes, *point))
        if draw.first:                               # in another order in memory sums are rounded otherwise
            *arrays, eps = next(norm_points(draw))
            x, *rest = (array.astype(np.float32) for array in (arrays[0] + 1000, *arrays[1:]))
            suspects = {"the variance is mean(x²) - mean², which has few digits where the mean is large":
                        norm_of_squares(x, *rest, eps)}  # fmt: skip
            y = here("y", yours.layer_norm(x, *rest, eps))
            right = layer_norm(x.astype(float), *rest, eps)
            same("y of an x near 1000, in float32,", y, right, suspects=suspects, limit=2e-3)
    yours.untouched()


@lesson.check(1.5, "layer norm on the device", of="layer_norm", formula=NORM)
def norm_there(yours, draw):
    with explained():
        for *arrays, eps in norm_points(draw):
            y = there("y", yours.layer_norm(*map(on_device, arrays), eps))
            right = layer_norm_forward(*arrays, eps)[0]
            same("y", keeps_dtype("y", y, arrays[0]), right, suspects=Later(norm_mistakes, *arrays, eps))
    yours.untouched()


@lesson.check(0.5, "layer norm in float32", of="layer_norm", formula="y has the dtype of x")
def norm_float32(yours, draw):
    *arrays, eps = next(norm_points(draw))
    with explained():
        both_live(yours)
        for dtype in (np.float32, np.float16) if draw.first else (np.float32,):
            narrow = [array.astype(dtype) for array in arrays]
            compare_dtypes("y", yours.layer_norm, narrow, [eps], layer_norm(*arrays, eps), start=arrays[-1])


# Rows that are named twice

SCATTER = "table[v] = the sum of all updates[r] with rows[r] = v"


def compare_scattered(table, shape, rows, updates):
    keeps_dtype("table", table, updates)
    right = scatter_add(shape, rows, updates)
    suspects = Later(scatter_mistakes, shape, rows, updates)
    same("table", table, right, "vh", row_laws(rows, right, "sum"), suspects=suspects)


@lesson.check(0.5, "scatter_add on the host", of="scatter_add", formula=SCATTER)
def scatter_here(yours, draw):
    with explained():
        both_live(yours)
        for shape, rows, updates in updates_of(draw):
            compare_scattered(here("table", yours.scatter_add(shape, rows, updates)), shape, rows, updates)
        compare_beside_large(yours.scatter_add, scatter_add, beside_large(draw))
        if yours.has_narrow_integers:
            given = many_rows(draw)
            beyond_16_bits("table", lambda: here("table", yours.scatter_add(*given)), scatter_add(*given))
    yours.untouched()


@lesson.check(1, "scatter_add on the device", of="scatter_add", formula=SCATTER)
def scatter_there(yours, draw):
    for shape, rows, updates in updates_of(draw):
        with explained():
            table = there("table", yours.scatter_add(shape, on_device(rows), on_device(updates)))
        compare_scattered(table, shape, rows, updates)
    if yours.has_narrow_integers:
        beyond_16_bits_there(yours.scatter_add, scatter_add, many_rows(draw))
    yours.untouched()


# Back to the host


@lesson.check(1, "to the host", of="to_host", formula="a NumPy array, wherever x is")
def to_the_host(yours, draw):
    y = draw.normal(*draw.sizes(B=2, H=3))
    with explained(ONCE):
        both_live(yours)
        kinds = y, y.astype(np.float32), np.arange(4), np.array(2.5), y[None, :1], y > 0, 0 * y, 1e4 * y, y[:0]
        kinds += (np.array([np.inf, -np.inf, 0.5], np.float16),)
        compare_read(yours, kinds, "on the device", lambda x: on_device(x, transfers=1))
        compare_read(yours, kinds, "on the host", lambda x: x)       # not before: it would show what is to be read
        compare_read(yours, (y, 2 * y), "on the device that held other numbers before", on_the_same)


def on_the_same(x):
    return Given.of("the same on the device", x, 1)


def compare_read(yours, kinds, where, placed):
    for x, array in zip(kinds, yours.each("to_host", [(placed(x),) for x in kinds]), strict=True):
        if not isinstance(array := here("array", array), np.ndarray):
            raise Wrong(f"of an x {where}, to_host returned {shown(array)}; it must be a NumPy array",
                        "a return is missing" if array is None else None)  # fmt: skip
        if array.dtype != x.dtype:
            raise Wrong(f"of an x {where} of {x.dtype}, to_host returned {array.dtype}; it must be the same",
                        "seen: what is read must be as it was on the device")  # fmt: skip
        equal(f"array of an x {where}", array, x, "seen: what is read must be as it was on the device")


@lesson.check(1, "one transfer", of="mean_loss", formula="the mean of all losses, added where they are, read once")
def one_transfer(yours, draw):
    with explained(ONCE):
        both_live(yours)
        cases = [draw.uniform(2.0, 9.0, steps) for steps in (25, *([300] if draw.first else []))]
        for steps in (1, 2, *draw.sizes(steps=5, least=2)):
            losses = draw.uniform(2.0, 9.0, steps)
            cases += losses, 10 * losses.astype(np.float32)
        cases += 0 * losses, 0.01 * losses, 4 - losses               # the last as of log probabilities
        cases += np.array([2.5, 4.0, 2.5, 2.5, 7.25]), np.array([2.0, 0.0, 5.0, 0.0])
        compare_means(yours, cases, "device", lambda losses: Given.of("numbers on the device", losses, 1))
        compare_means(yours, cases, "host", lambda losses: list(map(np.array, losses)))
        for bad in (np.nan, np.inf):
            compare_spoilt(yours, losses, bad)
    yours.untouched()


def compare_means(yours, cases, where, placed):
    for losses, loss in zip(cases, yours.each("mean_loss", [(placed(losses),) for losses in cases]), strict=True):
        if isinstance(loss := here("loss", loss), np.ndarray):
            raise Wrong(f"loss is an array of shape {loss.shape}; it must be one number", "take float() of it")
        suspects = Later(mean_mistakes, losses) if len(losses) > 1 else None
        same(f"loss, of losses on the {where}", loss, losses.mean(dtype=float), suspects=suspects)


def compare_spoilt(yours, losses, bad):
    """A run that has failed must be seen in its log."""
    losses = np.append(losses, [bad, 3.0])
    loss = float(here("loss", yours.mean_loss(Given.of("numbers on the device", losses, 1))))
    if np.isfinite(loss):
        raise Wrong(f"loss, of losses of which one is {bad}, is {loss:g}; it must be {bad}",
                    "a loss that is not finite is left out, or made another number; their mean is not finite, either")


@lesson.check(0.5, "as PyTorch", of="gelu", formula="PyTorch's gelu, layer_norm and index_add")
def outside(yours, draw):
    x, gain, bias, rows = ramp(3, 4, scale=2), ramp(4, start=5), ramp(4, start=9), np.array([1, 0, 1])
    asked = {"gelu": (x,), "layer_norm": (x, gain, bias, EPS), "scatter_add": ((3, 4), rows, x)}
    stored = numbers("ex12")
    as_pytorch(yours, asked, stored, scatter_add=row_laws(rows, stored["scatter_add"], "sum"))
