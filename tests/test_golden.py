"""Ours against numbers that torch computed once (tests/golden/make.py), without torch.

The error of an array is its largest difference, relative to the largest number in it. Gradients are measured
against at least a thousandth of the largest gradient, for that of a key bias is zero but for rounding.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from minalbert import Albert, AlbertConfig, Batch, Params
from minalbert.interop.huggingface import from_state_dict, to_state_dict
from minalbert.params import shapes

LIMIT = 1e-9
CASES = ("gelu_tanh", "gelu_erf", "two_groups")


@pytest.fixture(scope="module", params=CASES)
def golden(request):
    with np.load(Path(__file__).parent / "golden" / f"{request.param}.npz") as file:
        return dict(file)


@pytest.fixture
def model(golden):
    config = AlbertConfig(**json.loads(golden["config"].item()))
    arrays = from_state_dict(part(golden, "weight"), config)
    return Albert(config, Params.from_arrays(arrays, shapes(config), np.float64))


@pytest.fixture
def batch(golden):
    return Batch(**part(golden, "batch"))


def part(golden, kind):
    return {key.removeprefix(f"{kind}/"): array for key, array in golden.items() if key.startswith(f"{kind}/")}


def assert_close(ours, theirs, floor=0.0):
    assert np.shape(ours) == np.shape(theirs)
    assert np.abs(ours - theirs).max() <= LIMIT * max(np.abs(theirs).max(), floor)


def test_hidden_states_of_every_layer_match_torch(model, batch, golden):
    ours = model.hidden_states(batch.input_ids, batch.attention_mask, batch.token_type_ids)
    assert_close(np.stack(ours), golden["hidden_states"])


def test_outputs_match_torch(model, batch, golden):
    hidden, pooled = model.encode(batch.input_ids, batch.attention_mask, batch.token_type_ids)
    assert_close(pooled, golden["pooled"])
    real = batch.attention_mask.astype(bool)  # behind a text's last token hidden is 0
    assert_close(model.mlm_logits(hidden)[real], golden["mlm_logits"][real])
    assert_close(model.sop_logits(pooled), golden["sop_logits"])


def test_losses_match_torch(model, batch, golden):
    losses = model.loss(batch)
    assert_close(losses.mlm, golden["mlm_loss"])
    assert_close(losses.sop, golden["sop_loss"])
    assert_close(losses.total, golden["mlm_loss"] + golden["sop_loss"])


def test_every_gradient_matches_torch(model, batch, golden):
    theirs = part(golden, "gradient")
    _, grads = model.loss_and_grads(batch)
    ours = to_state_dict(grads, model.config)
    assert set(ours) == set(theirs) == set(part(golden, "weight"))
    floor = 1e-3 * max(np.abs(gradient).max() for gradient in theirs.values())
    for name, gradient in theirs.items():
        assert_close(ours[name], gradient, floor)


def test_ten_steps_of_descent_match_torch(model, batch, golden):
    course = []
    for _ in range(10):
        losses, grads = model.loss_and_grads(batch)
        course.append(losses.total)
        model.params.flat[...] -= golden["learning_rate"] * grads.flat
    course.append(model.loss(batch).total)
    assert_close(np.array(course), golden["descent"])
    assert course[-1] < course[0]


def test_the_two_gelu_forms_would_not_pass_for_each_other(golden, model, batch):
    other = {"gelu": "gelu_new", "gelu_new": "gelu"}[model.config.hidden_act]
    changed = Albert(model.config.replace(hidden_act=other), model.params)
    ours = changed.hidden_states(batch.input_ids, batch.attention_mask, batch.token_type_ids)
    assert np.abs(ours[-1] - golden["hidden_states"][-1]).max() > 1e-5
