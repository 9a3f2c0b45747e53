"""One vector, read through names."""

import copy
import inspect
import pickle
import tracemalloc

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Params
from minalbert.backend import to_host
from minalbert.data.recipe import Recipe
from minalbert.errors import ConfigError, DataError, MinalbertError, UnknownNameError
from minalbert.gradcheck.cases import TINY
from minalbert.optim import AdamW, Lamb, Schedule
from minalbert.params import SAMPLES, count, initialise, shapes


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


@pytest.mark.parametrize("dtype", ["int32", "float31", "bfloat16", int, np.dtype("float32").newbyteorder()])
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


def test_weights_are_sampled_in_pieces_as_if_at_once():
    """A run's first weights are those of its seed, whatever the size of a piece."""
    rng = np.random.default_rng(3)
    at_once = rng.standard_normal((8000, 64))
    while (outside := np.abs(at_once) > 2).any():
        at_once[outside] = rng.standard_normal(np.count_nonzero(outside))
    config = TINY.replace(vocab_size=8000, embedding_size=64)
    assert at_once.size > 2 * SAMPLES
    word = initialise(config, seed=3, dtype="float64")["embeddings.word"]
    np.testing.assert_array_equal(word, at_once * config.initializer_range)


def test_sampling_needs_little_memory_beside_the_weights():
    config = TINY.replace(vocab_size=30_000, embedding_size=64)
    tracemalloc.start()
    size = initialise(config).flat.nbytes
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1.5 * size  # a float64 array of the table alone is 2


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


# Copies, and parts of the vector


def test_astype_and_to_copy_unless_told_otherwise(device):
    params = initialise(TINY, device=device)
    for twin in (params.astype("float32"), params.to(device)):
        twin.flat[:] = 7.0
        assert not (params.flat == 7.0).any()
    for alias in (params.astype("float32", copy=False), params.to(device, copy=False)):
        alias.flat[:] = 7.0
        assert (params.flat == 7.0).all()
        params.flat[:] = 0.0
    assert params.astype("float64", copy=False).dtype == np.float64
    assert params.to("cpu").device == "cpu"


def test_a_selection_is_a_view_of_the_tensors_that_begin_so():
    params = initialise(TINY)
    heads = params.select("mlm.", "sop.")
    assert heads.names == tuple(heads) == tuple(name for name in params if name.startswith(("mlm.", "sop.")))
    assert len(heads) == len(heads.names) == 7
    heads["sop.b"] += 1.0
    assert (to_host(params["sop.b"]) == 1.0).all()
    assert "pooler.w" not in heads
    assert "2 of" in repr(params.select("sop."))
    with pytest.raises(TypeError, match="would break the view"):
        heads["sop.b"] = np.zeros(2, np.float32)
    with pytest.raises(UnknownNameError, match=r"no tensor 'pooler\.w' in the selection"):
        heads["pooler.w"]
    with pytest.raises(UnknownNameError, match=r"begins with 'encodr\.'; did you mean 'encoder'"):
        params.select("encodr.")


# Mistyped names


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: initialise(TINY)["encoder.atention.query.w"], UnknownNameError,
         "there is no tensor 'encoder.atention.query.w'; did you mean 'encoder.attention.query.w'?"),
        (lambda: PRESETS["albert-bse"], UnknownNameError,
         "there is no preset 'albert-bse'; did you mean 'albert-base'?"),
        (lambda: PRESETS["xyz"], UnknownNameError, "there is no preset 'xyz'; there are: tiny, mini, albert-base-v1"),
        (lambda: AlbertConfig(hiden_size=3), ConfigError,
         "AlbertConfig has no field 'hiden_size'; did you mean 'hidden_size'?"),
        (lambda: TINY.replace(num_layers=3), ConfigError, "no field 'num_layers'; did you mean 'num_hidden_layers'?"),
        (lambda: Recipe(max_lenght=3), DataError, "Recipe has no field 'max_lenght'; did you mean 'max_length'?"),
        (lambda: AdamW(beta=3), ConfigError, "AdamW has no field 'beta'; did you mean 'betas'?"),
        (lambda: Lamb(clip=3), ConfigError, "Lamb has no field 'clip'; did you mean 'clamp'?"),
        (lambda: Schedule(1, 1, warm_up=3), ConfigError, "Schedule has no field 'warm_up'; did you mean 'warmup'?"),
        (lambda: Albert.init(TINY, heads=("poolr",)), ConfigError, "heads names 'poolr'; did you mean 'pooler'?"),
        (lambda: Albert.init(TINY, kernals="fused"), ConfigError,
         "a model has no option 'kernals'; did you mean 'kernels'?"),
        (lambda: Albert.init(TINY, sed=1), ConfigError, "no option 'sed'; did you mean 'seed'?"),
        (lambda: Albert.init(TINY).copy(precison="bf16"), ConfigError, "no option 'precison'; did you mean 'preci"),
        (lambda: Albert.init(TINY).to("cpu", pair=None), ConfigError, "no option 'pair'; did you mean 'pairs'?"),
        (lambda: Albert.init(TINY).copy(heads=()), ConfigError, "no option 'heads'; there are: kernels, precision"),
    ],
)  # fmt: skip
def test_a_mistyped_name_is_one_sentence_with_the_nearest(call, error, sentence):
    with pytest.raises(error) as raised:
        call()
    assert isinstance(raised.value, MinalbertError)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("size", ["base", "large", "xlarge", "xxlarge"])
def test_a_preset_without_a_version_is_the_second(size):
    assert PRESETS[f"albert-{size}"] is PRESETS[f"albert-{size}-v2"]
    assert PRESETS.full_name(f"albert-{size}") == f"albert-{size}-v2"
    assert f"albert-{size}" in PRESETS
    assert f"albert-{size}" not in list(PRESETS)
    assert "bert-base-v2" not in PRESETS


def test_names_that_are_not_there_are_looked_up_as_in_a_dict():
    params = initialise(TINY)
    assert "no.such" not in params
    assert params.get("no.such") is None
    assert PRESETS.get("no such") is None


def test_help_explains_every_field():
    from minalbert import Batch

    for cls, fields in ((AlbertConfig, AlbertConfig.__dataclass_fields__), (Batch, Batch._fields)):
        for field in fields:
            assert f"\n    {field} " in cls.__doc__, field
    assert "hidden_size" in str(inspect.signature(AlbertConfig))


@pytest.mark.parametrize("heads", [("mlm", "mlm"), ("pooler", "sop", "pooler")])
def test_each_head_is_named_once(heads):
    with pytest.raises(ConfigError, match=r"heads is \[.*\]; it must be each head once"):
        Albert.init(TINY, heads=heads)
