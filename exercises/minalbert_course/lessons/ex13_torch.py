"""The variant of exercise 13: a model of PyTorch's own layers, in several files."""

import json

import numpy as np

from .. import outside
from ..compare import Wrong
from ..given import Given
from ..lesson import Lesson
from . import ex13_released_model
from .checks import alive
from .config_files import FIELDS, compare_config
from .ex13_released_model import is_matrix, is_square
from .released import as_dict, compare_arrays, compare_names, file_of, orders
from .released_directory import alike, compare_computed
from .torch_names import FOLDER, OLDER, as_torch, from_torch, stored

base = ex13_released_model.lesson
SAME = ("read_config", "first_difference", "fill_mask")

variant = Lesson(
    "ex13-torch", "a model of PyTorch's layers, in shards", minutes=90, variant_of="ex13",
    functions={"translate": "params", "load": "config, params"}
    | {name: ", ".join(base.functions[name]) for name in SAME},
    withheld=base.withheld,
)  # fmt: skip
LESSONS = [variant]

NAMES = 'PyTorch\'s module and leaf -> ours: "weight" is w of a linear layer, gain of a norm, nothing of a table'
TRANSPOSED = "y = x w: w is (in, out); torch's Linear has (out, in), and in_proj has q, k and v below each other"
JOINED = ("attention.query.w", "attention.key.w", "attention.value.w")


def files(draw, heads=None):
    """The same arrays under PyTorch's names in several orders, and under ours."""
    _, right = file_of(draw, *([heads] if heads else []))
    for ordered in orders(draw, as_torch(right)):
        yield ordered, right


def translated(yours, state):
    return as_dict("params", yours.translate(state))


@variant.check(1, "names", of="translate", formula=NAMES)
def names(yours, draw):
    more = {"decoder.weight": np.ones((3, 4), np.float32), "steps": np.array([7]), "layer.norm3.bias": np.ones(3)}
    for state, right in files(draw):
        compare_names(translated(yours, state | more), right)
    for state, right in files(draw, ("mlm",)):       # without other heads
        compare_names(translated(yours, state), right)


@variant.check(1, "query, key, value", of="translate", formula=TRANSPOSED)
def joined(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right, lambda name: name.endswith(JOINED))


@variant.check(1, "matrices", of="translate", formula=TRANSPOSED)
def matrices(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right,
                       lambda name: (is_matrix(name) or is_square(name)) and not name.endswith(JOINED))  # fmt: skip


@variant.check(1, "tables, norms, biases", of="translate", formula="as they are; in_proj_bias has q, k and v in a row")
def vectors(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right, lambda name: not name.endswith(".w"))


@variant.check(0.5, "a wrapped model", of="translate", formula='all names may begin with "module."')
def wrapped(yours, draw):
    for state, right in files(draw):
        params = translated(yours, {f"module.{name}": array for name, array in state.items()})
        compare_names(params, right)
    alive(**{name.replace(".", "_"): params[name] for name in right})


variant.checks += [check for check in base.checks if check.of == "read_config"]


@variant.check(1, "a directory of shards", of="load", formula="each array from the file that the index names")
def directory(yours, draw):
    config, params = yours.load(Given.of("the released directory", FOLDER))
    text, state = stored()
    right = from_torch(state)
    try:
        compare_config(as_dict("config", config), {k: v for k, v in json.loads(text).items() if k in FIELDS})
        compare_names(as_dict("params", params), right)
        compare_arrays(params, right)
    except Wrong as wrong:
        if any(alike(params, yours.translate(state | {name: -state[name]})) for name in OLDER):
            cause = "each array must come from the file that the index names for it; another has an older one"
            raise Wrong(wrong.seen, cause) from wrong
        if not (alike(config, yours.read_config(text)) and alike(params, yours.translate(state))):
            raise


variant.checks += [check for check in base.checks if check.of in SAME[1:]]


@variant.check(0.5, "as PyTorch", of="load", formula="states and logits of torch's TransformerEncoderLayer")
def as_pytorch(yours, draw):
    config, params = yours.load(Given.of("the released directory", FOLDER))
    compare_computed(config, params, outside.numbers("ex13_torch"), "PyTorch's")
