"""cast.cu against NumPy's own rounding."""

import numpy as np
import pytest
from cpu_module import KERNELS, CpuModule
from storage import as_float64, of_storage, unwritten


@pytest.fixture(scope="module")
def module():
    return CpuModule(KERNELS / "cast.cu")


def cast(module, source, target, name, order):
    kernel = module.get_function(f"cast_{name}")
    kernel((2,), (32,), (source, target, np.int64(source.size)), order=order)


def numbers():
    """Numbers of all sizes, and what lies on the edges: ties, the largest, the smallest, and beyond them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(1200) * 2.0 ** rng.integers(-30, 20, 1200)
    edges = [0.0, -0.0, 1 + 2**-9, 1 + 3 * 2**-9, 1 + 2**-12, 65504.0, 65519.9, 65520.0, 2**-24, 2**-25, 3e-8, 1e30]
    return np.concatenate([x, edges, np.negative(edges), [np.inf, -np.inf, np.nan]]).astype(np.float32)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", ["bf16", "f16"])
@pytest.mark.parametrize("start", [0, 1])  # 1: not on a multiple of 16 bytes
def test_there_and_back(module, name, start, order):
    x = numbers()[start:]
    with np.errstate(over="ignore"):
        expected = of_storage(x, name)
    half = unwritten(len(x) + start, name)[start:]
    cast(module, x, half, f"f32_{name}", order)
    finite = ~np.isnan(x)
    np.testing.assert_array_equal(half[finite], expected[finite])
    assert np.isnan(as_float64(half[~finite])).all()

    back = np.full(len(x), np.nan, np.float32)
    cast(module, half, back, f"{name}_f32", order)
    np.testing.assert_array_equal(back, as_float64(half))


def test_nothing_behind_the_end_is_written(module):
    for count in range(20):
        x, half = np.ones(20, np.float32), np.zeros(20, np.float16)
        cast(module, x[:count], half, "f32_f16", 0)
        assert half.sum() == count
