"""A batch in slices, for exercise 11: what `accumulate` is asked, and what is right."""

import functools

import numpy as np

from minalbert.model.pretraining import Totals

from ...alike import alike
from ...compare import Wrong, same
from ...given import Given
from ...makers.ex11 import small_model
from ..checks import Later
from .training_mistakes import combined, sum_mistakes

STALE = "an earlier answer is handed out again"


def slices_of(draw, all_have_targets=True):
    """seed of the model, batches"""
    sizes = [(4, 9, 5), (2, 7, 3), (3, 8, 1)]        # sequences, tokens, most masked words
    if not draw.first:
        words = map(int, draw.rng.permutation([1, 3, 6]))
        sizes = [(int(draw.integers(1, 5)), int(draw.integers(6, 12)), most) for most in words]
    slices = [Given.of("a batch", int(draw.integers(0, 1000)), *size) for size in sizes]
    slices[0] = Given.of("a batch", *slices[0].args, True, True)
    if not all_have_targets:
        at = -1 if draw.first else 1
        slices[at] = Given.of("a batch", *slices[at].args, False)
    return int(draw.integers(0, 1000)), slices


def lists_of(slices, seed):
    """The slices, one alone, large and small ones, and eight of one or two sequences."""
    small = [Given.of("a batch", seed + i, 1 + i % 2, 5 + i, 2) for i in range(8)]
    return slices, slices[-1:], [*slices[:2], small[0], Given.of("a batch", seed + 1, 13, 8, 4)], small, slices[:2]


def compare_accumulated(yours, draw, which):
    seed, slices = slices_of(draw)
    for given in lists_of(slices, seed):
        compare(yours.accumulate(Given.of("a small model", seed), given), which, seed, given)


def compare_without_targets(yours, draw):
    seed, slices = slices_of(draw, all_have_targets=False)
    for given in (slices, slices[::-1]):
        compare(yours.accumulate(Given.of("a small model", seed), given), 1, seed, given)


def compare_again(yours, draw):
    """Twice with one model and the same batches: accumulating changes neither. Then with other batches."""
    seed, slices = slices_of(draw)
    keep = [Given.of("to keep", f"{draw.seed}.{i}", one) for i, one in enumerate(slices)]
    kept = [Given.of("kept", one.args[0]) for one in keep]
    model = Given.of("to keep", str(draw.seed), Given.of("a small model", seed))
    compare(yours.accumulate(model, keep), 0, seed, slices)
    again = yours.accumulate(Given.of("kept", str(draw.seed)), kept)
    try:
        compare(again, 0, seed, slices)
    except Wrong as error:
        cause = "the first call changed the model's weights or a batch; `accumulate` only adds up gradients"
        raise Wrong(f"called a second time with the same model and batches, {error.seen}", cause) from error
    twice, made_twice = [kept[0], kept[0], kept[1]], [slices[0], slices[0], slices[1]]
    try:
        compare(yours.accumulate(Given.of("kept", str(draw.seed)), twice), 0, seed, made_twice)
    except Wrong as error:
        cause = "a batch is found by its object, by its id, say; the list may have it twice, and then it counts twice"
        raise Wrong(f"where the first batch is in the list twice, {error.seen}", cause) from error
    others = [Given.of("a batch", one.args[0] + 1, *one.args[1:]) for one in slices]
    try:
        compare(yours.accumulate(Given.of("kept", str(draw.seed)), others), 0, seed, others)
    except Wrong as error:
        raise Wrong(f"with the same model and other batches, {error.seen}", STALE) from error
    if alike(again, yours.accumulate(Given.of("trained on", str(draw.seed)), kept)):
        raise Wrong("loss and gradient of the same model, trained on, are what they were before the training", STALE)


def compare(answers, which, seed, given):
    """which: 0 for the loss, 1 for the gradient"""
    answer, right = answers[which], right_answers(seed, tuple(given))[which]
    if isinstance(answer, np.ndarray) and answer.shape == (1,) and which == 0:
        answer = answer[0]
    made = [one.make() for one in given]
    targets, sequences = totals_of(made)
    known = {"number of slices": len(given), "masked words": targets, "sequences": sequences}
    suspects = Later(sum_mistakes, small_model(seed), made, which)
    same(("loss", "gradient")[which], answer, right, known=known, suspects=suspects)


def totals_of(batches):
    targets, sequences = sum(one.mlm_weights.sum() for one in batches), sum(len(one.sop_labels) for one in batches)
    return Totals(float(targets), float(sequences))


@functools.lru_cache(512)
def right_answers(seed, given):
    made = [one.make() for one in given]
    return combined(small_model(seed), made, totals=totals_of(made))
