"""Operations, counted in a real pass; memory, counted in a real arena and by Python's own trace of allocations."""

import gc
import tracemalloc
from collections import Counter

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Batch, DropoutKey, Params
from minalbert.analysis import cost, memory, memory_for_time
from minalbert.config import SHARING
from minalbert.fused import arena, fused_pairs
from minalbert.layers.sparse_attention import Tile
from minalbert.model import PLAIN, encoder, pretraining_backward, pretraining_forward, reversible
from minalbert.model.encoder import encoder_backward, encoder_forward
from minalbert.model.heads import positions_read
from minalbert.parallel import cut
from minalbert.parallel.slices import examples_together
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
    "local": SMALL.replace(attention="local", attention_window=4),
    "block": SMALL.replace(attention="block", attention_window=4, hidden_dropout_prob=0.1),
    "strided": SMALL.replace(attention="strided", attention_window=3, attention_stride=4, sharing="none"),
    "local, dropout": SMALL.replace(attention="local", attention_window=4, attention_probs_dropout_prob=0.1),
    "dropout of probabilities": SMALL.replace(attention_probs_dropout_prob=0.1, sharing="none"),
}
every_config = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
every_heads = pytest.mark.parametrize("heads", [HEADS, ("mlm",), ("pooler", "sop")], ids="+".join)
both_dtypes = pytest.mark.parametrize("dtype", ["float32", "float64"])
recomputing_or_not = pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
every_recompute = pytest.mark.parametrize("recompute", [False, 1, 2, 3, 4, 5], ids=lambda k: f"recompute {k}")


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


def plain_context(config, batch, heads=HEADS):
    """The context of a model whose weights count operations."""
    params = Albert.init(config, heads=heads).params
    params = Params(params.flat.view(Counting), params.shapes)
    Counting.operations = 0
    return PLAIN.context(PLAIN, config, params, batch.attention_mask)


def counted(config, heads=HEADS, recompute=False):
    """Operations of a real forward pass, and of a real forward and backward pass."""
    batch = Batch.random(config, B, T, P)
    ctx = plain_context(config, batch, heads)
    _, cache = pretraining_forward(batch, ctx, recompute=recompute)
    forward = Counting.operations
    pretraining_backward(cache, ctx, ctx.params.zeros_like())
    return forward, Counting.operations


@every_config
@every_heads
def test_operations_are_those_of_a_real_pass(config, heads):
    forward, both = counted(config, heads)
    unread = cost.unread_operations(config, T, P)
    assert forward == B * (cost.forward_operations(config, T, P, heads) - unread)
    assert both == B * (cost.training_operations(config, T, P, heads) - 3 * unread)
    assert both == 3 * forward


@every_config
@pytest.mark.parametrize("recompute", [True, 2, 3])
def test_recomputation_runs_the_layers_twice(config, recompute):
    _, both = counted(config, recompute=recompute)
    unread = cost.unread_operations(config, T, P)
    assert both == B * (cost.training_operations(config, T, P, recompute=recompute) - 4 * unread)


@every_config
def test_reversible_layers_are_computed_twice(config):
    config = config.replace(reversible=True)
    forward, both = counted(config)
    unread = cost.unread_operations(config, T, P)
    assert forward == B * (cost.forward_operations(config, T, P) - unread)
    assert both == B * (cost.training_operations(config, T, P) - 4 * unread)


def test_operations_of_the_last_layer_that_are_left_out():
    """The issue's shares of the encoder: some 35 % for two layers, 17 % for four, 6 % for twelve."""
    base = PRESETS["albert-base-v2"]
    for layers, low, high in ((2, 0.33, 0.37), (4, 0.16, 0.19), (12, 0.05, 0.07)):
        config = base.replace(num_hidden_layers=layers)
        share = cost.unread_operations(config, 128, 20) / cost.forward_operations(config, 128, heads=())
        assert low < share < high
    assert cost.unread_operations(base, T=5, P=4) == 0
    assert cost.unread_operations(base, T=5, P=5) < 0  # a place asked for twice is computed twice


def test_operations_without_heads_are_those_of_the_trunk():
    batch = Batch.random(SMALL, B, T, P)
    ctx = plain_context(SMALL, batch)
    x, _ = PLAIN.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    encoder_forward(x, ctx)
    assert Counting.operations == B * cost.forward_operations(SMALL, T, heads=())


@pytest.mark.parametrize("preset", PRESETS)
def test_sharing_changes_neither_operations_nor_activations(preset):
    configs = [PRESETS[preset].replace(sharing=sharing) for sharing in SHARING]
    length = configs[0].max_position_embeddings
    assert len({cost.forward_operations(config, length) for config in configs}) == 1
    assert len({memory.activation_bytes(config, 8, length) for config in configs}) == 1
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


def largest_stacks(config, dtype="float32", key=None, recompute=False, heads=HEADS, P=P):
    """{label: bytes} of both stacks of a real pass at their largest, all layers' arrays of one label together."""
    params, pairs = Albert.init(config, dtype=dtype, heads=heads).params, fused_pairs()
    own = pairs.memory(params)
    batch = Batch.random(config, B, T, P)._replace(mlm_weights=np.ones((B, P), np.float32))
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, own)
    _, cache = pretraining_forward(batch, ctx, recompute=recompute)
    pretraining_backward(cache, ctx, params.zeros_like())
    held = Counter()
    for label, size in own.arena.largest() + own.scratch.largest():
        held[label] += size
    return held


@every_config
@both_dtypes
@every_recompute
@pytest.mark.parametrize("key", [None, DropoutKey(seed=5)], ids=["no dropout", "dropout"])
def test_prediction_is_what_a_pass_holds(config, dtype, recompute, key):
    config = config.replace(num_hidden_layers=5)
    held, itemsize = largest_stacks(config, dtype, key, recompute), np.dtype(dtype).itemsize
    tables = memory.layers_held(config, B, T, P, recompute)
    tables += [(memory.outside_layers(config, B, T, P, key is not None), 1)]
    rows = [(row, count) for table, count in tables for row in table]
    predicted = Counter()
    for row, count in rows:
        predicted[row.labels] += count * memory.held_bytes([row], config, B, T, P, itemsize)
    for labels, size in predicted.items():
        assert size == sum(held[label] for label in labels), labels
    assert set(held) == {label for labels in predicted for label in labels}
    whole = memory.activation_bytes(config, B, T, P, itemsize, key is not None, recompute)
    assert whole == sum(held.values())


@every_heads
def test_prediction_knows_the_heads(heads):
    held = largest_stacks(SMALL, heads=heads)
    assert sum(held.values()) == memory.activation_bytes(SMALL, B, T, P, heads=heads)


LARGEST_SCRATCH = {
    "dk": (SMALL, P),
    "du": (SMALL.replace(intermediate_size=200), P),
    "embeddings.dy": (SMALL.replace(embedding_size=200), 1),
    "mlm.dx": (SMALL.replace(embedding_size=200), T),
}


@pytest.mark.parametrize(("label", "config", "P"), [(label, *case) for label, case in LARGEST_SCRATCH.items()])
def test_the_scratch_stack_is_that_of_whatever_needs_most(label, config, P):
    held = largest_stacks(config, P=P)
    assert label in held
    assert sum(held.values()) == memory.activation_bytes(config, B, T, P)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
@recomputing_or_not
def test_one_more_layer_takes_what_is_predicted(monkeypatch, dropout, recompute):
    """What the allocator gives out, Python's own small objects included."""
    monkeypatch.setattr(arena, "SMALLEST_BLOCK", 0)  # blocks are as large as what lies in them
    B, T = 8, 128
    config = PRESETS["mini"].replace(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    batch, pairs = Batch.random(config, B, T, 20), fused_pairs()

    def held(layers):
        params = Albert.init(config).params
        grads, own = params.zeros_like(), pairs.memory(params)
        deep = config.replace(num_hidden_layers=layers)
        gc.collect()
        tracemalloc.start()
        for _ in range(2):  # after the first pass each stack is one block
            ctx = pairs.context(pairs, deep, params, batch.attention_mask, DropoutKey(seed=1), own)
            _, cache = pretraining_forward(batch, ctx, recompute=recompute)
            size, _ = tracemalloc.get_traced_memory()
            size += sum(block.nbytes for stack in (own.arena, own.scratch) for block in stack.blocks)
            pretraining_backward(cache, ctx, grads)
        tracemalloc.stop()
        return size

    held(1)  # what Python makes once and keeps
    predicted = memory.layer_bytes(config, B, T, recompute=recompute)
    for layers in (2, 3):
        assert held(layers + 1) - held(layers) == pytest.approx(predicted, rel=0.02)


def arrays_in(cache):
    """Every array of numbers in a cache; ids and row numbers are none, nor are tiles, which all passes share."""
    if isinstance(cache, np.ndarray):
        yield from [cache] if cache.dtype.kind in "fb" else []
    elif isinstance(cache, Tile):
        return
    elif isinstance(cache, tuple | list):
        for part in cache:
            yield from arrays_in(part)


def owned(cache, params):
    """The bytes of these arrays, each counted once however often it is there; parameters are not among them."""
    owners = {}
    for array in arrays_in(cache):
        while isinstance(array.base, np.ndarray):
            array = array.base
        owners[id(array)] = array
    return sum(array.nbytes for array in owners.values() if array is not params.flat)


@every_config
@both_dtypes
@pytest.mark.parametrize("layers", [1, 2, 5])
@pytest.mark.parametrize("method", range(4))
def test_prediction_is_what_plain_caches_hold(config, dtype, layers, method, monkeypatch):
    """Between the passes: the encoder's cache and its output. In backward: the caches that are made again at a time."""
    config = config.replace(num_hidden_layers=layers, num_hidden_groups=min(layers, config.num_hidden_groups))
    methods = {0: (0, False), 1: (1, False), 2: (min(2, layers), False), 3: (0, True)}
    method = memory_for_time.Method("", *methods[method])
    config = config.replace(reversible=method.reversible)
    params = Albert.init(config, dtype=dtype).params
    batch = Batch.random(config, B, T, P)._replace(mlm_weights=np.ones((B, P), np.float32))
    ctx = PLAIN.context(PLAIN, config, params, batch.attention_mask, DropoutKey(seed=5))
    x, _ = PLAIN.embeddings.forward(batch.input_ids, batch.token_type_ids, ctx)
    y, cache = encoder_forward(x, ctx, method.recompute, positions_read(batch))
    kept, again = [y, *arrays_in(cache)], [0]

    def noting(function):
        def noted(*arguments):
            found = function(*arguments)
            caches = found[-1] if isinstance(found, tuple) else found
            new = [array for array in arrays_in(caches) if not any(array is old for old in kept)]
            again.append(owned(new, params))
            return found

        return noted

    monkeypatch.setattr(encoder, "caches_from", noting(encoder.caches_from))
    for name in ("reversible_block_forward", "reversible_block_inputs"):
        monkeypatch.setattr(reversible, name, noting(getattr(reversible, name)))
    measured = owned(kept, params)
    encoder_backward(np.ones_like(y), cache, ctx, params.zeros_like())
    held = memory_for_time.plain_layers_held(config, B, T, P, method)
    assert memory_for_time.plain_bytes(held, config, B, T, P, np.dtype(dtype).itemsize) == measured + max(again)


def test_recomputing_several_layers_at_a_time_pays_in_deep_models_alone():
    """A layer is as large as ten inputs: k = √(L / 10) needs least, which is 1 of 12 layers, and 2 of 24 and 48."""
    base = PRESETS["albert-base-v2"]
    for layers, best in ((12, 1), (24, 2), (48, 2), (96, 3)):
        config = base.replace(num_hidden_layers=layers)
        needed = {k: memory.activation_bytes(config, 8, 512, recompute=k) for k in range(1, layers + 1)}
        assert min(needed, key=needed.get) == best


def test_the_table_has_a_row_for_each_method():
    config = PRESETS["albert-base-v2"]
    rows = memory_for_time.table(config, 8, 128)
    assert [row["name"] for row in rows] == [
        "keep all", "in parts, by one thread", "recompute each layer", "recompute 3 layers at a time",
        "reversible",
    ]  # fmt: skip
    assert [row["activation_bytes"] for row in rows] == [
        memory.activation_bytes(config, 8, 128), memory.activation_bytes(config, 2, 128),
        *(memory.activation_bytes(config, 8, 128, recompute=k) for k in (1, 3)), None,
    ]  # fmt: skip
    assert [round(row["operations"], 2) for row in rows] == [1.0, 1.0, 1.33, 1.33, 1.33]
    assert [row["gradients"] for row in rows] == [1, 2, 1, 1, 1]
    assert [row["gradients"] for row in memory_for_time.table(config, 64, 128)] == [1, 4, 1, 1, 1]
    assert memory_for_time.table(config.replace(sharing="none"), 8, 128) == rows
    assert len(memory_for_time.table(config.replace(num_hidden_layers=2), 8, 128)) == 4


@pytest.mark.parametrize("size", [1, 2, 5, 8, 64])
@pytest.mark.parametrize("length", [16, 128, 512])
@pytest.mark.parametrize("hidden_size", [64, 768])
def test_the_size_of_parts_is_that_of_a_batch_which_is_cut(size, length, hidden_size):
    batch = Batch.random(PRESETS["albert-base-v2"], size, length, 2)
    batch = batch._replace(attention_mask=np.ones_like(batch.attention_mask))
    parts = [part.batch for slice in cut(batch, hidden_size) for part in slice]
    assert max(len(part.input_ids) for part in parts) == examples_together(size, length, hidden_size)
