"""The fast paths against the plain ones, which are the specification: every case of the gradient-check table."""

import copy
import time
import weakref

import numpy as np
import pytest
from minalbert.fast import crew
from minalbert.fast.crew import Crew
from minalbert.fast.plain import PlainEngine
from minalbert.fast.precision import How, engine_for, numba_missing
from minalbert.fast.threads import _blas, blas_threads, threads
from minalbert.fast.workspace import Workspace

from minalbert import Albert, AlbertConfig, Batch, DropoutKey, Totals
from minalbert.errors import ConfigError, DeviceError
from minalbert.gradcheck.cases import TINY, hard_batch, hard_params, model_cases
from minalbert.kernels.cpu import attention, cross_entropy, tiles
from minalbert.kernels.cpu.bf16 import missing as bf16_missing
from minalbert.kernels.cpu.gemm import gemm

WIDE = AlbertConfig(
    vocab_size=3000, embedding_size=64, hidden_size=192, num_hidden_layers=2, num_attention_heads=3,
    intermediate_size=768, max_position_embeddings=160, hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1,
)  # fmt: skip
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}


def passed(engine, batch, stream=None, totals=Totals(), keep="all"):
    """Losses and gradient of one pass."""
    grads = engine.params.zeros_like()
    losses = engine.forward(batch, stream, totals, keep)
    engine.backward(grads)
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
        np.testing.assert_allclose(grad, plain_grads[name], rtol=0, atol=units * eps * scale, err_msg=name)


@pytest.mark.parametrize("keep", ["all", "inputs"])
@pytest.mark.parametrize("case", model_cases(), ids=lambda case: case.name)
def test_every_case_agrees_with_the_plain_model(case, keep):
    """Entries of size one in float64: some 30 additions each, so a few dozen units of the last place."""
    params, batch = hard_params(case.config, case.heads), hard_batch(case.config)
    expected = passed(PlainEngine(case.config, params), batch, case.stream)
    assert_same(passed(engine_for(case.config, params), batch, case.stream, keep=keep), expected, units=100)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("length", [33, 160])
def test_tiles_of_all_kinds_agree_with_the_plain_model(dtype, length, monkeypatch):
    """So small that rows, heads, examples and words are cut into many tiles, the last ones smaller."""
    for module in (tiles, attention, cross_entropy):
        monkeypatch.setattr(module, "TILE_BYTES", 2**14)
    params = Albert.init(WIDE, seed=3, dtype=dtype).params
    batch = Batch.random(WIDE, 7, length, 9, seed=1)
    stream, totals = DropoutKey(5, 2), Totals(targets=40.0, sequences=11.0)
    expected = passed(PlainEngine(WIDE, params), batch, stream, totals)
    assert_same(passed(engine_for(WIDE, params), batch, stream, totals), expected, units=200)


def test_recomputing_changes_no_bit_and_keeps_less():
    params, batch = Albert.init(WIDE, seed=3).params, Batch.random(WIDE, 7, 33, 9, seed=1)
    engines = {keep: engine_for(WIDE, params) for keep in ("all", "inputs")}
    (losses, grads), (again, grads_again) = (
        passed(engine, batch, DropoutKey(5), keep=keep) for keep, engine in engines.items()
    )
    assert losses == again
    assert grads.flat.tobytes() == grads_again.flat.tobytes()
    kept, recomputed = (sum(engine.workspace.sizes().values()) for engine in engines.values())
    assert recomputed < 0.7 * kept  # with two layers; of twelve it is a fifth


def test_what_an_earlier_batch_left_behind_is_not_seen():
    """Buffers full of NaN, and of a larger batch, give the bits of fresh ones."""
    params = Albert.init(WIDE, seed=3).params
    small, large = Batch.random(WIDE, 3, 20, 5, seed=1), Batch.random(WIDE, 5, 60, 9, seed=2)
    _, fresh = passed(engine_for(WIDE, params), small, DropoutKey(5))
    engine = engine_for(WIDE, params)
    passed(engine, large, DropoutKey(5))
    for block in engine.workspace._blocks.values():
        block.fill(np.nan)
    _, used = passed(engine, small, DropoutKey(5))
    assert fresh.flat.tobytes() == used.flat.tobytes()


def test_a_second_batch_allocates_no_buffer():
    params = Albert.init(WIDE, seed=3).params
    engine, batch = engine_for(WIDE, params), Batch.random(WIDE, 3, 20, 5, seed=1)
    passed(engine, batch)
    blocks = {name: id(block) for name, block in engine.workspace._blocks.items()}
    passed(engine, batch)
    assert {name: id(block) for name, block in engine.workspace._blocks.items()} == blocks


def test_a_workspace_gives_the_same_memory_for_the_same_name():
    workspace = Workspace(np, np.float32)
    first = workspace("x", (4, 5))
    assert np.shares_memory(first, workspace("x", (2, 3)))
    assert not np.shares_memory(first, workspace("y", (4, 5)))
    larger = workspace("x", (40, 5))
    assert larger.shape == (40, 5)
    assert workspace.sizes() == {"x": 800, "y": 80}


@pytest.mark.parametrize("case", model_cases(), ids=lambda case: case.name)
def test_the_gradient_is_the_slope_of_the_loss(case):
    """Against nothing but the fast forward pass itself: differences of fourth order along a random direction.

    Their error is h⁴ = 2e-19 times the fifth derivative, and rounding, 1e-16 / h.
    """
    params, batch = hard_params(case.config, case.heads), hard_batch(case.config)
    engine = engine_for(case.config, params)
    _, grads = passed(engine, batch, case.stream)
    direction, start, h = np.random.default_rng(1).standard_normal(params.flat.size), params.flat.copy(), 2e-5

    def loss(steps):
        params.flat[...] = start + steps * h * direction
        return float(engine.forward(batch, case.stream, Totals(), "all").total)

    slope = (8 * (loss(1) - loss(-1)) - (loss(2) - loss(-2))) / (12 * h)
    assert slope == pytest.approx(float(grads.flat @ direction), rel=1e-8)


@pytest.mark.skipif(bf16_missing() is not None, reason=str(bf16_missing()))
def test_bf16_rounds_what_is_multiplied_and_no_more():
    """Inputs of 8 bits err by 2⁻⁹ of themselves at most, at random; a dozen products in a row by some 1 %."""
    params, batch = Albert.init(WIDE, seed=3).params, Batch.random(WIDE, 7, 33, 9, seed=1)
    losses, grads = passed(engine_for(WIDE, params), batch, DropoutKey(5))
    found, rounded = passed(engine_for(WIDE, params, How("bf16")), batch, DropoutKey(5))
    assert found.total == pytest.approx(float(losses.total), rel=1e-3)
    for name in ("encoder.ffn.up.w", "encoder.attention.value.w", "embeddings.word"):
        error = np.linalg.norm(rounded[name] - grads[name]) / np.linalg.norm(grads[name])
        assert 1e-4 < error < 0.02, name


def test_a_precision_that_cannot_be_had_is_refused():
    with pytest.raises(ConfigError, match="precision is 'bf8'; on 'cpu' it must be one of: full, bf16"):
        Albert.init(TINY, precision="bf8")
    with pytest.raises(ConfigError, match="precision 'bf16' needs float32 weights; these are float64"):
        Albert.init(TINY, dtype="float64", precision="bf16")


def test_compiled_kernels_that_cannot_be_had_are_refused(monkeypatch):
    with pytest.raises(ConfigError, match="kernels is 'fast'; it must be one of: numpy, compiled"):
        Albert.init(TINY, kernels="fast")
    with pytest.raises(ConfigError, match="kernels 'compiled' needs float32 weights; these are float64"):
        Albert.init(TINY, dtype="float64", kernels="compiled")
    monkeypatch.setattr("minalbert.fast.precision.find_spec", lambda name: None)
    with pytest.raises(DeviceError, match=r"kernels 'compiled' cannot be used: numba is not installed \("):
        Albert.init(TINY, kernels="compiled")


def test_a_copy_computes_as_its_model_does():
    model = Albert.init(WIDE)
    model._how = How("bf16")  # as if it could be had
    kind, arguments = model.__reduce__()
    assert kind.keywords == {"precision": "bf16", "kernels": "numpy"}
    assert arguments == (model.config, model.params)
    assert copy.deepcopy(Albert.init(TINY)).how == How()


def test_without_its_library_bf16_says_what_to_install(monkeypatch):
    monkeypatch.setattr("minalbert.fast.precision.bf16.missing", lambda: "oneDNN is not installed (pip install x)")
    with pytest.raises(DeviceError, match=r"precision 'bf16' cannot be used: oneDNN is not installed \("):
        Albert.init(TINY, precision="bf16")


@pytest.fixture
def two_threads():
    """BLAS with two, whatever the environment says."""
    with _blas().limit(limits=2):
        if threads() != 2:
            pytest.skip("the threads of this NumPy's BLAS cannot be told what to do")
        yield


def test_a_batch_is_cut_into_parts_where_blas_has_threads(monkeypatch, two_threads):
    """Its losses, gradients and states are those of the whole, however it is cut."""
    monkeypatch.setattr(crew, "SMALL", 1)
    config = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
    model, batch = Albert(config, hard_params(config)), hard_batch(config)
    found = {}
    for count in (1, 2, 3):
        monkeypatch.setattr(crew, "threads", lambda count=count: count)
        monkeypatch.setattr(model, "_crew", Crew(model, workers=3))
        with model._crew.cut(batch) as parts:
            assert len(parts) == count
            assert threads() == (2 if count == 1 else 1)
        losses, grads = model.loss_and_grads(batch, DropoutKey(4))
        found[count] = losses, grads, model.loss(batch), *model.encode(*batch[:3])
    losses, grads, loss, hidden, pooled = found[1]
    for count in (2, 3):
        assert_same(found[count][:2], (losses, grads), units=100)
        assert float(found[count][2].total) == pytest.approx(float(loss.total), rel=1e-14)
        np.testing.assert_allclose(found[count][3], hidden, rtol=0, atol=1e-14)
        np.testing.assert_allclose(found[count][4], pooled, rtol=0, atol=1e-14)


@pytest.mark.parametrize(("examples", "parts"), [(1, 1), (3, 1), (4, 1), (8, 2), (16, 4), (100, 4)])
def test_no_part_is_made_of_little(examples, parts):
    """WIDE has 192 x 342 numbers, a quarter of SMALL, in such an example's layer."""
    batch = Batch.random(WIDE.replace(max_position_embeddings=512), examples, 342, 9)
    assert len(crew.cut(batch, 4, WIDE)) == parts


def test_blas_gets_its_threads_back(two_threads):
    with blas_threads(1):
        assert threads() == 1
    assert threads() == 2


def test_blas_gets_its_threads_back_from_the_last_who_holds_them(two_threads):
    one, other = blas_threads(1), blas_threads(1)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert threads() == 1
    other.__exit__(None, None, None)
    assert threads() == 2


def test_an_interrupted_call_leaves_nobody_at_work(monkeypatch):
    """Else a part that was begun would go on adding into gradients that the caller has back."""
    monkeypatch.setattr(crew, "SMALL", 1)
    model, events = Albert(TINY, hard_params(TINY)), []

    def work(engine, part, first):
        if first == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        events.append("done")

    with pytest.raises(KeyboardInterrupt):
        list(Crew(model, workers=3).map(work, crew.cut(hard_batch(TINY), 3, TINY)))
    finished = len(events)
    time.sleep(0.3)
    assert len(events) == finished


def test_backward_needs_what_forward_kept():
    engine = engine_for(TINY, hard_params(TINY))
    engine.forward(hard_batch(TINY), None, Totals(), "nothing")
    with pytest.raises(ValueError, match="there is nothing to go back through"):
        engine.backward(engine.params.zeros_like())


def test_a_models_parts_are_not_replaced():
    model = Albert.init(TINY)
    for name in ("config", "params", "how"):
        with pytest.raises(AttributeError):
            setattr(model, name, None)


def test_a_model_lets_go_of_its_buffers():
    model = Albert.init(TINY)
    losses, _ = model.loss_and_grads(hard_batch(TINY))
    crew = weakref.ref(model._crew)
    model.release()
    assert crew() is None
    assert model.loss_and_grads(hard_batch(TINY))[0] == losses


@pytest.mark.parametrize("kernels", ["numpy", "compiled"])
def test_arrays_may_lie_in_memory_as_they_like(kernels):
    if kernels == "compiled" and numba_missing():
        pytest.skip(numba_missing())
    model, batch = Albert.init(WIDE, kernels=kernels), Batch.random(WIDE, 3, 20, 5)
    crooked = [np.asfortranarray(array) for array in batch[:3]]
    np.testing.assert_array_equal(model.encode(*crooked)[0], model.encode(*batch[:3])[0])


def test_a_product_that_does_not_fit_is_refused():
    a, b, out = np.ones((3, 4)), np.ones((4, 5)), np.zeros((3, 5))
    for wrong in ((a, b, out.astype("float32")), (a, b.T, out), (a, b, np.zeros((5, 3)).T)):
        with pytest.raises(ValueError, match=r"does not fit|its rows must be dense"):
            gemm(*wrong[:2], out=wrong[2], add=True)
    gemm(a, b, out=out, add=True)
    assert (out == 4).all()
