"""The variant of exercise 13: a model of PyTorch's own layers, in several files."""

import json
from contextlib import suppress

import numpy as np

from ... import outside
from ...compare import Wrong
from ...given import Given
from ...lesson import Lesson
from ...values import Stopped
from ..checks import alive
from ..two_models import compare_guesses
from . import released_model
from .config_files import FIELDS, compare_config, config_text
from .lost_names import why_lost
from .released_arrays import (
    ONES,
    TWOS,
    WIDE,
    as_dict,
    compare_arrays,
    compare_constant,
    compare_names,
    compare_small,
    file_of,
    orders,
)
from .released_directory import REPEATED, alike, compare_computed, compare_refused, from_own_parts, is_translation
from .released_model import is_matrix, is_square
from .torch_names import FOLDER, as_torch, divided, from_torch, indexed, readings, stored, with_prefix

base = released_model.lesson
SAME = ("read_config", "first_difference", "fill_mask")

variant = Lesson(
    "ex13-torch", "a model of PyTorch's layers, in shards", minutes=90, variant_of="ex13",
    functions={"translate": "params", "load": "config, params"}
    | {name: ", ".join(base.functions[name]) for name in SAME},
    withheld=base.withheld, usual_references=base.usual_references,
)  # fmt: skip

NAMES = 'PyTorch\'s module and leaf -> ours: "weight" is w of a linear layer, gain of a norm, nothing of a table'
TRANSPOSED = "y = x w: w is (in, out); torch's Linear has (out, in), and in_proj has q, k and v below each other"
PARTS = ("query", "key", "value")
KEPT = "these are the arrays of an earlier call: something is kept, and handed out again"
A_LEAF = "of a known module, too, only the leaves of the sheet's table are ours"
BARE = "of the names without a dot mlm_bias alone is ours"
FRONTS = ("average", "average.module", "swa")        # before the names of averages
COUNTED = {                                          # of no array of ours: as large as the array of this name
    "pooler.weight_average": "pooler.weight",
    "mlm_norm.num_batches_tracked": "mlm_norm.weight",
    "word.gradient_count": "word.weight",
    "word.weight_average": "word.weight",
    "layer.self_attn.in_proj_average": "layer.self_attn.in_proj_weight",
    "epoch": "mlm_bias",
    "steps": "mlm_bias",
}
JOINED = tuple(f"attention.{part}.w" for part in PARTS)


def files(draw, heads=None):
    """The same arrays under PyTorch's names in several orders, and under ours."""
    _, right = file_of(draw, *([heads] if heads else []))
    for ordered in orders(draw, as_torch(right)):
        yield ordered, right


def mixed(right, name):
    """What becomes of in_proj if its rows are divided in another way: {mistake: this part of it}"""
    parts = [name.replace(part, other) for part in PARTS if f".{part}." in name for other in PARTS]
    if not parts:
        return {}
    whole = np.concatenate([right[part].T for part in parts])
    third = np.reshape(whole, (-1, 3, *whole.shape[1:]))[:, parts.index(name)]
    return {"every third row is taken; the first H rows are the query's, then come the key's": third.T}


def translated(yours, state):
    return as_dict("params", yours.translate(state))


@variant.check(1, "names", of="translate", formula=NAMES)
def names(yours, draw):
    for state, right in files(draw):
        more = {"decoder.weight": state["word.weight"], "steps": np.array([7]), "layer.norm3.bias": np.ones(3)}
        for front in FRONTS:
            more |= {f"{front}.{name}": 2 * array for name, array in state.items()}
        params = translated(yours, state | more)
        compare_translated(params, right, state | more)
        plain = translated(yours, state)
        for name, theirs in COUNTED.items():
            if not alike(plain, translated(yours, state | {name: 2 * state[theirs]})):
                raise Wrong(f"with {name} in the file, params are others than without", A_LEAF if "." in name else BARE)
        for found in (params, translated(yours, more | state)):
            compare_averages(found, plain)
    compare_constant(lambda state: translated(yours, state), state)
    for state, right in files(draw, ("mlm",)):       # without other heads
        params = translated(yours, state)
        compare_translated(params, right, state, plain)
    _, right = file_of(draw, sizes=ONES)
    compare_small(translated(yours, as_torch(right)), right)


def compare_translated(params, right, state, earlier=None):
    """Compare names; earlier: the params of an earlier call with other arrays"""
    try:
        compare_names(params, right)
    except Wrong as wrong:
        kept = earlier is not None and alike(params, earlier)
        wrong.cause = KEPT if kept else why_lost(params.keys(), right.keys(), state) or wrong.cause
        raise


def compare_averages(found, plain):
    """params of a file with averages of all arrays, and of one without"""
    for name in plain:
        if not alike(found.get(name), plain[name]):
            raise Wrong(f"with averages in the file, average.word.weight and others, {name} is another than without",
                        "a name must be known as a whole: average.word is another module than word")  # fmt: skip


@variant.check(1, "query, key, value", of="translate", formula=TRANSPOSED)
def joined(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right, lambda name: name.endswith(JOINED), mixed)
    _, right = file_of(draw, sizes=ONES)
    compare_arrays(translated(yours, as_torch(right)), right, lambda name: name.endswith(JOINED), mixed)


@variant.check(1, "matrices", of="translate", formula=TRANSPOSED)
def matrices(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right,
                       lambda name: (is_matrix(name) or is_square(name)) and not name.endswith(JOINED))  # fmt: skip
    _, right = file_of(draw, sizes=TWOS)             # with a projection all the same
    compare_arrays(translated(yours, as_torch(right)), right,
                   lambda name: name.endswith(".w") and not name.endswith(JOINED))  # fmt: skip


@variant.check(1, "tables, norms, biases", of="translate", formula="as they are; in_proj_bias has q, k and v in a row")
def vectors(yours, draw):
    for state, right in files(draw):
        compare_arrays(translated(yours, state), right, lambda name: not name.endswith(".w"), mixed)
    for sizes in (ONES, TWOS, WIDE):
        _, right = file_of(draw, sizes=sizes)
        compare_arrays(translated(yours, as_torch(right)), right, lambda name: not name.endswith(".w"), mixed)


@variant.check(0.5, "a wrapped model", of="translate", formula='all names may begin with "module."')
def wrapped(yours, draw):
    for state, right in files(draw):
        params = translated(yours, with_prefix(state))
        if not params and translated(yours, state):
            raise Wrong('params is empty where all names begin with "module."', "the prefix module. is not taken off")
        compare_translated(params, right, state)
    alive(**{name.replace(".", "_"): params[name] for name in right})
    with suppress(Stopped):                          # what is unknown may be taken out of the state
        yours.translate(state | {"steps": np.array([7])})
    yours.untouched()


variant.checks += [check for check in base.checks if check.of == "read_config"]


@variant.check(1, "a directory of shards", of="load", formula="each array from the file that the index names")
def directory(yours, draw):
    compare_shards(yours, Given.of("the released directory", FOLDER), *stored())
    earlier = None
    for _ in range(2):
        found = config_text(draw, inner_group_num=1)[0], *divided(draw, as_torch(file_of(draw)[1]))
        earlier = compare_shards(yours, Given.of("a directory in shards", *found), *found, earlier)
    text, files, places = found
    found = text, {file: with_prefix(state) for file, state in files.items()}, with_prefix(places)
    compare_shards(yours, Given.of("a directory in shards", *found), *found)
    text, _ = config_text(draw, inner_group_num=2)
    compare_refused(yours, Given.of("a directory in shards", text, files, places), text)


def compare_shards(yours, directory, text, files, places, earlier=None):
    """Compare what `load` returns, and return it. Mistakes of translate and read_config have cost their points."""
    config, params = yours.load(directory)
    state = indexed(files, places)
    right = from_torch(state)
    try:
        compare_config(as_dict("config", config), {k: v for k, v in json.loads(text).items() if k in FIELDS})
        compare_names(as_dict("params", params), right)
        compare_arrays(params, right)
    except Wrong as wrong:
        if from_own_parts(yours, config, params, text, state):
            return [config, params]
        if earlier and alike([config, params], earlier):
            wrong.cause = REPEATED
        elif not is_translation(yours, params, state):
            read = (says for says, states in readings(files, places).items()
                    if any(is_translation(yours, params, each) for each in states))  # fmt: skip
            wrong.cause = next(read, wrong.cause)
        raise
    return [config, params]


variant.checks += [check for check in base.checks if check.of == "first_difference"]


@variant.check(1, "a missing word", of="fill_mask", formula="softmax over all words; the k largest, best first")
def missing_word(yours, draw):
    released_model.missing_word(yours, draw)
    compare_guesses(yours, draw, draw.normal(7), 0)
    yours.untouched()


@variant.check(0.5, "as PyTorch", of="load", formula="states and logits of torch's TransformerEncoderLayer")
def as_pytorch(yours, draw):
    config, params = yours.load(Given.of("the released directory", FOLDER))
    compare_computed(config, params, outside.numbers("ex13_torch"), "PyTorch's")
