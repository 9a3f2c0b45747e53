"""Sparse attention is full attention under a (T, T) mask, computed tile by tile."""

import json
import re
import sys
import tomllib
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from minalbert import PRESETS, Albert, AlbertConfig, Batch, DropoutKey
from minalbert.backend import lowest, to_host
from minalbert.commands import main
from minalbert.errors import ConfigError, PretrainedError
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params
from minalbert.kernels import Dropout, kernels_for, missing
from minalbert.kernels.cpu import attention as cpu_attention
from minalbert.kernels.cpu.sparse_attention import backward_in_tiles, forward_in_tiles
from minalbert.layers import (
    Pattern,
    attention_backward,
    attention_forward,
    key_mask,
    sparse_attention_backward,
    sparse_attention_forward,
)
from minalbert.layers.attention import merge_heads
from minalbert.layers.sparse_attention import tiles
from minalbert_course.your_code import your_code

T = 37
KINDS = ("local", "block", "strided")
PATTERNS = [
    Pattern(kind, window, 7, first, queries)
    for kind in KINDS for window in (1, 4, 5, 16, 100) for first in (0, 1, 3, 50) for queries in (1, 5, 64)
]  # fmt: skip
LOCAL = {"attention": "local", "attention_window": 2, "attention_global": 0}


def named(pattern):
    return f"{pattern.kind} {pattern.window}, first {pattern.first}, tiles of {pattern.queries}"


def pair_mask(pattern, mask):
    """(B, 1, 1, T) -> (B, 1, T, T), from the pattern's definition alone, pair by pair."""
    length = mask.shape[-1]
    pairs = np.full((len(mask), 1, length, length), lowest(mask.dtype))
    for b, i in np.ndindex(len(mask), length):
        window = [j for j in range(length) if pattern.sees(i, j)]
        pairs[b, 0, i, [j for j in window if not mask[b, 0, 0, j]] or window] = 0
    return pairs


def tensors(seed=0, length=T, dtype="float64"):
    rng = np.random.default_rng(seed)
    mask = np.ones((2, length), int)
    mask[1, 5:] = 0  # more padding than a window is wide
    return *rng.standard_normal((4, 2, 3, length, 4)).astype(dtype), key_mask(mask, dtype)


@pytest.mark.parametrize("pattern", PATTERNS, ids=named)
def test_it_is_full_attention_under_the_patterns_mask(pattern):
    q, k, v, dcontext, mask = tensors()
    context, cache = sparse_attention_forward(q, k, v, mask, pattern=pattern)
    expected, full = attention_forward(q, k, v, pair_mask(pattern, mask))
    np.testing.assert_allclose(context, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(cache.probs, full.probs, rtol=0, atol=1e-13)
    for found, right in zip(
        sparse_attention_backward(dcontext, cache), attention_backward(dcontext, full), strict=True
    ):
        if right is not None:
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("window", [1, 2, 5, 8])
def test_a_window_has_so_many_tokens_in_all_and_lies_around_its_token(window):
    sees = Pattern("local", window, 1, 0).sees(np.arange(40)[:, None], np.arange(40))
    assert set(sees[window:-window].sum(axis=1)) == {window}
    seen = np.flatnonzero(sees[20])
    assert (seen[0], seen[-1]) == (20 - window // 2, 20 + (window - 1) // 2)


def test_blocks_and_strides_by_hand():
    i = np.arange(6)
    block = Pattern("block", 4, 1, 0).sees(i[:, None], i)
    assert (block == [[1, 1, 1, 1, 0, 0]] * 4 + [[0, 0, 0, 0, 1, 1]] * 2).all()
    strided = Pattern("strided", 1, 3, 0).sees(i[:, None], i)
    assert (strided == np.eye(6, dtype=bool) | np.array([1, 0, 0, 1, 0, 0], bool)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_tokens_see_all_and_are_seen_by_all(kind):
    sees = Pattern(kind, 2, 9, 3).sees(np.arange(20)[:, None], np.arange(20))
    assert sees[:3].all()
    assert sees[:, :3].all()
    assert not sees[3:, 3:].all()


@pytest.mark.parametrize("pattern", PATTERNS, ids=named)
def test_every_query_lies_in_one_tile_which_holds_all_that_it_sees(pattern):
    cut = tiles(pattern, T, np)
    assert sorted(place for tile in cut for place in range(*tile.queries.indices(T))) == list(range(T))
    for tile in cut:
        assert len(set(tile.keys)) == len(tile.keys)
        seen = pattern.sees(np.arange(*tile.queries.indices(T))[:, None], np.arange(T))
        assert (~tile.hidden == seen[:, tile.keys]).all()
        assert seen.sum() == (~tile.hidden).sum()


@pytest.mark.parametrize(("kind", "growth"), [("local", 2.0), ("block", 2.0), ("strided", 3.4)])
def test_scores_that_are_computed_grow_with_the_length_and_not_with_its_square(kind, growth):
    """From T to 2 T. Every 64th token as well: T (w + T / s), the square once T / s outgrows the window."""

    def scores(length):
        return sum(tile.hidden.size for tile in tiles(Pattern(kind, 256, 64, 1), length, np))

    assert scores(16384) / scores(8192) < growth + 0.01
    assert scores(8192) < 8192 * (256 + 64 + 1 + (8192 // 64 if kind == "strided" else 0) + 2)


def test_a_token_whose_window_is_all_padding_does_not_look_outside_it():
    q, k, v, _, mask = tensors()
    pattern = Pattern("local", 4, 1, 0, queries=8)
    _, cache = sparse_attention_forward(q, k, v, mask, pattern=pattern)
    assert (cache.probs[1, :, 30, [28, 29, 30, 31]] > 0).all()
    np.testing.assert_allclose(cache.probs[1, :, 30, 28:32].sum(axis=-1), 1)


def test_every_tile_has_a_dropout_mask_of_its_own():
    q, k, v, _, mask = tensors(length=32)
    pattern = Pattern("block", 8, 1, 0)
    _, cache = sparse_attention_forward(q, k, v, mask, 0.5, DropoutKey(1), pattern=pattern)
    masks = [tile.dropout[0] for tile in cache.attention]
    assert len(masks) == 4
    assert all((a != b).mean() > 0.3 for i, a in enumerate(masks) for b in masks[:i])


def test_a_model_with_a_window_as_wide_as_its_text_is_the_full_model():
    params, batch = hard_params(TINY), hard_batch(TINY)
    expected, grads = Albert(TINY, params).loss_and_grads(batch)
    for changes in ({"attention": "local", "attention_window": 10}, {"attention": "block", "attention_window": 5}):
        losses, found = Albert(TINY.replace(**changes), params).loss_and_grads(batch)
        assert losses.total == pytest.approx(expected.total, rel=1e-13)
        np.testing.assert_allclose(found.flat, grads.flat, rtol=0, atol=1e-13 * np.abs(grads.flat).max())


@pytest.mark.parametrize("sharing", ["all", "none"])
@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_reach_of_stacked_layers_is_layers_times_half_a_window(layers, sharing):
    """Exactly: one token farther has a gradient of zero. Sharing does not shrink it."""
    config = TINY.replace(num_hidden_layers=layers, sharing=sharing, max_position_embeddings=40,
                          attention="local", attention_window=9, attention_global=0)  # fmt: skip
    encoding = Albert(config, hard_params(config, heads=())).forward(np.full((1, 40), 3))
    dhidden = np.zeros_like(encoding.hidden)
    dhidden[0, 20] = np.random.default_rng(0).standard_normal(config.hidden_size)
    rows = np.abs(encoding.backward(dhidden)["embeddings.position"]).max(axis=1)
    reach = np.flatnonzero(rows)
    assert (reach[0], reach[-1]) == (20 - 4 * layers, 20 + 4 * layers)


def test_the_global_token_reaches_everything_in_two_layers():
    config = TINY.replace(num_hidden_layers=2, max_position_embeddings=40, **LOCAL | {"attention_global": 1})
    encoding = Albert(config, hard_params(config, heads=())).forward(np.full((1, 40), 3))
    dhidden = np.zeros_like(encoding.hidden)
    dhidden[0, 39] = 1 + np.arange(config.hidden_size)
    assert (np.abs(encoding.backward(dhidden)["embeddings.position"]).max(axis=1) > 0).all()


def test_attention_maps_are_zero_where_nothing_is_seen():
    config = TINY.replace(**LOCAL)
    model, batch = Albert(config, hard_params(config)), hard_batch(config)
    maps = model.attention_maps(batch.input_ids, batch.attention_mask)
    assert len(maps) == config.num_hidden_layers
    i = np.arange(5)
    sees = Pattern("local", 2, 1, 0).sees(i[:, None], i)
    for probs in maps:
        assert probs.shape == (3, 2, 5, 5)
        assert (probs[0][:, sees] > 0).all()
        assert (probs[:, :, ~sees] == 0).all()
        np.testing.assert_allclose(probs.sum(-1), 1, rtol=1e-14)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"attention": "sparse"}, "attention is 'sparse'; it must be one of: full, local, block, strided"),
        ({"attention_window": 0}, "attention_window is 0; it must be a whole number, at least 1"),
        ({"attention_stride": 2.5}, "attention_stride is 2.5; it must be a whole number, at least 1"),
        ({"attention_global": -1}, "attention_global is -1; it must be a whole number, at least 0"),
    ],
)
def test_a_wrong_field_is_told_in_a_sentence(changes, sentence):
    with pytest.raises(ConfigError) as error:
        AlbertConfig(**changes)
    assert str(error.value) == sentence


def test_config_json_tells_what_differs_from_the_default(tmp_path):
    config = PRESETS["tiny"]
    Albert.init(config).save_pretrained(tmp_path / "full")
    assert not any("attention_" in key for key in entry(tmp_path / "full"))
    sparse = config.replace(attention="strided", attention_window=16, attention_global=0)
    Albert.init(sparse).save_pretrained(tmp_path / "sparse")
    written = {"attention": "strided", "attention_window": 16, "attention_global": 0}
    assert written.items() <= entry(tmp_path / "sparse").items()
    assert "attention_stride" not in entry(tmp_path / "sparse")
    assert Albert.from_pretrained(tmp_path / "sparse").config == sparse
    assert Albert.from_pretrained(tmp_path / "full").config == config


def entry(directory):
    return json.loads((directory / "config.json").read_text())["minalbert"]


def test_a_wrong_entry_of_config_json_is_told(tmp_path):
    Albert.init(PRESETS["tiny"]).save_pretrained(tmp_path)
    data = json.loads((tmp_path / "config.json").read_text())
    data["minalbert"]["attention"] = "dilated"
    (tmp_path / "config.json").write_text(json.dumps(data))
    (tmp_path / "hashes.json").unlink()
    with pytest.raises(PretrainedError, match="attention is 'dilated'"):
        Albert.from_pretrained(tmp_path)


def test_a_released_checkpoint_takes_a_window(tmp_path):
    """The same weights, another configuration; a window that holds the text changes nothing."""
    Albert.init(PRESETS["tiny"]).save_pretrained(tmp_path)
    model = Albert.from_pretrained(tmp_path)
    batch = Batch.random(model.config, 2, 40, 3)
    hidden, _ = model.encode(*batch[:3])
    for window, same in ((80, True), (8, False)):
        local = Albert(model.config.replace(attention="local", attention_window=window), model.params)
        found, _ = local.encode(*batch[:3])
        assert np.allclose(found, hidden, atol=1e-5) == same


KERNELS = [("fused", "float64", 1e-12), ("fused", "float32", 2e-5), ("compiled", "float32", 2e-5)]


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize(("kernels", "dtype", "atol"), KERNELS)
@pytest.mark.parametrize(
    "pattern", [pattern for pattern in PATTERNS if pattern.queries != 1 and pattern.window in (5, 16)], ids=named
)
def test_kernels_agree_with_the_layer(pattern, kernels, dtype, atol, rate, monkeypatch):
    """Inputs are slices of wider rows; outputs are full of NaN before, the tiles of scores small."""
    if reason := missing(kernels, "full", "cpu"):
        pytest.skip(reason)
    monkeypatch.setattr(cpu_attention, "TILE_BYTES", 2**10)
    q, k, v, dcontext, mask = tensors(dtype=dtype)
    key, rows = DropoutKey(3, example=4), lambda x: merge_heads(x).reshape(2 * T, 12)
    wide = np.concatenate([rows(x) for x in (q, k, v, dcontext)], axis=1)
    wide_q, wide_k, wide_v, wide_dcontext = np.split(wide, 4, axis=1)
    context, dq, dk, dv = np.full((4, 2 * T, 12), np.nan, dtype)
    lse, flat_mask = np.full((2, 3, T), np.nan, dtype), np.ascontiguousarray(mask[:, 0, 0])
    dropout = Dropout(rate, key, T) if rate else None
    do = kernels_for(kernels, "full", "cpu")
    do.sparse_attention_forward(wide_q, wide_k, wide_v, flat_mask, 3, dropout, pattern, context=context, lse=lse)
    do.sparse_attention_backward(
        wide_dcontext, wide_q, wide_k, wide_v, flat_mask, 3, dropout, pattern, context, lse, dq=dq, dk=dk, dv=dv
    )
    exact = [*(x.astype(np.float64) for x in (q, k, v)), tensors()[-1]]
    expected, cache = sparse_attention_forward(*exact, rate, key, pattern=pattern)
    gradients = sparse_attention_backward(dcontext.astype(np.float64), cache)
    for found, right in zip((context, dq, dk, dv), (expected, *gradients[:3]), strict=True):
        np.testing.assert_allclose(found, rows(right), rtol=0, atol=atol)


@pytest.mark.parametrize("kernels", ["fused", "compiled"])
def test_no_kernel_ever_computes_a_score_between_tiles(kernels):
    """The full kernel is asked for few of the scores of 4,096 tokens, and they take little memory."""
    if reason := missing(kernels, "full", "cpu"):
        pytest.skip(reason)
    do, length, pattern, asked = kernels_for(kernels, "full", "cpu"), 4096, Pattern("local", 256, 64, 1), []
    q, mask = np.zeros((length, 8), np.float32), np.zeros((1, length), np.float32)
    context, lse = np.empty_like(q), np.empty((1, 1, length), np.float32)

    def noting(q, k, v, mask, *others, **outputs):
        asked.append(mask.shape[1] * mask.shape[2])
        do.attention_forward(q, k, v, mask, *others, **outputs)

    tracemalloc.start()
    forward_in_tiles(noting, q, q, q, mask, 1, None, pattern, context=context, lse=lse)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert sum(asked) == sum(tile.hidden.size for tile in tiles(pattern, length, np))
    assert sum(asked) < 0.1 * length**2
    assert most < 0.2 * length**2


@pytest.mark.parametrize("first", [0, 1])
def test_the_tile_that_sees_all_copies_no_keys(first):
    k, mask = np.zeros((T, 8), np.float32), np.zeros((1, T), np.float32)
    context, dk, lse, shared = np.empty_like(k), np.empty_like(k), np.empty((1, 1, T), np.float32), []

    def forward(q, k_tile, *others, **outputs):
        shared.append(np.shares_memory(k_tile, k))

    def backward(dcontext, q, k_tile, *others, **outputs):
        shared.append(np.shares_memory(k_tile, k) and np.shares_memory(outputs["dk"], dk))
        outputs["dk"].fill(0)  # what is added must be numbers
        outputs["dv"].fill(0)

    pattern = Pattern("local", 5, 7, first, 8)
    forward_in_tiles(forward, k, k, k, mask, 1, None, pattern, context=context, lse=lse)
    backward_in_tiles(
        backward, context, k, k, k, mask, 1, None, pattern, context, lse, dq=context, dk=dk, dv=np.empty_like(k)
    )
    expected = [first > 0, *[False] * (len(tiles(pattern, T, np)) - 1)]
    assert shared == 2 * expected


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("positions", [None, [[3, 1], [2, 2], [0, 4]]], ids=["all", "at positions"])
def test_a_models_positions_are_taken_after_its_tiles(kernels, positions):
    config = TINY.replace(attention="local", attention_window=3)
    params, batch = hard_params(config), hard_batch(config)
    model = Albert(config, params, kernels=kernels)
    whole, _ = Albert(config, params).encode(*batch[:3])
    found, _ = model.encode(*batch[:3], positions)
    expected = whole if positions is None else whole[np.arange(3)[:, None], positions]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_on_a_gpu_it_runs_with_plain_kernels_and_says_so(monkeypatch):
    import fake_cupy

    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    config = TINY.replace(attention="strided", attention_window=2, attention_stride=2)
    params = hard_params(config).astype("float32")
    with pytest.raises(ConfigError) as error:
        Albert(config, params.to("cuda"), kernels="fused")
    assert str(error.value) == "attention 'strided' has no CUDA kernels; on a GPU it needs kernels 'plain'"
    losses, grads = Albert(config, params.to("cuda")).loss_and_grads(hard_batch(config))
    expected, expected_grads = Albert(config, params).loss_and_grads(hard_batch(config))
    assert float(losses.total) == pytest.approx(float(expected.total), rel=1e-6)
    np.testing.assert_allclose(to_host(grads.flat), expected_grads.flat, atol=1e-5)


def test_pretrain_takes_it_from_the_command_line(capsys):
    options = ["--attention", "local", "--attention-window", "16", "--attention-global", "0", "--print-config"]
    assert main(["pretrain", "runs/none", "--corpus", "none", *options]) == 0
    written = tomllib.loads(capsys.readouterr().out)["model"]
    assert {name: written[name] for name in ("attention", "attention_window", "attention_global")} == {
        "attention": "local", "attention_window": 16, "attention_global": 0,
    }  # fmt: skip


def test_the_examples_of_its_chapter_print_what_stands_below_them(capsys):
    page = (Path(__file__).parent.parent / "docs" / "long_texts.md").read_text(encoding="utf-8")
    names, printed = {}, re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(code, names)
    assert capsys.readouterr().out == "".join(printed)


def test_your_own_attention_runs_in_every_tile():
    config, calls = TINY.replace(attention="block", attention_window=2, attention_global=0), []

    def counting(q, k, v, mask, rate=0.0, key=None):
        calls.append(q.shape[2])
        return attention_forward(q, k, v, mask, rate, key)

    def backward(dcontext, cache):
        return attention_backward(dcontext, cache)

    expected = Albert(config, hard_params(config)).loss(hard_batch(config))
    with your_code({"attention_forward": counting, "attention_backward": backward}, check=False):
        assert Albert(config, hard_params(config)).loss(hard_batch(config)) == expected
    assert calls == [2, 2, 1] * config.num_hidden_layers
