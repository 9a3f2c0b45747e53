"""Exercise 12: the same code on two machines. The second is pretended (`course.pretended_gpu`), and strict."""

import math
from contextlib import contextmanager, suppress

import numpy as np

from minalbert.backend import array_module, cuda_missing, device_of, scatter_add, to_device, to_host
from minalbert.layers import gelu_backward, gelu_erf_forward, gelu_forward, layer_norm_forward

from ..compare import Wrong, equal, same, shown
from ..given import Given
from ..lesson import Lesson
from ..makers import ex12 as ex12  # what this exercise hands out
from ..outside import numbers, ramp
from ..pretended_gpu import pretending
from ..yours import NotWritten, OnDevice, Stopped

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
)  # fmt: skip
LESSONS = [lesson]

EPS = 0.1
CAUSES = {
    "TransferError": "the formula must stay on the device: each .get(), float(), int(), bool() or if on an array of "
                     "it is a transfer that waits",
    "__array_ufunc__": "a function of np was given an array of the device; take the function of its own library, "
                       "xp = array_module(x)",
    "Implicit conversion": "np.asarray, np.array or another function of np was given an array of the device; use xp's",
    "met one of the device": "an array was made by np (np.zeros, np.arange, ...) where xp was meant, or xp is not the "
                             "library of the function's argument",
}  # fmt: skip


@contextmanager
def explained():
    """What stopped the function, with what that usually means."""
    with pretending():
        try:
            yield
        except Stopped as error:
            cause = next((cause for part, cause in CAUSES.items() if part in str(error)), None)
            raise Wrong(str(error), cause) from error


def on_device(array, transfers=0):
    return Given.of("on the device", array, transfers)


def there(name, value):
    """The numbers of what must have stayed on the device."""
    if isinstance(value, OnDevice):
        return value.host
    kind = "a NumPy array" if isinstance(value, np.ndarray) else shown(value)
    raise Wrong(f"{name} is {kind}; x is on the device, so {name} must be, too",
                "it was copied to the host, or a return is missing")  # fmt: skip


def here(name, value):
    if isinstance(value, OnDevice):
        raise Wrong(f"{name} is an array of the device; it must be one of NumPy's", "read it with .get()")
    return value


def both_live(yours):
    """From here on CuPy is there, as it is in a process that has used a GPU once."""
    with suppress(NotWritten, Stopped, Wrong):
        yours.library(on_device(np.zeros(1)))


def stays_float32(name, value):
    dtype = getattr(value, "dtype", None)
    if dtype != np.float32:
        cause = ("a constant is a number of NumPy's (np.sqrt(2 / np.pi) is float64, and wins); use Python's, as "
                 "math.sqrt gives them")  # fmt: skip
        message = f"{name} is {dtype or shown(value)}; x is float32, so {name} must be, too"
        raise Wrong(message, cause if dtype == np.float64 else None)


@lesson.check(1, "which library", of="library", formula='"numpy" or "cupy": the library that the array belongs to')
def which_library(yours, draw):
    x = draw.normal(*draw.sizes(B=2, H=3))
    with explained():
        equal("library of an array of the device", yours.library(on_device(x)), "cupy")
        cause = "both live in one process: ask the array, not whether CuPy is there"
        equal("library of a NumPy array", yours.library(x), "numpy", cause)
        equal("library of a number np.float32", yours.library(Given.of("a single number", 0.5)), "numpy")
        equal("library of whole numbers of the device", yours.library(on_device(np.arange(3))), "cupy")


# GELU

GELU = "y = ½ x (1 + tanh(√(2/π) (x + 0.044715 x³)))"


def gelu_mistakes(x):
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return {
        "the erf form; the tanh form is asked for": gelu_erf_forward(x)[0],
        "the ½ is missing": x * (1 + np.tanh(inner)),
        "x² stands where x³ must": 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**2))),
    }


@lesson.check(0.5, "GELU on the host", of="gelu", formula=GELU)
def gelu_here(yours, draw):
    x = draw.normal(*draw.sizes(T=4, F=5), scale=2)
    with explained():
        both_live(yours)
        same("y", here("y", yours.gelu(x)), gelu_forward(x)[0], "tf", suspects=gelu_mistakes(x))
    yours.untouched()


@lesson.check(1.5, "GELU on the device", of="gelu", formula=GELU)
def gelu_there(yours, draw):
    x = draw.normal(*draw.sizes(T=4, F=5), scale=2)
    with explained():
        same("y", there("y", yours.gelu(on_device(x))), gelu_forward(x)[0], "tf", suspects=gelu_mistakes(x))


@lesson.check(0.5, "GELU in float32", of="gelu", formula="y has the dtype of x")
def gelu_float32(yours, draw):
    x = draw.normal(*draw.sizes(T=4, F=5)).astype(np.float32)
    with explained():
        both_live(yours)
        stays_float32("y on the host", here("y", yours.gelu(x)))
        stays_float32("y on the device", there("y", yours.gelu(on_device(x))))


# Layer norm

NORM = "y = gain (x - mean) / √(var + eps) + bias, mean and var = mean((x - mean)²) over the last axis"


def norm_point(draw):
    B, T, H = draw.sizes(B=2, T=3, H=5, least=2)
    return 3 + draw.normal(B, T, H), draw.gain(H), draw.normal(H)


def norm_mistakes(x, gain, bias):
    centred, H = x - x.mean(axis=-1, keepdims=True), x.shape[-1]
    var = (centred * centred).mean(axis=-1, keepdims=True)
    return {
        "eps is added to the root; it belongs under it": gain * centred / (np.sqrt(var) + EPS) + bias,
        "eps is left out": gain * centred / np.sqrt(var) + bias,
        "the variance is divided by H - 1; by H is right": gain * centred / np.sqrt(var * H / (H - 1) + EPS) + bias,
        "gain and bias are left out": centred / np.sqrt(var + EPS),
    }


@lesson.check(0.5, "layer norm on the host", of="layer_norm", formula=NORM)
def norm_here(yours, draw):
    x, gain, bias = norm_point(draw)
    right = layer_norm_forward(x, gain, bias, EPS)[0]
    with explained():
        both_live(yours)
        same("y", here("y", yours.layer_norm(x, gain, bias, EPS)), right, "bth", suspects=norm_mistakes(x, gain, bias))
    yours.untouched()


@lesson.check(1.5, "layer norm on the device", of="layer_norm", formula=NORM)
def norm_there(yours, draw):
    x, gain, bias = norm_point(draw)
    right = layer_norm_forward(x, gain, bias, EPS)[0]
    with explained():
        y = there("y", yours.layer_norm(*map(on_device, (x, gain, bias)), EPS))
        same("y", y, right, "bth", suspects=norm_mistakes(x, gain, bias))


@lesson.check(0.5, "layer norm in float32", of="layer_norm", formula="y has the dtype of x")
def norm_float32(yours, draw):
    point = [array.astype(np.float32) for array in norm_point(draw)]
    with explained():
        both_live(yours)
        stays_float32("y on the host", here("y", yours.layer_norm(*point, EPS)))
        stays_float32("y on the device", there("y", yours.layer_norm(*map(on_device, point), EPS)))


# Rows that are named twice

SCATTER = "table[v] = the sum of all updates[r] with rows[r] = v"


def updates_of(draw):
    """shape, rows, updates; row 1 is named twice, the last never"""
    V, H, R = draw.sizes(V=5, H=3, R=6, least=3)
    rows = draw.integers(0, V - 1, R)
    rows[:2] = 1
    return (V, H), rows, draw.normal(R, H)


def compare_scattered(table, shape, rows, updates):
    last = np.zeros(shape)
    last[rows] = updates
    says = ("a row that is named twice has only its last update: table[rows] += reads and writes each row "
            "once; add.at adds every update")  # fmt: skip
    same("table", table, scatter_add(shape, rows, updates), "vh", suspects={says: last})


@lesson.check(0.5, "scatter_add on the host", of="scatter_add", formula=SCATTER)
def scatter_here(yours, draw):
    shape, rows, updates = updates_of(draw)
    with explained():
        both_live(yours)
        compare_scattered(here("table", yours.scatter_add(shape, rows, updates)), shape, rows, updates)
    yours.untouched()


@lesson.check(1, "scatter_add on the device", of="scatter_add", formula=SCATTER)
def scatter_there(yours, draw):
    shape, rows, updates = updates_of(draw)
    with explained():
        table = there("table", yours.scatter_add(shape, on_device(rows), on_device(updates)))
    compare_scattered(table, shape, rows, updates)


# Back to the host


@lesson.check(1, "to the host", of="to_host", formula="a NumPy array, wherever x is")
def to_the_host(yours, draw):
    x = draw.normal(*draw.sizes(B=2, H=3))
    with explained():
        both_live(yours)
        for where, given in (("on the device", on_device(x, transfers=1)), ("on the host", x)):
            array = here("array", yours.to_host(given))
            if not isinstance(array, np.ndarray):
                raise Wrong(f"of an x {where}, to_host returned {shown(array)}; it must be a NumPy array")
            same(f"array of an x {where}", array, x, "bh")


@lesson.check(1, "one transfer", of="mean_loss", formula="the mean of all losses, added where they are, read once")
def one_transfer(yours, draw):
    (steps,) = draw.sizes(steps=5, least=2)
    losses = draw.uniform(2.0, 9.0, steps)
    with explained():
        both_live(yours)
        places = {"device": Given.of("numbers on the device", losses, 1), "host": [np.array(loss) for loss in losses]}
        for where, given in places.items():
            loss = here("loss", yours.mean_loss(given))
            suspects = {"the sum of the losses, not their mean": [losses.sum()], "the last loss": [losses[-1]]}
            same(f"loss, of losses on the {where}", loss, losses.mean(), suspects=suspects)


@lesson.check(0.5, "as PyTorch", of="gelu", formula="PyTorch's gelu, layer_norm and index_add")
def outside(yours, draw):
    x, gain, bias, rows = ramp(3, 4, scale=2), ramp(4, start=5), ramp(4, start=9), np.array([1, 0, 1])
    stored = numbers("ex12")
    with explained():
        answers = {
            "gelu": yours.gelu(on_device(x)),
            "layer_norm": yours.layer_norm(*map(on_device, (x, gain, bias)), EPS),
            "scatter_add": yours.scatter_add((3, 4), on_device(rows), on_device(x)),
        }
    for name, answer in answers.items():
        try:
            same(f"{name} (PyTorch's numbers)", there(name, answer), stored[name])
        except Wrong as error:
            raise Wrong(error.seen, error.cause, of=name) from error
