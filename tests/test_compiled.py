"""Compiled loops against layers in float64, against their NumPy twins, and whole passes against the plain model.

A unit is 2⁻²³ of the largest number expected. A sum of R numbers may be off by a few units, made in any order.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

pytest.importorskip("numba", reason="numba is not installed (pip install 'minalbert[fast]')")

from fingerprint import fingerprint

from minalbert import AlbertConfig, Batch, DropoutKey, Totals, layers
from minalbert.fused import fused_pairs
from minalbert.gradcheck.cases import hard_batch, hard_params, model_cases
from minalbert.kernels import Dropout, compiled, cpu
from minalbert.kernels.compiled import loops
from minalbert.kernels.cpu import attention, cross_entropy, tiles
from minalbert.layers.attention import split_heads
from minalbert.model import PLAIN, pretraining_backward, pretraining_forward

KERNELS, COMPILED = compiled.KERNELS, fused_pairs("compiled")
MODULES = [
    compiled.gelu, compiled.norm, compiled.attention, compiled.cross_entropy, compiled.embedding, compiled.loops,
]  # fmt: skip
EPS = 2.0**-23
LENGTHS = [1, 5, 33, 130]  # of examples: 130 is two blocks and a rest
WIDE = AlbertConfig(
    vocab_size=700, embedding_size=24, hidden_size=96, num_hidden_layers=2, num_attention_heads=3,
    intermediate_size=200, max_position_embeddings=160, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
)  # fmt: skip


def normal(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def wide(*arrays):
    return [x.astype(np.float64) for x in arrays]


def assert_near(found, expected, units, name=""):
    assert found.dtype == np.float32
    atol = units * EPS * np.abs(expected).max(initial=1e-30)
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol, err_msg=name)


def assert_as_good(name, arguments, expected, units):
    """Both twins, run on copies of the same arguments, give {arguments: expected} within so many units."""
    for kernels in (cpu.KERNELS, KERNELS):
        given = {key: x.copy() if isinstance(x, np.ndarray) else x for key, x in arguments.items()}
        getattr(kernels, name)(**given)
        for keys, answer in expected.items():
            found = np.concatenate([given[key] for key in keys.split()], axis=-1)
            assert_near(found, answer, units, f"{keys} of {name}")


@pytest.fixture(params=[None, 2**12], ids=["tiles", "small tiles"])
def _tiles(request, monkeypatch):
    """So small, in the second round, that rows, heads, examples and words are cut into many."""
    for module in (tiles, attention, cross_entropy) if request.param else ():
        monkeypatch.setattr(module, "TILE_BYTES", request.param)


def test_exp_is_good_to_one_and_a_half_units_of_the_last_place():
    """0.9 where the processor adds a product in one rounding, 1.2 where it does not."""
    x = np.concatenate([np.linspace(-87, 88, 20_011), np.linspace(-0.4, 0.4, 5_003)]).astype(np.float32)
    found, exact = np.array([loops.exp(number) for number in x], np.float64), np.exp(x.astype(np.float64))
    assert (np.abs(found - exact) / np.spacing(exact.astype(np.float32))).max() < 1.5
    assert loops.exp(0.0) == 1.0


def test_exp_where_float32_ends():
    assert loops.exp(-87.1) == loops.exp(-1e4) == loops.exp(-np.inf) == 0
    assert loops.exp(88.5) == loops.exp(np.inf) == loops.exp(88.0) > 1.6e38
    assert np.isnan(loops.exp(np.nan))


@pytest.mark.parametrize("form", ["tanh", "erf"])
@pytest.mark.parametrize("rows", LENGTHS)
def test_gelu(rows, form):
    u, bias, dy, dbias = 3 * normal(rows, 67), normal(67), normal(rows, 67, seed=1), normal(67, seed=1)
    forward, backward = layers.GELU[form]
    y, cache = forward(sum(wide(u, bias)))
    (du,) = backward(wide(dy)[0], cache)
    assert_as_good("gelu_forward", {"u": u, "bias": bias, "form": form, "out": np.full_like(u, np.nan)}, {"out": y}, 4)
    expected = {"dy": du, "u": y, "dbias": dbias + du.sum(axis=0)}
    assert_as_good("gelu_backward", {"dy": dy, "u": u, "bias": bias, "form": form, "dbias": dbias}, expected, 16)


def test_gelu_keeps_its_digits_far_to_the_left():
    """Where 1 + tanh is nearly 0, x s is not: its error is that of an exponent of size 2u, not of a difference."""
    x = np.linspace(-5, -1, 500, dtype=np.float32)[None]
    y = np.empty_like(x)
    KERNELS.gelu_forward(x, np.zeros(500, np.float32), "tanh", out=y)
    (wide_x,) = wide(x)
    two_u = 2 * math.sqrt(2 / math.pi) * (wide_x + 0.044715 * wide_x**3)
    exact = wide_x / (1 + np.exp(-two_u))
    assert (np.abs(y / exact - 1) / (EPS * (4 + np.abs(two_u)))).max() < 1


def test_the_slope_of_gelu_is_better_than_its_twin_s():
    """1 - tanh² is a difference of nearly equal numbers, worth 10 units at x = 5; e s is none."""
    x = np.linspace(-9, 9, 20_001, dtype=np.float32)[None]
    _, cache = layers.gelu_forward(*wide(x))
    (slope,) = layers.gelu_backward(np.ones_like(x, np.float64), cache)
    du, (bias, dbias) = np.ones_like(x), np.zeros((2, x.size), np.float32)
    KERNELS.gelu_backward(du, x.copy(), bias, "tanh", dbias=dbias)
    assert_near(du, slope, 2)


def test_gelu_of_the_largest_numbers_is_their_positive_part():
    x = np.array([[-3e38, -1e20, -30, 30, 1e20, 3e38, np.nan]], np.float32)
    y, zeros = np.empty_like(x), np.zeros(7, np.float32)
    KERNELS.gelu_forward(x, zeros, "tanh", out=y)
    np.testing.assert_allclose(y[0], [0, 0, 0, 30, 1e20, 3e38, np.nan], rtol=EPS, atol=2)
    assert abs(y[0, 2]) < 1e-30


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("given", ["linear bias and residual", "linear bias", "residual", "neither"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.usefixtures("_tiles")
def test_norm(length, given, rate):
    B, H, eps = 3, 37, 0.1
    R = B * length
    linear_bias = normal(H, seed=2) if "bias" in given else None
    residual = normal(R, H, seed=3) if "residual" in given else None
    dropout = Dropout(rate, DropoutKey(4, 5, example=6), length) if rate else None
    h, gain, bias, dy = normal(R, H), 1 + normal(H, seed=4), normal(H, seed=5), normal(R, H, seed=6)

    z = wide(h)[0] + (0 if linear_bias is None else linear_bias)
    if dropout:
        z, kept = layers.dropout_forward(z.reshape(B, length, H), rate, dropout.key)
        z = z.reshape(R, H)
    z = z + (0 if residual is None else residual)
    y, cache = layers.layer_norm_forward(z, *wide(gain, bias), eps)
    dz, dgain, dbias = layers.layer_norm_backward(wide(dy)[0], cache)
    dh = layers.dropout_backward(dz.reshape(B, length, H), kept)[0].reshape(R, H) if dropout else dz
    xhat, rstd = (z - z.mean(axis=1, keepdims=True)), 1 / np.sqrt(z.var(axis=1) + eps)
    xhat *= rstd[:, None]

    blank = np.full((R, H), np.nan, np.float32)
    arguments = {"h": h, "gain": gain, "bias": bias, "eps": eps, "linear_bias": linear_bias, "residual": residual,
                 "dropout": dropout, "out": blank, "rstd": blank[:, 0].copy()}  # fmt: skip
    assert_as_good("norm_forward", arguments, {"h": xhat, "out": y, "rstd": rstd}, 8)

    start = normal(H, seed=7)
    arguments = {"dy": dy, "xhat": xhat.astype(np.float32), "rstd": rstd.astype(np.float32), "gain": gain,
                 "dropout": dropout, "dgain": start, "dbias": start,
                 "dlinear_bias": None if linear_bias is None else start, "dh": blank}  # fmt: skip
    expected = {"dy": dz, "dgain": start + dgain, "dbias": start + dbias}
    expected |= {"dlinear_bias": start + dh.sum(axis=0)} if linear_bias is not None else {}
    assert_as_good("norm_backward", arguments, expected | ({"dh": dh} if dropout else {}), 16)


@pytest.mark.usefixtures("_tiles")
def test_dropout_drops_what_its_mask_says_to_the_last_bit():
    B, T, H = 5, 6, 40
    dropout = Dropout(0.3, DropoutKey(4, 5, example=6), T)
    dy, xhat, rstd, gain = normal(B * T, H), normal(B * T, H, seed=1), 1 + normal(B * T) ** 2, normal(H)
    (dgain, dbias), dh = np.zeros((2, H), np.float32), np.full_like(dy, np.nan)
    KERNELS.norm_backward(dy, xhat, rstd, gain, dropout=dropout, dgain=dgain, dbias=dbias, dh=dh)
    factors = dropout.factors(dy.reshape(B, T, H), 0).reshape(dy.shape)
    assert set(factors.ravel()) == {0, np.float32(65536 / (65536 - round(0.3 * 65536)))}
    assert np.array_equal(dh, dy * factors)


@pytest.mark.parametrize("rate", [0.0, 0.3])
@pytest.mark.parametrize("length", [*LENGTHS, 160])
@pytest.mark.usefixtures("_tiles")
def test_attention(length, rate):
    B, N, D = 3, 2, 7
    H = N * D
    qkv, dcontext = 1.5 * normal(B * length, 3 * H), normal(B * length, H, seed=1)
    mask = np.zeros((B, length), np.float32)
    mask[1, length // 2 + 1 :] = -10000.0
    mask[2, :] = -3 * np.abs(normal(length))
    dropout = Dropout(rate, DropoutKey(4, 5, example=6), length) if rate else None

    q, k, v = (split_heads(x.reshape(B, length, H), N) for x in np.split(wide(qkv)[0], 3, axis=1))
    out, cache = layers.attention_forward(q, k, v, wide(mask)[0][:, None, None], rate, dropout and dropout.key)
    dout = split_heads(wide(dcontext)[0].reshape(B, length, H), N)
    merge = [x.swapaxes(1, 2).reshape(B * length, H) for x in (out, *layers.attention_backward(dout, cache)[:3])]
    scores = q @ k.swapaxes(-1, -2) / math.sqrt(D) + mask[:, None, None]
    lse = np.log(np.exp(scores).sum(axis=-1))

    nothing = np.full((B, N, length), np.nan, np.float32)
    thirds = dict(zip("qkv", np.split(qkv, 3, axis=1), strict=True))
    arguments = thirds | {"mask": mask, "heads": N, "dropout": dropout, "context": np.full_like(dcontext, np.nan),
                          "lse": nothing}  # fmt: skip
    assert_as_good("attention_forward", arguments, {"context": merge[0], "lse": lse}, 16)
    arguments = {"dcontext": dcontext} | arguments | {"context": merge[0].astype(np.float32)}
    arguments |= {"lse": lse.astype(np.float32)} | {f"d{name}": np.full_like(dcontext, np.nan) for name in "qkv"}
    assert_as_good("attention_backward", arguments, {"dq dk dv": np.concatenate(merge[1:], axis=1)}, 64)


def test_attention_drops_what_its_twin_drops():
    """Equal probabilities of values that are a unit matrix: the context shows each number of the mask."""
    B, T = 3, 8
    qkv = np.zeros((B * T, 3 * T), np.float32)
    qkv[:, 2 * T :] = np.tile(np.eye(T), (B, 1))
    dropout, found = Dropout(0.4, DropoutKey(4, 5, example=6), T), []
    for kernels in (cpu.KERNELS, KERNELS):
        context, lse = np.empty((B * T, T), np.float32), np.empty((B, 1, T), np.float32)
        thirds = np.split(qkv, 3, axis=1)
        kernels.attention_forward(*thirds, np.zeros((B, T), np.float32), 1, dropout, context=context, lse=lse)
        found.append(context)
    assert np.array_equal(*found)
    assert 0.2 < (found[0] == 0).mean() < 0.6


@pytest.mark.parametrize("K", [0, 1, 9, 130])
@pytest.mark.usefixtures("_tiles")
def test_cross_entropy(K):
    E, V, rng = 13, 301, np.random.default_rng(3)
    x, table, bias, labels = normal(K, E), normal(V, E, seed=1), normal(V, seed=2), rng.integers(0, V, K)
    labels[K // 2 :] = labels[:1]  # one word is meant more than once
    shares = rng.random(K).astype(np.float32)
    logits, decoder = layers.decoder_forward(*wide(x, table, bias))
    lse = np.log(np.exp(logits).sum(axis=1))
    losses = lse - logits[np.arange(K), labels]
    dlogits = np.exp(logits - lse[:, None])
    dlogits[np.arange(K), labels] -= 1
    dx, dtable, dbias = layers.decoder_backward(dlogits * shares[:, None], decoder)

    blank = np.full(K, np.nan, np.float32)
    arguments = {"x": x, "table": table, "bias": bias, "labels": labels, "lse": blank, "losses": blank}
    assert_as_good("cross_entropy_forward", arguments, {"lse": lse, "losses": losses}, 4)
    dstart, bstart = normal(V, E, seed=4), normal(V, seed=5)
    arguments = {
        "x": x,
        "table": table,
        "bias": bias,
        "labels": labels,
        "shares": shares,
        "lse": lse.astype(np.float32),
        "dx": np.full_like(x, np.nan),
        "dtable": dstart,
        "dbias": bstart,
    }
    expected = {"dx": dx, "dtable": dstart + dtable, "dbias": bstart + dbias}
    assert_as_good("cross_entropy_backward", arguments, expected, 16)


def test_a_loss_that_is_no_number_is_reported():
    x, table = normal(3, 4), normal(9, 4, seed=1)
    x[1, 2] = np.nan
    lse, losses = np.empty((2, 3), np.float32)
    KERNELS.cross_entropy_forward(x, table, normal(9), np.array([1, 2, 3]), lse=lse, losses=losses)
    assert np.isnan(losses).tolist() == [False, True, False]


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_embedding(dtype):
    B, T, E, V, rng = 4, 33, 19, 11, np.random.default_rng(3)
    ids, types = rng.integers(0, V, (B, T)).astype(dtype), rng.integers(0, 2, (B, T)).astype(dtype)
    ids.flags.writeable = False
    tables = normal(V, E), normal(T + 5, E), normal(2, E)
    y, cache = layers.embedding_forward(ids, types, *wide(*tables))
    dy = normal(B * T, E, seed=1)
    grads = layers.embedding_backward(wide(dy)[0].reshape(B, T, E), cache)[2:]
    keys = ("word", "position", "token_type")
    arguments = {"ids": ids, "types": types} | dict(zip(keys, tables, strict=True)) | {"out": np.full_like(dy, np.nan)}
    assert_as_good("embedding_forward", arguments, {"out": y.reshape(B * T, E)}, 2)
    keys = ("dword", "dposition", "dtoken_type")
    arguments = {"dy": dy, "ids": ids, "types": types} | dict(zip(keys, tables, strict=True))
    expected = {key: table + grad for key, table, grad in zip(keys, tables, grads, strict=True)}
    assert_as_good("embedding_backward", arguments, expected, 16)


def passed(pairs, config, params, batch, key=None, memory=None, recompute=False):
    """Losses and gradient of one pass."""
    grads = params.zeros_like()
    ctx = pairs.context(pairs, config, params, batch.attention_mask, key, memory or pairs.memory(params))
    losses, cache = pretraining_forward(batch, ctx, Totals(), recompute)
    pretraining_backward(cache, ctx, grads)
    return losses, grads


CASES = [case for case in model_cases() if not case.config.reversible]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_case_agrees_with_the_plain_model_in_float64(case):
    params, batch = hard_params(case.config, case.heads).astype("float32"), hard_batch(case.config)
    losses, expected = passed(PLAIN, case.config, params.astype("float64"), batch, case.key)
    found, grads = passed(COMPILED, case.config, params, batch, case.key)
    assert found.total == pytest.approx(float(losses.total), rel=16 * EPS)
    for name, grad in grads.items():
        atol = 64 * EPS * np.abs(expected.flat).max()
        np.testing.assert_allclose(grad, expected[name], rtol=0, atol=atol, err_msg=name)


@pytest.fixture(scope="module")
def work():
    params, batch = hard_params(WIDE).astype("float32"), Batch.random(WIDE, 7, 33, 9, seed=1)
    return params, batch, fingerprint(passed(COMPILED, WIDE, params, batch, DropoutKey(5))[1].flat)


def test_recomputing_and_what_was_left_behind_change_no_bit(work):
    params, batch, bits = work
    memory = COMPILED.memory(params)
    passed(COMPILED, WIDE, params, Batch.random(WIDE, 9, 60, 9, seed=2), DropoutKey(6), memory)
    for block in [*memory.arena.blocks, *memory.scratch.blocks]:
        block.fill(0xFF)
    again = passed(COMPILED, WIDE, params, batch, DropoutKey(5), memory, recompute=True)
    assert fingerprint(again[1].flat) == bits


def test_two_threads_at_once_change_no_bit(work):
    params, batch, bits = work

    def five_passes(memory):
        return [fingerprint(passed(COMPILED, WIDE, params, batch, DropoutKey(5), memory)[1].flat) for _ in range(5)]

    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(five_passes, [COMPILED.memory(params) for _ in range(2)]))
    assert found == [[bits] * 5] * 2


def test_every_loop_lets_other_threads_run():
    values = {name: value for module in MODULES for name, value in vars(module).items()}
    found = {name: value for name, value in values.items() if hasattr(value, "targetoptions")}
    assert len(found) == 12
    assert all(loop.targetoptions["nogil"] for loop in found.values())


def test_code_compiled_with_an_older_exp_is_forgotten(tmp_path, monkeypatch):
    """Numba compares the date of a loop's own file only."""
    monkeypatch.setattr(loops, "__file__", str(tmp_path / "loops.py"))
    (tmp_path / "__pycache__").mkdir()
    files = [tmp_path / "__pycache__" / "gelu.nbi", tmp_path / "loops.py", tmp_path / "__pycache__" / "norm.nbi"]
    for date, file in enumerate(files):
        file.touch()
        os.utime(file, (date, date))
    loops.forget_older_code()
    assert [file.exists() for file in files] == [False, True, True]


def test_float64_is_refused():
    u = np.zeros((3, 4))
    with pytest.raises(TypeError, match="No matching definition for argument type"):
        KERNELS.gelu_forward(u, u[0], "tanh", out=u)


def test_what_is_not_compiled_is_numpys():
    """bf16 or not: the same kernels are compiled."""
    pairs = (compiled.KERNELS, cpu.KERNELS), (compiled.BF16_KERNELS, cpu.BF16_KERNELS)
    for ours, numpys in pairs:
        others = [name for name in ours._fields if getattr(ours, name) is not getattr(numpys, name)]
        assert others == [
            "gelu_forward", "gelu_backward", "norm_forward", "norm_output", "norm_backward",
            "attention_forward", "attention_backward", "sparse_attention_forward", "sparse_attention_backward",
            "embedding_forward", "embedding_backward", "cross_entropy_forward", "cross_entropy_backward",
        ]  # fmt: skip
