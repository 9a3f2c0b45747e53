"""embedding.cu against the layer in float64."""

import numpy as np
import pytest
from cpu_module import KERNELS, CpuModule
from fingerprint import fingerprint
from storage import NAMES, TOLERANCE, as_float64, of_storage, unwritten

from minalbert.layers import embedding_backward, embedding_forward

V, M, KINDS = 11, 40, 2
# (B, T, E): one of everything; ends of rows and teams that are not full; a word that is met more than 256 times
SIZES = [(1, 1, 1), (3, 7, 33), (10, 40, 40)]


@pytest.fixture(scope="module")
def module():
    return CpuModule(KERNELS / "embedding.cu")


def example(B, T, E):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, V, (B, T)) * (rng.random((B, T)) < 0.3)  # mostly padding
    types = rng.integers(0, KINDS, (B, T))
    tables = [rng.standard_normal((rows, E), np.float32) for rows in (V, M, KINDS)]
    return rng, ids, types, tables


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_forward(module, name, size, order):
    B, T, E = size
    _, ids, types, tables = example(*size)
    y = unwritten((B * T, E), name)
    arguments = (ids.ravel(), types.ravel(), *tables, y, np.int64(B * T), np.int32(T), np.int32(E))
    module.get_function(f"embedding_forward_{name}")((-(-B * T // 8),), (32, 8), arguments, order=order)
    expected, _ = embedding_forward(ids, types, *(table.astype(np.float64) for table in tables))
    # two sums of float32, then the storage's rounding, of numbers up to 8
    np.testing.assert_allclose(as_float64(y), expected.reshape(-1, E), rtol=TOLERANCE[name], atol=1e-6)


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_backward_adds(module, name, size, order):
    B, T, E = size
    rng, ids, types, tables = example(*size)
    dy = of_storage(rng.standard_normal((B * T, E), np.float32), name)
    grads = [rng.standard_normal(table.shape, np.float32) for table in tables]
    before = [grad.copy() for grad in grads]
    backward(module, name, dy, ids, types, grads, order)

    _, cache = embedding_forward(ids, types, *(table.astype(np.float64) for table in tables))
    expected = embedding_backward(as_float64(dy).reshape(B, T, E), cache)[2:]
    for grad, start, added in zip(grads, before, expected, strict=True):
        # float32 sums of up to 400 numbers of size 1, in any order: some √400 roundings of sums near 20
        np.testing.assert_allclose(grad, start + added, rtol=1e-5, atol=2e-5)


def backward(module, name, dy, ids, types, grads, order):
    (B, T), E = ids.shape, dy.shape[1]
    dword, dposition, dtoken_type = grads
    by_place = np.full((KINDS, T, E), np.nan, np.float32)
    sorted_places = ids.ravel().argsort(kind="stable").astype(np.int32)
    block, columns = (32, 8), -(-E // 32)
    arguments = (dy, ids.ravel(), sorted_places, dword, np.int64(B * T), np.int32(E))
    module.get_function(f"embedding_backward_word_{name}")((B * T,), block, arguments, order=order)
    arguments = (dy, types.ravel(), by_place, np.int32(B), np.int32(T), np.int32(E))
    module.get_function(f"embedding_backward_places_{name}")((-(-T * E // 32), KINDS), block, arguments, order=order)
    arguments = (by_place, dposition, dtoken_type, np.int32(KINDS), np.int32(T), np.int32(E))
    module.get_function("embedding_backward_tables")((columns, T + KINDS), block, arguments, order=order)


def test_the_order_of_threads_changes_no_bit(module):
    rng, ids, types, tables = example(10, 40, 40)
    dy = rng.standard_normal((400, 40), np.float32)
    results = []
    for order in range(5):
        grads = [np.zeros_like(table) for table in tables]
        backward(module, "f32", dy, ids, types, grads, order)
        results.append([fingerprint(grad) for grad in grads])
    assert all(result == results[0] for result in results)
