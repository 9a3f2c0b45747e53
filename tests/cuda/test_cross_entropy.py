"""cross_entropy.cu against the formulas in float64."""

import numpy as np
import pytest
from cpu_module import KERNELS, CpuModule
from fingerprint import fingerprint
from storage import NAMES, TOLERANCE, as_float64, of_storage

# (K, words, words at a time): one of everything; blocks that are not full; a vocabulary in pieces, the last one short
SIZES = [(1, 1, 1), (3, 70, 70), (37, 300, 128)]


@pytest.fixture(scope="module")
def module():
    return CpuModule(KERNELS / "cross_entropy.cu")


class Example:
    def __init__(self, K, words, step, name, spread=3.0):
        rng = np.random.default_rng(0)
        logits = (rng.standard_normal((K, words)) * spread).astype(np.float32)
        logits[0] += 200.0  # exp(200) is beyond float32
        self.pieces = [slice(start, min(start + step, words)) for start in range(0, words, step)]
        self.z = [of_storage(np.ascontiguousarray(logits[:, piece]), name) for piece in self.pieces]
        self.bias = rng.standard_normal(words, np.float32)
        self.labels = rng.integers(0, words, K)
        self.shares = rng.random(K, np.float32)
        self.lse, self.losses = (np.full(K, np.nan, np.float32) for _ in range(2))
        self.dbias = rng.standard_normal(words, np.float32)
        self.K, self.words, self.name = K, words, name

    def forward(self, module, order=0, block=64):
        kernel = module.get_function(f"cross_entropy_forward_{self.name}")
        for piece, z in zip(self.pieces, self.z, strict=True):
            sizes = map(np.int32, (z.shape[1], piece.start, self.words))
            kernel((self.K,), (block,), (z, self.bias, self.labels, self.lse, self.losses, *sizes), order=order)

    def backward(self, module, order=0):
        kernel = module.get_function(f"cross_entropy_backward_{self.name}")
        for piece, z in zip(self.pieces, self.z, strict=True):
            sizes = map(np.int32, (self.K, z.shape[1], piece.start))
            arguments = (z, self.bias, self.labels, self.shares, self.lse, self.dbias, *sizes)
            kernel((-(-z.shape[1] // 64),), (32, 16), arguments, order=order)

    def expected(self):
        """lse, losses, dlogits"""
        logits = np.concatenate([as_float64(z) for z in self.z], axis=1) + self.bias
        lse = np.logaddexp.reduce(logits, axis=1)
        places = np.arange(self.K), self.labels
        dlogits = np.exp(logits - lse[:, None])
        dlogits[places] -= 1.0
        return lse, lse - logits[places], dlogits * self.shares[:, None]


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", NAMES)
def test_loss_and_gradient(module, name, size, order):
    example = Example(*size, name)
    lse, losses, dlogits = example.expected()
    before = example.dbias.copy()

    example.forward(module, order)
    # sums of positive float32, some six roundings; a loss is the difference of two numbers of up to 220
    np.testing.assert_allclose(example.lse, lse, rtol=5e-7, atol=1e-6)
    np.testing.assert_allclose(example.losses, losses, atol=2.0**-15)

    example.backward(module, order)
    written = np.concatenate([as_float64(z) for z in example.z], axis=1)
    # exp multiplies an error of 220's last place, 1.5e-5, into p; f16 has numbers down to 6e-8 only
    np.testing.assert_allclose(written, dlogits, rtol=TOLERANCE[name] + 4e-5, atol=1e-7)
    np.testing.assert_allclose(example.dbias, before + dlogits.sum(axis=0), rtol=1e-5, atol=4e-5)


def test_the_order_of_threads_changes_no_bit(module):
    results = []
    for order in range(5):
        example = Example(*SIZES[-1], "f32")
        example.forward(module, order)
        example.backward(module, order)
        arrays = (example.lse, example.losses, example.dbias, *example.z)
        results.append([fingerprint(array) for array in arrays])
    assert all(result == results[0] for result in results)


def test_any_number_of_warps(module):
    losses = []
    for block in (32, 96, 1024):
        example = Example(3, 70, 70, "f32")
        example.forward(module, block=block)
        losses.append(example.losses)
    np.testing.assert_allclose(losses[1:], np.broadcast_to(losses[0], (2, 3)), atol=2.0**-15)
