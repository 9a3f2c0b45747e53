"""Operations, counted in a real pass; memory, counted in a real cache and by Python's own allocator trace."""

import gc
import tracemalloc

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Batch, Params, Stream
from minalbert.analysis import cost, memory
from minalbert.config import SHARING
from minalbert.model.embeddings import embeddings_forward
from minalbert.model.encoder import Context, block_forward, encoder_forward
from minalbert.model.pretraining import pretraining_backward, pretraining_forward
from minalbert.params import HEADS

B, T, P = 3, 10, 4
SMALL = AlbertConfig(
    vocab_size=23, embedding_size=6, hidden_size=20, num_hidden_layers=3, num_attention_heads=4,
    intermediate_size=28, max_position_embeddings=12,
)  # fmt: skip
CONFIGS = {
    **{f"sharing {sharing}": SMALL.replace(sharing=sharing) for sharing in SHARING},
    "groups": SMALL.replace(num_hidden_groups=2),
    "one table": SMALL.replace(embedding_size=20),
    "one table and projection": SMALL.replace(embedding_size=20, embedding_projection=True),
    "one head": SMALL.replace(num_attention_heads=1),
    "erf": SMALL.replace(hidden_act="gelu"),
    "dropout": SMALL.replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2),
    "dropout, one table": SMALL.replace(embedding_size=20, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.2),
    "dropout of hidden": SMALL.replace(hidden_dropout_prob=0.1, hidden_act="gelu"),
    "dropout of probabilities": SMALL.replace(attention_probs_dropout_prob=0.1, sharing="none"),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
every_heads = pytest.mark.parametrize("heads", [HEADS, ("mlm",), ("pooler", "sop")], ids="+".join)
both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
recomputing_or_not = pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])


class Counting(np.ndarray):
    """An array that counts the operations of every matrix product it or its offspring is in."""

    operations = 0

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
        plain = [x.view(np.ndarray) if isinstance(x, Counting) else x for x in inputs]
        if out is not None:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, Counting) else x for x in out)
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counting.operations += 2 * result.size * plain[0].shape[-1]
        if out is not None:
            return out[0]
        return result.view(Counting) if isinstance(result, np.ndarray) else result


def counted(config, heads=HEADS, recompute=False):
    """Operations of a real forward pass, and of a real forward and backward pass."""
    params = Albert.init(config, heads=heads).params
    params = Params(params.flat.view(Counting), params.shapes)
    Counting.operations = 0
    _, cache = pretraining_forward(params, Batch.random(config, B, T, P), config, recompute=recompute)
    forward = Counting.operations
    pretraining_backward(cache, params.zeros_like())
    return forward, Counting.operations


@every_config
@every_heads
def test_operations_are_those_of_a_real_pass(config, heads):
    forward, both = counted(config, heads)
    assert forward == B * cost.forward_operations(config, T, P, heads)
    assert both == B * cost.training_operations(config, T, P, heads)
    assert both == 3 * forward


@every_config
def test_recomputation_runs_the_layers_twice(config):
    _, both = counted(config, recompute=True)
    assert both == B * cost.training_operations(config, T, P, recompute=True)


def test_operations_without_heads_are_those_of_the_trunk():
    params = Albert.init(SMALL).params
    params = Params(params.flat.view(Counting), params.shapes)
    batch = Batch.random(SMALL, B, T, P)
    Counting.operations = 0
    x, _ = embeddings_forward(batch.input_ids, batch.token_type_ids, params, SMALL)
    encoder_forward(x, Context(params, np.zeros((B, 1, 1, T), np.float32), SMALL))
    assert Counting.operations == B * cost.forward_operations(SMALL, T, heads=())


@pytest.mark.parametrize("preset", PRESETS)
def test_sharing_changes_neither_operations_nor_activations(preset):
    configs = [PRESETS[preset].replace(sharing=sharing) for sharing in SHARING]
    length = configs[0].max_position_embeddings
    assert len({cost.forward_operations(config, length) for config in configs}) == 1
    assert len({memory.predicted_cache_bytes(config, 8, length) for config in configs}) == 1
    assert len({cost.all_reduced_bytes(config) for config in configs}) == 4


def test_operations_by_hand():
    T, P = 512, 77
    H, F, E, V, L = 768, 3072, 128, 30000, 12
    linear = 2 * T * (4 * H * H + 2 * H * F)
    attention = 2 * 2 * T * T * H
    heads = 2 * P * (H * E + E * V) + 2 * H * H + 2 * 2 * H
    assert cost.forward_operations(PRESETS["albert-base-v2"], T) == L * (linear + attention) + 2 * T * E * H + heads
    assert cost.forward_operations(PRESETS["albert-base-v2"], T, P=0, heads=("mlm",)) == (
        L * (linear + attention) + 2 * T * E * H
    )


def test_albert_large_costs_what_bert_large_costs():
    """The paper's table 2 calls it 1.7 times as fast; the operations are 99 %, the rest is not arithmetic."""
    albert = cost.training_operations(PRESETS["albert-large-v2"], 512)
    bert = cost.training_operations(PRESETS["bert-large"], 512)
    assert 0.97 < albert / bert < 1


def test_optimiser_holds_four_vectors():
    params = Albert.init(SMALL).params
    assert set(cost.optimiser_bytes(SMALL).values()) == {params.flat.nbytes}
    assert list(cost.optimiser_bytes(SMALL)) == ["weights", "gradients", "first_moments", "second_moments"]
    assert cost.optimiser_bytes(SMALL, itemsize=8)["weights"] == params.astype("float64").flat.nbytes
    assert cost.all_reduced_bytes(SMALL) == params.zeros_like().flat.nbytes


def real_pass(config, dtype, stream=None, recompute=False, heads=HEADS):
    params = Albert.init(config, dtype=dtype, heads=heads).params
    _, cache = pretraining_forward(params, Batch.random(config, B, T, P), config, stream, recompute)
    return cache, params


@every_config
@both_dtypes
@recomputing_or_not
@pytest.mark.parametrize("stream", [None, Stream(seed=5)], ids=["no coins", "coins"])
def test_prediction_is_what_a_cache_keeps(config, dtype, recompute, stream):
    cache, params = real_pass(config, dtype, stream, recompute)
    options = {"itemsize": params.dtype.itemsize, "dropout": stream is not None, "recompute": recompute}
    layers, *_ = cache.encoder
    for layer in layers:
        assert memory.cache_bytes((layer,), params) == memory.predicted_block_bytes(config, B, T, **options)
    assert memory.cache_bytes(cache.encoder, params) == memory.predicted_encoder_bytes(config, B, T, **options)
    assert memory.cache_bytes(cache, params) == memory.predicted_cache_bytes(config, B, T, P, **options)


@every_heads
def test_prediction_knows_the_heads(heads):
    cache, params = real_pass(SMALL, "float32", heads=heads)
    assert memory.cache_bytes(cache, params) == memory.predicted_cache_bytes(SMALL, B, T, P, heads=heads)


@both_dtypes
def test_recomputing_encoder_keeps_its_layers_inputs(dtype):
    cache, params = real_pass(SMALL, dtype, recompute=True)
    layers, *_ = cache.encoder
    inputs = SMALL.num_hidden_layers * B * T * SMALL.hidden_size * params.dtype.itemsize
    assert memory.cache_bytes(layers, params) == inputs


@every_config
def test_recomputing_peak_is_one_layer_on_top_of_the_inputs(config):
    stream = Stream(seed=5)
    cache, params = real_pass(config, "float32", stream, recompute=True)
    inputs, context, _ = cache.encoder
    last = config.num_hidden_layers - 1
    _, made_again = block_forward(inputs[last], last, context)
    assert memory.cache_bytes((cache, made_again), params) == memory.predicted_recompute_peak(config, B, T, P)


def test_views_count_once_and_parameters_not_at_all():
    params = Albert.init(SMALL).params
    x = np.zeros((4, 6), np.float32)
    cache = (x, [x[:, 0], x.T], params["embeddings.word"], (None, 3, "text", x.reshape(-1)[:2]), params)
    assert memory.cache_bytes(cache, params) == 96
    assert memory.cache_bytes((x[1:], np.zeros(3)), params) == 96 + 24
    assert memory.cache_bytes((), params) == 0


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@recomputing_or_not
def test_one_more_layer_takes_what_is_predicted(dropout, recompute):
    """What the allocator gives out, Python's own small objects included."""
    B, T = 8, 128
    config = PRESETS["mini"].replace(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    params = Albert.init(config).params
    x = np.random.default_rng(0).standard_normal((B, T, config.hidden_size), np.float32)
    mask = np.zeros((B, 1, 1, T), np.float32)

    def kept(layers):
        context = Context(params, mask, config.replace(num_hidden_layers=layers), Stream(seed=1))
        gc.collect()
        tracemalloc.start()
        result = encoder_forward(x, context, recompute)
        size, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        del result
        return size

    kept(1)  # what Python makes once and keeps
    predicted = memory.predicted_block_bytes(config, B, T, recompute=recompute)
    for layers in (2, 3):
        assert kept(layers + 1) - kept(layers) == pytest.approx(predicted, rel=0.02)
