"""Implementations of the five pairs against the plain one, which is the specification; a new one is one more row."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from fingerprint import fingerprint

from minalbert import Albert, AlbertConfig, Batch, DropoutKey, Totals
from minalbert.backend import to_device, to_host
from minalbert.compute import Compute
from minalbert.config import SHARING
from minalbert.fused import fused_pairs
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params, model_cases
from minalbert.kernels import missing
from minalbert.kernels.cpu import attention, cross_entropy, tiles
from minalbert.model import PLAIN, pretraining_backward, pretraining_forward
from minalbert.params import HEADS

WIDE = AlbertConfig(
    vocab_size=3000, embedding_size=64, hidden_size=192, num_hidden_layers=2, num_attention_heads=3,
    intermediate_size=768, max_position_embeddings=160, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
)  # fmt: skip
DROPPED = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
KEY = DropoutKey(seed=5, step=2)
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}


class Row(NamedTuple):
    compute: Compute
    dtype: str
    device: str
    units: int  # of rounding that a gradient may differ by


ROWS = {
    "fused": Row(Compute("fused"), "float64", "cpu", 100),
    "fused, float32": Row(Compute("fused"), "float32", "cpu", 200),
    "compiled": Row(Compute("compiled"), "float32", "cpu", 400),
    "plain, on a GPU": Row(Compute("plain"), "float64", "cuda", 100),
}  # fmt: skip
SHAPES = {
    **{f"sharing {sharing}": TINY.replace(sharing=sharing) for sharing in SHARING},
    "groups": TINY.replace(num_hidden_layers=6, num_hidden_groups=2),
    "groups of attention": TINY.replace(num_hidden_layers=5, num_hidden_groups=3, sharing="attention"),
    "erf": TINY.replace(hidden_act="gelu"),
    "local attention": TINY.replace(attention="local", attention_window=2),
    "block attention": TINY.replace(attention="block", attention_window=2),
    "strided attention": TINY.replace(attention="strided", attention_window=1, attention_stride=2),
    "E = H": TINY.replace(embedding_size=TINY.hidden_size),
    "E = H, projected": TINY.replace(embedding_size=TINY.hidden_size, embedding_projection=True),
}


@pytest.fixture(params=ROWS.values(), ids=ROWS)
def row(request):
    found = request.param
    if found.device == "cuda":
        request.getfixturevalue("pretended")
    elif reason := missing(found.compute.kernels, found.compute.precision, found.device):
        pytest.skip(reason)
    return found


@pytest.fixture
def pretended(monkeypatch):
    import sys

    import fake_cupy

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)


def passed(pairs, config, params, batch, key=None, totals=Totals(), recompute=False, memory=None, **more):
    """Losses and gradient of one pass."""
    grads = params.zeros_like()
    batch = batch.to(params.device)
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, memory or pairs.memory(params))
    losses, cache = pretraining_forward(batch, ctx, totals, recompute, **more)
    losses = [None if loss is None else float(loss) for loss in losses]
    pretraining_backward(cache, ctx, grads)
    return losses, grads


def assert_same(found, expected, units):
    """Every tensor's gradient within so many rounding units of the largest entry of any."""
    (losses, grads), (plain_losses, plain_grads) = found, expected
    eps = EPS[grads.dtype.name]
    for loss, plain in zip(losses, plain_losses, strict=True):
        assert (loss is None) == (plain is None)
        assert loss is None or abs(float(loss) - float(plain)) <= units * eps * abs(float(plain))
    scale = np.abs(plain_grads.flat).max()
    for name, grad in grads.items():
        np.testing.assert_allclose(to_host(grad), plain_grads[name], rtol=0, atol=units * eps * scale, err_msg=name)


def compared(row, config, heads=HEADS, batch=None, **options):
    """The row's losses and gradient, and those of the plain pairs, from the same weights."""
    params = hard_params(config, heads).astype(row.dtype)
    batch = hard_batch(config) if batch is None else batch
    there = params.to(row.device)
    return passed(row.compute.pairs(), config, there, batch, **options), passed(PLAIN, config, params, batch, **options)


@pytest.mark.parametrize("recompute", [False, True, 2], ids=["keep", "recompute", "every 2nd"])
@pytest.mark.parametrize("key", [None, KEY], ids=["no dropout", "dropout"])
@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_every_model_has_the_plain_ones_losses_and_gradients(row, config, key, recompute):
    config = config.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
    assert_same(*compared(row, config, key=key, recompute=recompute), row.units)


@pytest.mark.parametrize("heads", [HEADS, ("mlm",), ("pooler", "mlm"), ("pooler", "sop")], ids="+".join)
def test_with_and_without_each_head(row, heads):
    assert_same(*compared(row, DROPPED, heads, key=KEY), row.units)


def test_weights_of_losses_and_totals_of_slices(row):
    options = {"totals": Totals(targets=40.0, sequences=11.0), "weights": (0.25, 3.0)}
    found, expected = compared(row, DROPPED, **options)
    assert_same(found, expected, row.units)
    mlm, sop, total = expected[0]
    assert total == pytest.approx(0.25 * mlm + 3.0 * sop, rel=1e-6)


def test_hidden_states_and_the_way_back(row):
    """Albert.forward: hidden and pooled, and the gradient from theirs; also without the heads of pretraining."""
    params, batch, rng = (
        hard_params(DROPPED, ("pooler",)).astype(row.dtype),
        hard_batch(DROPPED),
        np.random.default_rng(3),
    )
    model = Albert(DROPPED, params.to(row.device), **row.compute._asdict())
    plain = Albert(DROPPED, params)
    dhidden, dpooled = rng.standard_normal((3, 5, 6)).astype(row.dtype), rng.standard_normal((3, 6)).astype(row.dtype)
    for given in ({"dhidden": dhidden}, {"dpooled": dpooled}, {"dhidden": dhidden, "dpooled": dpooled}):
        for recompute in (False, True):
            expected = plain.forward(*batch[:3], dropout=KEY)
            found = model.forward(*batch[:3], dropout=KEY, recompute=recompute)
            np.testing.assert_allclose(to_host(found.hidden), expected.hidden, atol=row.units * EPS[row.dtype])
            np.testing.assert_allclose(to_host(found.pooled), expected.pooled, atol=row.units * EPS[row.dtype])
            there = {name: to_device(x, row.device) for name, x in given.items()}
            assert_same(((), found.backward(**there)), ((), expected.backward(**given)), row.units)


@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
@pytest.mark.parametrize("config", SHAPES.values(), ids=SHAPES)
def test_a_last_layer_at_few_positions_is_the_whole_one_at_those(row, config, recompute):
    """hidden and gradient; a position may be asked for twice, and at padding."""
    params, batch = hard_params(config).astype(row.dtype), hard_batch(config)
    model, plain = Albert(config, params.to(row.device), **row.compute._asdict()), Albert(config, params)
    positions, rng = np.array([[3, 1], [2, 2], [0, 4]]), np.random.default_rng(3)
    expected = plain.forward(*batch[:3])
    found = model.forward(*batch[:3], recompute=recompute, positions=positions)
    at = np.arange(3)[:, None], positions
    atol = row.units * EPS[row.dtype]
    np.testing.assert_allclose(to_host(found.hidden), expected.hidden[at], atol=atol)
    np.testing.assert_allclose(to_host(found.pooled), expected.pooled, atol=atol)
    np.testing.assert_allclose(to_host(model.encode(*batch[:3], positions)[0]), expected.hidden[at], atol=atol)
    dhidden, dpooled = rng.standard_normal((3, 2, 6)).astype(row.dtype), rng.standard_normal((3, 6)).astype(row.dtype)
    everywhere = np.zeros_like(expected.hidden)
    np.add.at(everywhere, at, dhidden)
    there = {"dhidden": to_device(dhidden, row.device), "dpooled": to_device(dpooled, row.device)}
    assert_same(((), found.backward(**there)), ((), expected.backward(everywhere, dpooled)), row.units)


@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
def test_more_positions_than_tokens(row, recompute):
    params, batch = hard_params(TINY).astype(row.dtype), hard_batch(TINY)
    model, plain = Albert(TINY, params.to(row.device), **row.compute._asdict()), Albert(TINY, params)
    positions = np.tile(np.arange(5), (3, 2))
    expected, found = plain.forward(*batch[:3]), model.forward(*batch[:3], recompute=recompute, positions=positions)
    at = np.arange(3)[:, None], positions
    np.testing.assert_allclose(to_host(found.hidden), expected.hidden[at], atol=row.units * EPS[row.dtype])
    dhidden = np.random.default_rng(3).standard_normal((3, 10, 6)).astype(row.dtype)
    everywhere = np.zeros_like(expected.hidden)
    np.add.at(everywhere, at, dhidden)
    found, expected = found.backward(to_device(dhidden, row.device)), expected.backward(everywhere)
    assert_same(((), found), ((), expected), row.units)


def test_the_last_layer_has_queries_for_what_the_losses_read_alone(row):
    """[CLS] and three slots, in the last of three layers; the others have all five tokens'."""
    shapes, pairs = [], row.compute.pairs()
    half = pairs.attention_half

    def noting(*arguments):
        y, cache = half.forward(*arguments)
        shapes.append(y.shape)
        return y, cache

    pairs = pairs._replace(attention_half=half._replace(forward=noting))
    passed(pairs, TINY, hard_params(TINY).astype(row.dtype).to(row.device), hard_batch(TINY))
    assert shapes == [(3, 5, 6), (3, 5, 6), (3, 4, 6)]


def test_encoding_and_states(row):
    params, batch = hard_params(DROPPED).astype(row.dtype), hard_batch(DROPPED)
    model, plain = Albert(DROPPED, params.to(row.device), **row.compute._asdict()), Albert(DROPPED, params)
    atol = row.units * EPS[row.dtype]
    for found, expected in zip(model.encode(*batch[:3]), plain.encode(*batch[:3]), strict=True):
        np.testing.assert_allclose(to_host(found), expected, atol=atol)
    for found, expected in zip(model.hidden_states(*batch[:3]), plain.hidden_states(*batch[:3]), strict=True):
        np.testing.assert_allclose(to_host(found), expected, atol=atol)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [33, 160])
def test_tiles_of_all_kinds_agree_with_the_plain_model(dtype, length, monkeypatch):
    """So small that rows, heads, examples and words are cut into many tiles, the last ones smaller."""
    for module in (tiles, attention, cross_entropy):
        monkeypatch.setattr(module, "TILE_BYTES", 2**14)
    params = Albert.init(WIDE, seed=3, dtype=dtype).params
    batch = Batch.random(WIDE, 7, length, 9, seed=1)
    options = {"key": DropoutKey(5, 2), "totals": Totals(targets=40.0, sequences=11.0)}
    expected = passed(PLAIN, WIDE, params, batch, **options)
    assert_same(passed(fused_pairs(), WIDE, params, batch, **options), expected, units=200)


def test_recomputing_changes_no_bit_and_keeps_less():
    config, batch = WIDE.replace(num_hidden_layers=3), Batch.random(WIDE, 7, 33, 9, seed=1)
    params, pairs, kept, found = Albert.init(config, seed=3).params, fused_pairs(), [], []
    for recompute in (False, True, 2):
        memory = pairs.memory(params)
        found.append(passed(pairs, config, params, batch, DropoutKey(5), recompute=recompute, memory=memory))
        kept.append(sum(size for _, size in memory.arena.largest()))
    (losses, grads), *others = found
    for again, grads_again in others:
        assert losses == again
        assert fingerprint(grads.flat) == fingerprint(grads_again.flat)
    assert kept[1] < 0.8 * kept[0]  # with three layers; of twelve it is a fifth
    assert kept[1] < kept[2] < kept[0]


def test_what_an_earlier_batch_left_behind_is_not_seen():
    """Memory full of NaN, and of a larger batch, gives the bits of fresh memory."""
    params, pairs = Albert.init(WIDE, seed=3).params, fused_pairs()
    small, large = Batch.random(WIDE, 3, 20, 5, seed=1), Batch.random(WIDE, 5, 60, 9, seed=2)
    _, fresh = passed(pairs, WIDE, params, small, DropoutKey(5))
    memory = pairs.memory(params)
    passed(pairs, WIDE, params, large, DropoutKey(5), memory=memory)
    for block in [*memory.arena.blocks, *memory.scratch.blocks]:
        block.fill(0xFF)
    _, used = passed(pairs, WIDE, params, small, DropoutKey(5), memory=memory)
    assert fingerprint(fresh.flat) == fingerprint(used.flat)


def test_after_two_batches_memory_stays_where_it_is():
    params, pairs = Albert.init(WIDE, seed=3).params, fused_pairs()
    memory, batch = pairs.memory(params), Batch.random(WIDE, 3, 20, 5, seed=1)
    addresses, sizes = [], set()
    for _ in range(4):
        passed(pairs, WIDE, params, batch, memory=memory)
        addresses.append([block.ctypes.data for block in [*memory.arena.blocks, *memory.scratch.blocks]])
        sizes.add((memory.arena.size, memory.scratch.size))
    assert addresses[1] == addresses[2] == addresses[3]
    assert len(addresses[1]) == 2
    assert len(sizes) == 1


@pytest.mark.parametrize("recompute", [False, True], ids=["keep", "recompute"])
def test_every_half_releases_what_it_needed_for_a_moment(recompute):
    params, pairs = Albert.init(WIDE, seed=3).params, fused_pairs()
    memory, batch = pairs.memory(params), Batch.random(WIDE, 3, 20, 5, seed=1)
    passed(pairs, WIDE, params, batch, DropoutKey(5), recompute=recompute, memory=memory)
    assert [entry.label for entry in memory.scratch.stack] == ["dhidden", "dx"]


CASES = [case for case in model_cases() if not case.config.reversible]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_gradient_is_the_slope_of_the_loss(case):
    """Against nothing but the fused forward pass itself: differences of fourth order along a random direction.

    Their error is h⁴ = 2e-19 times the fifth derivative, and rounding, 1e-16 / h.
    """
    params, batch, pairs = hard_params(case.config, case.heads), hard_batch(case.config), fused_pairs()
    _, grads = passed(pairs, case.config, params, batch, case.key)
    direction, start, h = np.random.default_rng(1).standard_normal(params.flat.size), params.flat.copy(), 2e-5

    def loss(steps):
        params.flat[...] = start + steps * h * direction
        return passed(pairs, case.config, params, batch, case.key)[0][-1]

    slope = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * h)
    assert slope == pytest.approx(float(grads.flat @ direction), rel=1e-8)


@pytest.mark.parametrize("name", ["plain", "fused"])
def test_every_site_of_the_model_has_its_own_dropout_mask(name, monkeypatch):
    """Each layer and site, embeddings among them; a tensor dropped twice alike would go unseen."""
    from minalbert.kernels import dropout as kernels_dropout
    from minalbert.layers import dropout as layers_dropout

    places = []

    def noting(x, rate, key, *first):
        places.append((key.layer, key.site))
        return dropout_mask(x, rate, key, *first)

    dropout_mask = layers_dropout.dropout_mask
    monkeypatch.setattr(layers_dropout if name == "plain" else kernels_dropout, "dropout_mask", noting)
    pairs, params, batch = Compute(name).pairs(), hard_params(DROPPED), hard_batch(DROPPED)
    pretraining_forward(batch, pairs.context(pairs, DROPPED, params, batch.attention_mask, KEY, pairs.memory(params)))
    assert len(places) == 1 + 3 * DROPPED.num_hidden_layers
    assert len(set(places)) == len(places)


@pytest.mark.skipif(missing("fused", "bf16", "cpu") is not None, reason=str(missing("fused", "bf16", "cpu")))
@pytest.mark.parametrize("kernels", ["fused", "compiled"])
def test_bf16_rounds_what_is_multiplied_and_no_more(kernels):
    """Inputs of 8 bits err by 2⁻⁹ of themselves at most, at random; a dozen products in a row by some 1 %."""
    if reason := missing(kernels, "bf16", "cpu"):
        pytest.skip(reason)
    params, batch = Albert.init(WIDE, seed=3).params, Batch.random(WIDE, 7, 33, 9, seed=1)
    losses, grads = passed(fused_pairs(kernels), WIDE, params, batch, DropoutKey(5))
    found, rounded = passed(fused_pairs(kernels, "bf16"), WIDE, params, batch, DropoutKey(5))
    assert found[-1] == pytest.approx(losses[-1], rel=1e-3)
    for name in ("encoder.ffn.up.w", "encoder.attention.value.w", "embeddings.word"):
        error = np.linalg.norm(rounded[name] - grads[name]) / np.linalg.norm(grads[name])
        assert 1e-4 < error < 0.02, name


@pytest.mark.parametrize("kernels", ["plain", "fused", "compiled"])
def test_arrays_may_lie_in_memory_as_they_like(kernels):
    if reason := missing(kernels, "full", "cpu") if kernels != "plain" else None:
        pytest.skip(reason)
    model, batch = Albert.init(WIDE, kernels=kernels), Batch.random(WIDE, 3, 20, 5)
    crooked = [np.asfortranarray(array) for array in batch[:3]]
    np.testing.assert_array_equal(model.encode(*crooked)[0], model.encode(*batch[:3])[0])


def test_pairs_of_ones_own_are_what_runs():
    """An attention half that also counts its calls, in place of the plain one."""
    calls = []

    def attention_half_forward(x, layer, ctx, positions=None):
        calls.append(layer)
        return PLAIN.attention_half.forward(x, layer, ctx, positions)

    half = PLAIN.attention_half._replace(forward=attention_half_forward)
    model = Albert(TINY, hard_params(TINY), pairs=PLAIN._replace(attention_half=half))
    losses, grads = model.loss_and_grads(hard_batch(TINY))
    assert calls == list(range(TINY.num_hidden_layers))
    expected, expected_grads = Albert(TINY, hard_params(TINY)).loss_and_grads(hard_batch(TINY))
    assert losses == expected
    assert math.isfinite(losses.total)
    np.testing.assert_array_equal(grads.flat, expected_grads.flat)
