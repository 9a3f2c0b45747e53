"""Ranks that share the optimiser's step: the bits of one process, and moments of a rank's own tensors alone."""

import math
from contextlib import nullcontext

import numpy as np
import pytest
from counting import Counting
from fingerprint import fingerprint
from hypothesis import given, settings
from hypothesis import strategies as st
from small_batches import CONFIG
from small_run import StopAt, computed, events, small_corpus, small_settings
from thread_ranks import on_threads

from minalbert import PRESETS, Albert, Params
from minalbert.commands.progress import Progress
from minalbert.fused import optimiser_for
from minalbert.kernels import missing
from minalbert.optim import AdamW, Lamb, Moments, clip, clip_factor, global_norm
from minalbert.parallel import ALONE, Gradient, SharedStep, TensorShares, tensor_shares
from minalbert.parallel.rank_sum import bytes_sent
from minalbert.params import count, shapes
from minalbert.train import assemble, pretrain

LACKING = missing("compiled", "full", "cpu")
KERNELS = ["plain", pytest.param("compiled", marks=pytest.mark.skipif(LACKING is not None, reason=str(LACKING)))]


def gradients(like, ranks):
    """A vector of each rank, whose numbers are so unlike in size that every order has a sum of its own."""
    rng = np.random.default_rng(3)
    size = ranks, like.flat.size
    vectors = rng.standard_normal(size) * 10.0 ** rng.integers(-3, 3, size)
    return [Params(vector.astype(like.dtype), like.shapes) for vector in vectors]


def summed(found):
    """Vectors as two or four ranks add them."""
    total = found[0].flat + found[1].flat
    return Params(total if len(found) == 2 else total + (found[2].flat + found[3].flat), found[0].shapes)


def shared(ranks, own):
    """(TensorShares, the Gradient that ranks add from vectors of their own)"""
    shares, numbers = TensorShares(ranks, own), np.ones(2, own.dtype)
    numbers, pieces = shares.add(own, numbers)
    assert list(numbers) == [ranks.size] * 2
    return shares, Gradient((), own, 0.0, 0.0, pieces)


@pytest.mark.parametrize(("name", "ranks", "most"), [("tiny", 2, 0.57), ("albert-base", 2, 0.52),
                         ("albert-base", 4, 0.34), ("albert-base", 64, 0.33), ("bert-base", 8, 0.22)])  # fmt: skip
def test_tensors_are_shared_out_evenly_and_in_order(name, ranks, most):
    """As far as whole tensors allow: ALBERT's word table is a third of its weights."""
    table = shapes(PRESETS[name])
    names = tensor_shares.shared_out(table, ranks)
    assert [one for own in names for one in own] == [*table]
    largest = max(sum(math.prod(table[one]) for one in own) for own in names)
    assert 1 / ranks <= largest / count(PRESETS[name]) < most


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("optimiser", [AdamW(), Lamb()], ids=["adamw", "lamb"])
@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("ranks", [2, 4])
def test_steps_have_the_bits_of_one_process(ranks, kernels, optimiser, frozen):
    model = Albert.init(CONFIG, seed=1)
    found = gradients(model.params, ranks)
    only = model.params.select("encoder.", "sop.").names if frozen else None

    def steps(params, stepper, moments, gradient, norm):
        for t in (1, 2, 3):
            ratios = stepper.step(params, gradient.grads, moments, 0.1, t, clip_factor(norm(gradient), 0.5), only)
        return ratios

    def work(each):
        params, own = model.params.copy(), found[each.rank].copy()
        shares, gradient = shared(each, own)
        moments = Moments.zeros(shares.own(params))
        assert moments.m.flat.size < params.flat.size
        stepper = SharedStep(optimiser_for(optimiser, shares.own(params), kernels, 1), shares)
        ratios = steps(params, stepper, moments, gradient, shares.norm)
        moments = [shares.whole_of(moment, params.shapes) for moment in moments]
        return [fingerprint(one.flat) for one in (params, *moments)], ratios

    params, whole, moments = model.params.copy(), summed(found), Moments.zeros(model.params)
    stepper = optimiser_for(optimiser, params, kernels, 1)
    ratios = steps(params, stepper, moments, Gradient((), whole, 0.0, 0.0), lambda found: global_norm(found.grads))
    answers = on_threads(ranks, work)
    assert [hashes for hashes, _ in answers] == [[fingerprint(one.flat) for one in (params, *moments)]] * ranks
    assert {name: ratio for _, own in answers for name, ratio in own.items()} == ratios


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.sampled_from([2, 4]), st.sampled_from([4, 8, 64]),
       st.sampled_from(["float32", "float64"]), st.sampled_from([1.0, 1e25, np.inf]))  # fmt: skip
def test_the_norm_has_the_bits_of_one_process(lengths, ranks, piece, dtype, largest):
    """However pieces and tensors lie to each other, and where float32 cannot hold a square."""
    like = Params.zeros({f"t{i}": (length,) for i, length in enumerate(lengths)}, dtype)
    found = gradients(like, ranks)
    found[0].flat[len(found[0].flat) // 2] *= largest

    def work(each):
        shares, gradient = shared(each, found[each.rank].copy())
        return float(shares.norm(gradient))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip, "PIECE", piece)
        patch.setattr(tensor_shares, "PIECE", piece)
        patch.setattr(tensor_shares, "CALLS", 0)
        assert on_threads(ranks, work) == [float(global_norm(summed(found)))] * ranks


@pytest.mark.parametrize("ranks", [2, 4])
def test_as_many_bytes_leave_as_for_a_sum_everywhere(ranks):
    """And what lies before a rank's tensors in their first piece, and one short vector: two numbers, the squares."""
    model = Albert.init(CONFIG, seed=1)
    found = gradients(model.params, ranks)

    def sent(each):
        each.comm = Counting(each.comm)
        shares, _ = shared(each, found[each.rank])
        shares.collect(model.params.copy())
        return each.comm.sent, sum(stop - start for start, stop in shares.before), sum(shares.pieces)

    counted, before, pieces = zip(*on_threads(ranks, sent), strict=True)
    size, others = model.params.flat.size, ranks - 1
    assert pieces[0] == -(-size // clip.PIECE)
    assert sum(counted) == bytes_sent(size, 4, ranks) + others * (4 * before[0] + 8 * (2 * ranks + pieces[0]))


# Whole runs


@pytest.fixture(autouse=True)
def threads_without_warnings(monkeypatch):
    """The filters of warnings are the whole process's; ranks that are threads would each put back what they found."""
    monkeypatch.setattr(assemble, "without_numpy_warnings", nullcontext)


def train(run, ranks=1, **changes):
    changed = small_settings(**{"workers": 1, "steps": 8, "every": 3, "evaluate_every": 4} | changes)

    def on_rank(each):
        return pretrain(changed, run, small_corpus(), observer=Progress(quiet=True), ranks=each)

    return on_threads(ranks, on_rank) if ranks > 1 else [on_rank(ALONE)]


CHANGES = {"lamb": {}, "adamw": {"optimiser": "adamw", "rate": 0.001, "clip": 0.0}, "fused": {"kernels": "fused"}}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_a_run_has_the_bits_of_one_process(tmp_path, changes):
    """Weights, moments and log, trust ratios among them."""
    for ranks in (1, 2, 4):
        train(tmp_path / str(ranks), ranks, **changes)
    found = [computed(tmp_path / str(ranks)) for ranks in (1, 2, 4)]
    assert found == found[:1] * 3
    lines = [line for line in found[0]["lines"] if line["kind"] == "train"]
    assert lines
    assert all(("trust_ratios" in line) == ("optimiser" not in changes) for line in lines)


def test_a_run_goes_on_with_other_numbers_of_ranks(tmp_path):
    train(tmp_path / "alone")
    for ranks, steps in ((2, 3), (4, 2), (1, 1)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(assemble, "StopSignals", lambda alert, steps=steps: StopAt(steps))
            train(tmp_path / "run", ranks)
    train(tmp_path / "run", 2)
    assert len(events(tmp_path / "run", "resumed")) >= 3
    assert computed(tmp_path / "run") == computed(tmp_path / "alone")


def test_all_ranks_together_have_the_moments_once(tmp_path, monkeypatch):
    sizes, step_of = [], assemble.step_of

    def noted(job, workers, state, *others):
        sizes.append([moment.flat.size for moment in state.moments])
        return step_of(job, workers, state, *others)

    monkeypatch.setattr(assemble, "step_of", noted)
    result, *_ = train(tmp_path, 4, steps=1)
    assert np.sum(sizes, axis=0).tolist() == [result.model.params.flat.size] * 2
    assert min(map(min, sizes)) > 0


def test_the_first_bad_gradient_is_named_by_the_rank_that_adds_it(tmp_path, monkeypatch):
    """Rank 1 has a number that is not finite in a tensor that rank 0 steps."""
    step_of = assemble.step_of

    def poisoned(job, workers, state, own_code, ranks):
        right = workers.gradient

        def gradient(*arguments, **options):
            found, workers.gradient = right(*arguments, **options), right
            found.grads["embeddings.position"][0] = np.nan
            return found

        if ranks.rank == 1:
            workers.gradient = gradient
        return step_of(job, workers, state, own_code, ranks)

    monkeypatch.setattr(assemble, "step_of", poisoned)
    train(tmp_path, 2, steps=2)
    (event,) = events(tmp_path, "not finite")
    assert event["text"].endswith("the first bad gradient is that of embeddings.position; no step was made")
