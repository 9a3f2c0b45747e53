"""The variant of exercise 12: other functions, in which an `if` on an array would be a transfer."""

import numpy as np

from minalbert.optim import clip
from minalbert.train import watch

from ...compare import Wrong, same, shown
from ...given import Given
from ...lesson import Lesson
from ...outside import numbers, ramp
from ..checks import Later
from ..many_rows import beyond_16_bits
from ..two_models import compare_place, plain
from . import on_cupy
from .device_draws import beside_large, gelu_points, many_rows, updates_of
from .device_mistakes import row_laws
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
from .guard_mistakes import (
    guard_mistakes,
    guarded_step,
    mean_mistakes,
    mistaken_places,
    scatter_mean,
    silu,
    silu_mistakes,
)

base = on_cupy.lesson
SAME = ("library", "to_host")

variant = Lesson(
    "ex12-guard", "the same code on two machines, and no question to the device", minutes=50, variant_of="ex12",
    functions={
        "library": "name",
        "silu": "y",
        "guarded_step": "w",
        "scatter_mean": "table",
        "to_host": "array",
        "first_bad": "index",
    },
    withheld=(*base.withheld, clip.first_bad, watch.locate_nonfinite),
    references={"silu": silu, "guarded_step": guarded_step, "scatter_mean": scatter_mean},
)  # fmt: skip
variant.checks += [check for check in base.checks if check.of == "library"]

SILU = "y = x / (1 + e^(-x))"


def compare_silu(x, y):
    if x.ndim:                                       # NumPy makes numbers of arrays without an axis
        keeps_dtype("y", y, x)
    same("y", y, silu(x), suspects=Later(silu_mistakes, np.atleast_1d(x)))
    if x.max() <= -800 and np.abs(y).max() > 1e-12:
        raise Wrong(f"y of x = {shown(x[0])} is {shown(y[0])}; it must be 0",
                    "x is cut off before the formula, or a small number is added: far below zero y is 0")


def silu_points(draw):
    yield from gelu_points(draw)
    yield np.array([-900.0, -40.0, 0.5, 900.0])      # e^900 is infinite
    yield np.array([-1e200, -1e12, -800.0])          # y is 0, and not x times something tiny


@variant.check(0.5, "SiLU on the host", of="silu", formula=SILU)
def silu_here(yours, draw):
    with explained():
        both_live(yours)
        for x in silu_points(draw):
            compare_silu(x, here("y", yours.silu(x)))
    yours.untouched()


@variant.check(1.5, "SiLU on the device", of="silu", formula=SILU)
def silu_there(yours, draw):
    with explained():
        for x in silu_points(draw):
            compare_silu(x, there("y", yours.silu(on_device(x))))
        single = np.array(draw.normal())             # not on the host, where NumPy makes numbers of such arrays
        compare_silu(single, there("y", yours.silu(on_device(single))))


@variant.check(0.5, "SiLU in float32", of="silu", formula="y has the dtype of x")
def silu_float32(yours, draw):
    x = draw.normal(*draw.sizes(T=4, F=5)).astype(np.float32)
    with explained():
        both_live(yours)
        for array in (x, x.astype(np.float16)) if draw.first else (x,):
            compare_dtypes("y", yours.silu, [array], (), silu(x.astype(float)))


# A step that may be left out

GUARD = "w - rate g if all of g is finite; otherwise w, all of it"


def steps(draw):
    """w, g, rate: finite gradients, large and small ones, too, and gradients with one or more that are not"""
    T, F = draw.sizes(T=4, F=5, least=2)
    for scale, rate in ((1.0, 0.1), (1e6, 1e-3), (1.0, 3.0), (0.0, 0.5)):
        yield draw.normal(T, F), draw.normal(T, F, scale=scale), rate
    for bad in (np.nan, np.inf, -np.inf):
        for place in ((0, 0), (-1, -1), (1, slice(None)), slice(None)):
            g = draw.normal(T, F)
            g[place] = bad
            yield draw.normal(T, F), g, 0.1
    yield draw.normal(F), draw.normal(F), 0.2
    yield draw.normal(T, F), np.where(draw.normal(T, F) > 0, 1.5e308, -1e308), 0.1     # no sum of them is finite
    g = draw.normal(1, F, 2)
    g[0, 0], g[0, -1] = np.inf, -np.inf              # their sum is NaN, their mean is not above any limit
    yield draw.normal(1, F, 2), g, 0.2
    g = np.linspace(-1, 1, F)
    g[1] = np.finfo(g.dtype).max                     # the largest number is finite, too
    yield np.ones(F), g, 2.0**-1020
    yield np.array([0.0, 2.0, 0.0]), np.array([1.0, -2.0, -3.0]), 0.5


def compare_step(w, g, rate, found):
    same("w", keeps_dtype("w", found, w), guarded_step(w, g, rate), suspects=Later(guard_mistakes, w, g, rate))


def compare_spoilt(w, g, rate, found):
    """The step of a w with one infinite entry, for the other entries: g is finite, so the step is made."""
    others = np.isfinite(w)
    known = {"whether the new w is finite is asked; it must be g": w[others]}
    same("w, but for its infinite entry,", keeps_dtype("w", found, w)[others], (w - rate * g)[others], suspects=known)


@variant.check(0.5, "a guarded step on the host", of="guarded_step", formula=GUARD)
def step_here(yours, draw):
    with explained():
        both_live(yours)
        for w, g, rate in steps(draw):
            compare_step(w, g, rate, here("w", yours.guarded_step(w, g, rate)))
        w, g, rate = next(steps(draw))
        w[0, 0] = np.inf
        compare_spoilt(w, g, rate, here("w", yours.guarded_step(w, g, rate)))
    yours.untouched()


@variant.check(1.5, "a guarded step on the device", of="guarded_step", formula=GUARD)
def step_there(yours, draw):
    for w, g, rate in steps(draw):
        with explained("an if on an array, float(), int() and .get() read from the device: let xp.where choose"):
            found = there("w", yours.guarded_step(on_device(w), on_device(g), rate))
        compare_step(w, g, rate, found)


@variant.check(0.5, "a guarded step in float32", of="guarded_step", formula="w keeps its dtype")
def step_float32(yours, draw):
    usual, gradient, rate = next(steps(draw))
    with explained():
        both_live(yours)
        for dtype in (np.float32, np.float16) if draw.first else (np.float32,):
            narrow = [usual.astype(dtype), gradient.astype(dtype)]
            compare_dtypes("w", yours.guarded_step, narrow, [rate], usual - rate * gradient, start=narrow[0])


# Rows that are named several times

SCATTER = "table[v] = the mean of all updates[r] with rows[r] = v, or 0"


def many_updates(draw):
    """shape, rows, updates, for the host alone: a loop over so many rows asks the device some thousand times."""
    if draw.once:
        yield (1, 1), np.zeros(2500, int), draw.normal(2500, 1)      # float16 counts to 2048


def compare_means(table, shape, rows, updates):
    keeps_dtype("table", table, updates)
    right = scatter_mean(shape, rows, updates)
    suspects = Later(mean_mistakes, shape, rows, updates)
    same("table", table, right, "vh", row_laws(rows, right, "mean"), suspects=suspects)


@variant.check(0.5, "scatter_mean on the host", of="scatter_mean", formula=SCATTER)
def scatter_here(yours, draw):
    with explained():
        both_live(yours)
        for given in (*updates_of(draw), *many_updates(draw)):
            compare_means(here("table", yours.scatter_mean(*given)), *given)
        compare_beside_large(yours.scatter_mean, scatter_mean, beside_large(draw))
        if yours.has_narrow_integers:
            given = many_rows(draw)
            beyond_16_bits("table", lambda: here("table", yours.scatter_mean(*given)), scatter_mean(*given))
    yours.untouched()


@variant.check(1, "scatter_mean on the device", of="scatter_mean", formula=SCATTER)
def scatter_there(yours, draw):
    for shape, rows, updates in updates_of(draw):
        with explained():
            table = there("table", yours.scatter_mean(shape, on_device(rows), on_device(updates)))
        compare_means(table, shape, rows, updates)
    if yours.has_narrow_integers:
        beyond_16_bits_there(yours.scatter_mean, scatter_mean, many_rows(draw))


# Back to the host

variant.checks += [check for check in base.checks if check.of == "to_host"]


def histories(draw):
    """Losses of some steps, and the index of the first that is not finite."""
    for steps in (*draw.sizes(steps=6, least=4), 2, 200):
        losses = draw.uniform(2.0, 9.0, steps)
        yield losses, None
        for bad, places in ((np.nan, [steps - 1]), (np.inf, [0, 1]), (-np.inf, [1]), (np.nan, [steps // 2, steps - 1])):
            found = losses.copy()
            found[places] = bad
            yield found, places[0]
    yield np.array([3.0]), None
    yield np.array([np.nan]), 0
    yield np.array([1e30, np.inf, 2.0, np.nan, -1e30]), 1
    yield np.array([0.0, -2.0, 1e300]), None
    yield np.array([2.0, 2.0, np.inf, 2.0, np.inf]), 2
    yield np.array([1.5e308, 1.2e308, 3.0]), None    # their sum is infinite


@variant.check(1, "one transfer", of="first_bad", formula="the first index that is not finite, or None; read once")
def one_transfer(yours, draw):
    found = {"device": [], "host": []}
    cases = list(histories(draw))
    with explained(ONCE):
        both_live(yours)
        for losses, _ in cases:
            for where, given in (("device", Given.of("numbers on the device", losses, 1)),
                                 ("host", [np.array(loss) for loss in losses])):  # fmt: skip
                found[where].append(plain(here("index", yours.first_bad(given))))
    for where, answers in found.items():
        known = [mistaken_places(losses) for losses, _ in cases]
        cause = next((says for says in known[0] if [places[says] for places in known] == answers), None)
        for (losses, place), answer in zip(cases, answers, strict=True):
            compare_place(f"first_bad of {losses.tolist()} on the {where}"[:90], answer, place, cause)
    yours.untouched()


@variant.check(0.5, "as PyTorch", of="silu", formula="PyTorch's silu, and scatter_reduce with mean")
def outside(yours, draw):
    x, rows, stored = ramp(3, 4, scale=2), np.array([1, 0, 1]), numbers("ex12_guard")
    asked = {"silu": (x,), "scatter_mean": ((3, 4), rows, x)}
    as_pytorch(yours, asked, stored, scatter_mean=row_laws(rows, stored["scatter_mean"], "mean"))
