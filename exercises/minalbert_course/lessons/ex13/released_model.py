"""Exercise 13: read what others released. Names, matrices, config.json, and where two models part."""

import dataclasses
import json
from contextlib import suppress

import numpy as np

from minalbert.config import AlbertConfig
from minalbert.interop import huggingface, state_dict

from ... import outside
from ...given import Given
from ...lesson import Lesson
from ...values import Stopped
from ..checks import alive
from ..two_models import (
    compare_guesses,
    compare_place,
    compare_places,
    compare_twice,
    guesses_of,
    place_of,
    plain,
    states,
)
from .config_files import compare_config, compare_refusal, config_text
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
from .released_directory import compare_computed, compare_read, compare_refused, compare_written, stored

lesson = Lesson(
    "ex13", "a released model", minutes=85,
    functions={
        "translate": "params",
        "read_config": "config",
        "load": "config, params",
        "first_difference": "index",
        "fill_mask": "guesses",
    },
    withheld=(huggingface.load, huggingface.load_report, huggingface.read_config, huggingface.read,
              state_dict.from_state_dict, state_dict.to_state_dict, state_dict.names, state_dict.names_as_in),
    usual_references={"first_difference": place_of, "fill_mask": guesses_of},
)  # fmt: skip

SQUARE = ("attention.query.w", "attention.key.w", "attention.value.w", "attention.output.w", "pooler.w")


# Names and matrices

NAMES = 'their module and leaf -> ours: "weight" is w of a linear layer, gain of a norm, nothing of a table'
TRANSPOSED = "y = x w: w is (in, out); torch's Linear has (out, in)"


def is_square(name):
    return name.endswith(SQUARE)


def is_matrix(name):
    return name.endswith(".w") and not is_square(name)


@lesson.check(1, "names", of="translate", formula=NAMES)
def names(yours, draw):
    state, right = file_of(draw)
    state["predictions.decoder.weight"] = state["albert.embeddings.word_embeddings.weight"]
    state["predictions.decoder.bias"] = state["predictions.bias"]
    state["albert.embeddings.position_ids"] = np.arange(5)[None]
    state["classifier.weight"], state["classifier.bias"] = np.ones((3, 4), np.float32), np.ones(3, np.float32)
    for ordered in orders(draw, state):
        compare_names(as_dict("params", yours.translate(ordered)), right)
    compare_constant(lambda state: as_dict("params", yours.translate(state)), state)
    state, right = file_of(draw, heads=("mlm",))     # an AlbertForMaskedLM has no other
    compare_names(as_dict("params", yours.translate(state)), right)
    state, right = file_of(draw, sizes=ONES)
    compare_small(as_dict("params", yours.translate(state)), right)


@lesson.check(1, "matrices", of="translate", formula=TRANSPOSED)
def matrices(yours, draw):
    state, right = file_of(draw)
    for ordered in orders(draw, state):
        compare_arrays(as_dict("params", yours.translate(ordered)), right, is_matrix)


@lesson.check(1, "square matrices", of="translate", formula=TRANSPOSED)
def squares(yours, draw):
    state, right = file_of(draw)
    for ordered in orders(draw, state):
        params = as_dict("params", yours.translate(ordered))
        compare_arrays(params, right, is_square)
    others = {name for name in filter(is_matrix, right) if np.array_equal(params.get(name), right[name])}
    state, right = file_of(draw, sizes=TWOS)         # with a projection all the same
    compare_arrays(as_dict("params", yours.translate(state)), right, others.__contains__)


@lesson.check(0.5, "tables, norms, biases", of="translate", formula="as they are: a table's row is a word, as ours")
def vectors(yours, draw):
    state, right = file_of(draw)
    others = {name: draw.normal(3, 4).astype(np.float32) for name in ("teacher.albert.pooler.bias", "trainer.steps")}
    others["predictions.decoder.weight"] = state["albert.embeddings.word_embeddings.weight"]
    others["predictions.decoder.bias"] = state["predictions.bias"]
    places = others["albert.embeddings.position_ids"] = np.arange(len(right["embeddings.position"]))[None]
    suspects = {"these are position_ids, which are no weights: leave them out": places}
    for ordered in orders(draw, state | others):
        params = as_dict("params", yours.translate(ordered))
        compare_arrays(params, right, lambda name: not name.endswith(".w"), lambda right, name: suspects)
    one = {"albert.pooler.bias": state["albert.pooler.bias"]}
    compare_arrays(as_dict("params", yours.translate(one)), {"pooler.b": right["pooler.b"]})
    for sizes in (ONES, TWOS, WIDE):
        state, right = file_of(draw, sizes=sizes)
        compare_arrays(as_dict("params", yours.translate(state)), right, lambda name: not name.endswith(".w"))


@lesson.check(0.5, "a bare trunk", of="translate", formula='the file of an AlbertModel has no prefix "albert."')
def trunk(yours, draw):
    state, right = file_of(draw, heads=("pooler",))
    state = {name.removeprefix("albert."): array for name, array in state.items()}
    for ordered in orders(draw, state):
        params = as_dict("params", yours.translate(ordered))
        compare_names(params, right)
    alive(**{name.replace(".", "_"): params[name] for name in right})
    with suppress(Stopped):                          # what is unknown may be taken out of the state
        yours.translate(state | {"classifier.bias": np.ones(3, np.float32)})
    yours.untouched()


# The configuration


@lesson.check(1, "config.json", of="read_config", formula="the keys for which AlbertConfig has a field, and no others")
def fields(yours, draw):
    text, right = config_text(draw)
    compare_config(as_dict("config", yours.read_config(text)), right)
    compare_config(as_dict("config", yours.read_config(json.dumps(json.loads(text), sort_keys=True))), right)
    for key, value in (("hidden_size", 12), ("hidden_act", "gelu"), ("hidden_act", "GELU")):
        text = json.dumps({key: value})
        compare_config(as_dict(f"config of {text}", yours.read_config(text)), {key: value})
    every = json.dumps(dataclasses.asdict(AlbertConfig()))
    compare_config(as_dict("config", yours.read_config(every)), json.loads(every))


@lesson.check(0.5, "what cannot be read", of="read_config", formula="ValueError where inner_group_num is not 1")
def refusal(yours, draw):
    as_dict("config", yours.read_config(config_text(draw)[0]))
    for groups in (2, 0, 12) if draw.first else (int(draw.integers(2, 9)), 3):
        compare_refusal(yours, groups, config_text(draw, inner_group_num=groups)[0])
    compare_refusal(yours, None, config_text(draw, inner_group_num=None)[0])


# A directory


@lesson.check(1, "a directory", of="load", formula="config of config.json, params of model.safetensors")
def directory(yours, draw):
    config, params, *files = stored()
    compare_read(yours, yours.load(Given.of("the released directory")), (config, params), files)
    compare_written(yours, draw)
    text, _ = config_text(draw, inner_group_num=2)
    compare_refused(yours, Given.of("a directory", text, file_of(draw)[0]), text)


# Where two models part

NAN_LOST = (
    "nan > limit is False, as is every comparison with nan; ask whether not (difference <= limit), and keep the nan "
    "until then: np.max keeps it, np.nanmax leaves it out, Python's max may"
)
DIFFERS = "the first i with max |ours[i] - theirs[i]| > limit, or None"


@lesson.check(1, "the first difference", of="first_difference", formula=DIFFERS)
def first(yours, draw):
    cases = []
    for place, amount in ((None, 0.0), (2, 0.5), (0, -0.5), (4, -0.01), (1, 0.002), (3, -0.002)):
        for size in (1.0, 200.0, 1e-3):
            ours, theirs = states(draw, size)
            for i in range(5 if place is None else place, 5):
                ours[i][-1, 0, 1] = theirs[i][-1, 0, 1] + amount * (1 + i)             # it grows from layer to layer
            cases.append((ours, theirs, 1e-3, place))
    for layers, place in ((1, 0), (1, None), (2, 1), (14, 13)):
        ours, theirs = states(draw, layers=layers)
        if place is not None:
            ours[place][0, 1, 0] += 0.1
        cases.append((ours, theirs, 1e-3, place))
    ours, theirs = states(draw, layers=14)
    ours[2][0, 0, 0] += 0.1
    ours[10][0, 0, 0] += 0.1                         # as text, 10 comes before 2
    cases.append((ours, theirs, 1e-3, 2))
    ours, theirs = states(draw)
    ours[2][-1, -1, -1] += 0.1
    cases.append((ours, theirs, 1e-3, 2))
    ours, theirs = states(draw)
    exact = [np.round(state) for state in theirs]
    compare_places(yours, [
        *cases,
        ([ours[0], theirs[1] + 1, theirs[2]], theirs[:3], 1e-3, 1),                   # and then it is right again
        ([state + 0.5 for state in exact], exact, 0.5, None),                         # not above it
        ([state + 0.5 for state in exact], exact, 0.4998, 0),
        ([state + 0.5 + 2**-20 for state in exact], exact, 0.5, 0),
        ([state - 0.75 for state in exact], exact, 0.5, 0),
        ([30 * state for state in theirs], theirs, 1000.0, None),
        ([abs(one) + 1 + 1e-9 for one in exact], [abs(one) + 1 for one in exact], 1e-10, 0),
        ([30000 * abs(one) + 30000.01 for one in exact], [30000 * abs(one) + 30000 for one in exact], 1e-3, 0),
        ([theirs[0], theirs[1][..., :2]], [theirs[0], theirs[1][..., :2] + 3], 2.0, 1),   # other shapes
        ([array.astype(np.float32) for array in ours], theirs, 1e-3, None),
        ([theirs[0], 0 * theirs[1]], theirs[:2], 1e-3, 1),                            # of zeros
        (theirs[:2], [theirs[0], 0 * theirs[1]], 1e-3, 1),
        ([np.ones((1, 1, 1)), np.ones((1, 1, 1))], [np.ones((1, 1, 1)), np.full((1, 1, 1), 3.0)], 1e-3, 1),
        (exact, exact, 0.0, None),
        ([exact[0], exact[1] + 2**-20], exact[:2], 0.0, 1),
    ])  # fmt: skip


@lesson.check(0.5, "a difference that is not a number", of="first_difference", formula=f"{DIFFERS}; a NaN differs")
def not_a_number(yours, draw):
    asked = (3, False, (0, 0, 0)), (0, True, (-1, -1, -1)), (4, False, ...), (1, True, (0, 1, 1))
    found = []
    for place, both, entry in asked:
        ours, theirs = states(draw)
        ours[place][entry] = np.nan
        if both:                                     # ours is none, whatever theirs is
            theirs[place][entry] = np.nan
        found.append(plain(yours.first_difference(ours, theirs, 1e-3)))
    cause = NAN_LOST if found == [None] * len(asked) else "seen: not every NaN is found"
    for (place, _, _), answer in zip(asked, found, strict=True):
        compare_place(f"first_difference, where ours[{place}] has a NaN,", answer, place, cause)
    ours, theirs = states(draw)
    ours[2][0, 0, 0], ours[4][0, 0, 0] = np.inf, np.nan
    answer = plain(yours.first_difference(ours, theirs, 1e-3))
    compare_place("first_difference, where ours[2] is infinite,", answer, 2, "seen: an infinite number is not found")
    ours, theirs = states(draw)
    ours[1][0, 0, 0], ours[3][0, 0, 0] = np.nan, theirs[3][0, 0, 0] + 1
    answer = plain(yours.first_difference(ours, theirs, 1e-3))
    compare_place("first_difference, where ours[1] has a NaN and ours[3] differs,", answer, 1,
                  "seen: a NaN is not looked for in the order of the states")  # fmt: skip
    theirs = [state.copy() for state in states(draw)[1]]
    theirs[2][0, 0, 0] = np.nan
    answer = plain(yours.first_difference([state.copy() for state in theirs], theirs, 1e-3))
    compare_place("first_difference, where both have the same numbers and a NaN in [2],", answer, 2,
                  "seen: a NaN of ours is not found where theirs has one, too, and all else is equal")  # fmt: skip
    yours.untouched()


# A missing word


@lesson.check(1, "a missing word", of="fill_mask", formula="softmax over all words; the k largest, best first")
def missing_word(yours, draw):
    V, k = (7, 3) if draw.first else (int(draw.integers(8, 20)), int(draw.integers(2, 6)))
    usual, few, many = (V, k, 2), ((V, 1, 1), (1, 1, 1)), ((V, V, 2), (40, 12, 1), (2000, 700, 2))
    first = None
    for size, asked, scale in (usual, *few, *many, (V, k, 0.05), (V, k, 30), (V, V, 12)):
        logits = np.round(2**16 * draw.normal(size, scale=scale)) / 2**16    # exact in float32, too
        found = compare_guesses(yours, draw, logits, asked, first)
        first = first or found
    compare_guesses(yours, draw, -abs(logits) - 1, k)
    compare_guesses(yours, draw, abs(logits) + 1, k)
    for far in (3000, -703):                         # e to the first overflows, e to the second is not yet 0
        compare_guesses(yours, draw, far + np.round(10 * logits) / 1024, k)
    compare_twice(yours, draw)
    for size, asked in ((24, 24), (9, 5)):           # several words of one logit, in any order
        compare_guesses(yours, draw, np.round(draw.normal(size)), asked)
    for shift in (800, -400):                        # exp(800) is infinite; exp(-400 less the largest size) is 0
        compare_guesses(yours, draw, shift + np.round(draw.normal(9, scale=64)) / 64, 3)       # exact in float32
    three = np.round(draw.normal(3, scale=64)) / 64  # and six far below: less the mean, exp of the three is infinite
    compare_guesses(yours, draw, draw.rng.permutation([*three, *np.full(6, -2000.0)]), 3)
    far = [0.0, -1.0, -800.0, -900.0, -1000.0, -1100.0]      # four have probability 0, and come in any order
    compare_guesses(yours, draw, draw.rng.permutation(far), len(far))
    for shift in (-15000, 15000):                    # e to each is 0, or infinite, also less the first or the last
        logits = shift + np.round(draw.normal(9, scale=64)) / 64
        logits[[0, -1, 4]] = shift - 800, shift - 1600, shift - 2400
        compare_guesses(yours, draw, logits, 9)
    yours.untouched()


@lesson.check(1, "as transformers", of="load", formula="hidden states and logits of transformers' AlbertForPreTraining")
def as_transformers(yours, draw):
    config, params = yours.load(Given.of("the released directory"))
    compare_computed(config, params, outside.numbers("ex13"), "transformers'")
