"""One table of cases, `gradcheck.cases.pair_cases`, and what must hold for every pair in it."""

import inspect

import numpy as np
import pytest

from minalbert import layers
from minalbert.backend import device_of, to_device, to_host
from minalbert.gradcheck.cases import pair_cases

CASES = {case.name: case for case in pair_cases()}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def run(case, dtype=np.float64, device="cpu", scale=1.0):
    """Forward and backward with a fixed upstream gradient; everything comes back to the host."""
    args = [to_device(x.astype(dtype) if x.dtype.kind == "f" else x, device) for x in case.args.values()]
    static = {name: to_device(x, device) if isinstance(x, np.ndarray) else x for name, x in case.static.items()}
    y, cache = case.forward(*args, **static)
    dy = np.random.default_rng(1).standard_normal(y.shape).astype(dtype)
    gradients = case.backward(to_device(np.asarray(scale * dy, dtype), device), cache)
    assert device_of(y) == device
    return to_host(y), [None if g is None else to_host(g) for g in gradients]


def test_every_pair_of_layers_is_in_the_table():
    functions = {name for name, f in inspect.getmembers(layers, inspect.isfunction)}
    forwards = {name for name in functions if name.endswith("_forward")}
    assert len(forwards) >= 12
    assert {name.replace("_forward", "_backward") for name in forwards} <= functions
    assert {case.forward.__name__ for case in CASES.values()} == forwards
    assert all(c.backward.__name__ == c.forward.__name__.replace("_forward", "_backward") for c in CASES.values())


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gradient_along_random_directions(case, seed):
    case.check(entries=False, seed=seed).check()


def test_central_differences_agree(case):
    case.check(entries=False, method="central").check()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradients_have_shape_and_dtype_of_their_tensors(case, dtype):
    y, gradients = run(case, dtype)
    assert y.dtype == dtype
    for (name, x), g in zip(case.args.items(), gradients, strict=True):
        if x.dtype.kind == "f" and name not in case.constants:
            assert g.shape == x.shape, name
            assert g.dtype == dtype, name
        else:
            assert g is None, name


def test_float32_agrees_with_float64(case):
    y, gradients = run(case)
    y32, gradients32 = run(case, np.float32)
    largest = max(np.abs(g).max() for g in gradients if g is not None)  # the key bias's own is zero
    for single, double in zip([y32, *gradients32], [y, *gradients], strict=True):
        if double is not None:
            np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5 * largest)


def test_backward_is_linear_in_the_upstream_gradient(case):
    _, once = run(case)
    _, twice = run(case, scale=2.0)
    for g, g2 in zip(once, twice, strict=True):
        assert g is None or np.array_equal(2 * g, g2)


LAYOUTS = {
    "column by column": lambda x: np.asfortranarray(x),
    "backwards in memory": lambda x: x[::-1].copy()[::-1],
    "every second": lambda x: np.repeat(x, 2, axis=-1)[..., ::2],
    "read-only": lambda x: np.frombuffer(x.tobytes(), x.dtype).reshape(x.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_memory_layout_of_an_argument_does_not_matter(case, layout):
    args = [LAYOUTS[layout](x) for x in case.args.values()]
    y, cache = case.forward(*args, **case.static)
    dy = LAYOUTS[layout](np.random.default_rng(1).standard_normal(y.shape)) if y.ndim else np.float64(1.5)
    expected_y, expected_cache = case.forward(*case.args.values(), **case.static)
    np.testing.assert_allclose(y, expected_y, rtol=1e-13)
    for ours, expected in zip(case.backward(dy, cache), case.backward(np.array(dy), expected_cache), strict=True):
        if expected is not None:
            np.testing.assert_allclose(ours, expected, rtol=1e-12, atol=1e-14)


def test_a_list_is_no_array():
    with pytest.raises(TypeError, match=r"expected a NumPy or CuPy array, not \[1.0, 2.0\], a list"):
        layers.softmax_forward([1.0, 2.0])


def test_device_parity(case, device):
    y, gradients = run(case)
    y_device, gradients_device = run(case, device=device)
    for ours, theirs in zip([y_device, *gradients_device], [y, *gradients], strict=True):
        if theirs is not None:
            np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
