"""One vector, read through names."""

import copy
import pickle

import numpy as np
import pytest

from minalbert import PRESETS, Albert, Params
from minalbert.errors import ConfigError
from minalbert.gradcheck.cases import TINY
from minalbert.params import count, initialise, shapes


def test_every_tensor_is_a_view_of_one_vector():
    params = initialise(TINY)
    assert params.flat.size == count(TINY) == sum(tensor.size for tensor in params.values())
    assert all(np.shares_memory(tensor, params.flat) for tensor in params.values())
    params.flat.fill(3.0)
    assert all((tensor == 3.0).all() for tensor in params.values())


def test_adding_keeps_the_view_and_assigning_is_refused():
    params = initialise(TINY)
    params["sop.b"] += 1.0
    assert np.shares_memory(params["sop.b"], params.flat)
    assert (params.flat[-2:] == 1.0).all()
    with pytest.raises(TypeError, match="would break the view"):
        params["sop.b"] = np.zeros(2, np.float32)
    with pytest.raises(TypeError, match="would break the view"):
        params["no.such"] = np.zeros(2)
    with pytest.raises(ValueError, match=r"has shape \(3,\); the tensors need \(4,\)"):
        Params(np.zeros(3), {"a": (2, 2)})


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p)), Params.copy])
def test_a_copy_reads_its_own_vector(duplicate):
    params = initialise(TINY)
    twin = duplicate(params)
    twin.flat[:] = 7.0
    assert all((tensor == 7.0).all() for tensor in twin.values())
    if duplicate is not copy.copy:
        assert not (params.flat == 7.0).any()


def test_the_vector_itself_is_never_replaced():
    params = initialise(TINY)
    params.flat -= 1.0
    with pytest.raises(TypeError, match=r"write params.flat\[...\] ="):
        params.flat = params.flat - 1.0


@pytest.mark.parametrize("dtype", ["int32", "float31", "bfloat16", int])
def test_weights_are_floats(dtype):
    with pytest.raises(ConfigError, match="it must be one of: float16, float32, float64"):
        initialise(TINY, dtype=dtype)


def test_gradients_keep_their_views_through_a_step():
    from minalbert.gradcheck.cases import hard_batch

    model = Albert.init(TINY)
    _, grads = model.loss_and_grads(hard_batch(TINY))
    assert all(np.shares_memory(grad, grads.flat) for grad in grads.values())
    assert grads.flat.any()


def test_thirty_two_tensors_of_which_thirteen_are_matrices():
    table = shapes(PRESETS["albert-base-v2"])
    assert len(table) == 32
    assert sum(len(shape) == 2 for shape in table.values()) == 13


def test_names_say_the_group_only_where_there_are_several():
    assert "encoder.attention.query.w" in shapes(TINY)
    mixed = shapes(TINY.replace(sharing="attention"))
    assert "encoder.attention.query.w" in mixed
    assert {f"encoder.ffn.{layer}.up.w" for layer in range(3)} <= set(mixed)
    assert "encoder.ffn.up.w" not in mixed


def test_initial_weights_are_a_truncated_normal():
    config = PRESETS["tiny"].replace(vocab_size=30_000, initializer_range=0.02)
    word = initialise(config, seed=1, dtype="float64")["embeddings.word"]
    assert np.abs(word).max() <= 0.04
    assert word.std() == pytest.approx(0.0175925, rel=0.003)
    assert abs(word.mean()) < 1e-4


def test_a_seed_means_one_model_whatever_the_dtype(device):
    double = initialise(TINY, seed=4, dtype="float64")
    single = initialise(TINY, seed=4, device=device).to("cpu")
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single.flat, double.flat.astype(np.float32))
    assert not np.array_equal(single.flat, initialise(TINY, seed=5).flat)


def test_gains_start_at_one_and_biases_at_zero():
    for name, tensor in initialise(TINY).items():
        if tensor.ndim == 1:
            assert (tensor == (1.0 if name.endswith("gain") else 0.0)).all(), name
        else:
            assert tensor.std() > 0, name
