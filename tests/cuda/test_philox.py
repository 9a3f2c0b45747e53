"""philox.cuh against numpy.random.Philox: the same bits."""

import numpy as np
import pytest
from cpu_module import KERNELS, CpuModule

from minalbert.kernels.gpu.launch import read_source

LARGEST = 2**64 - 1
KEYS = [
    (0, 0, 0, 0, 0, 0),
    (1, 2, 3, 4, 5, 6),
    (LARGEST, LARGEST, 7, LARGEST, LARGEST, LARGEST),
    (12345, 0, 2**40 + 1, 11, 7, 3),
]
KERNEL = """
extern "C" __global__ void sample(const unsigned long long* dropout_key, unsigned long long layer,
                                  unsigned long long site, unsigned long long first, unsigned long long* words,
                                  unsigned* numbers, unsigned* eight, int shift) {
    const int block = blockIdx.x * blockDim.x + threadIdx.x;
    const DropoutKey key = key_at(dropout_key, layer, site);
    const Words mine = words_of_block(key, first + block);
    const EightNumbers neighbours = eight_numbers(key, first, 8LL * block + shift);
    for (int i = 0; i < 4; i++) words[4 * block + i] = mine.word[i];
    for (int i = 0; i < 16; i++) numbers[16 * block + i] = number(mine, i);
    for (int i = 0; i < 8; i++) eight[8 * block + i] = neighbours.number(i);
}
extern "C" __global__ void begin(unsigned long long* first, int b, int elements) {
    first[0] = first_block(b, elements);
}
"""


@pytest.fixture(scope="module")
def module():
    return CpuModule(read_source(KERNELS / "philox.cuh") + KERNEL)


@pytest.mark.parametrize("shift", range(17))
@pytest.mark.parametrize("of", KEYS)
def test_the_words_and_numbers_are_numpys(module, of, shift):
    seed, step, layer, site, example, first = of
    first = min(first, LARGEST - 100)  # NumPy carries into the next word there; no run comes so far
    dropout_key, blocks = np.array([seed, step, example], np.uint64), 6
    words, numbers = np.zeros(4 * blocks, np.uint64), np.zeros(16 * blocks, np.uint32)
    eight = np.zeros(8 * blocks, np.uint32)
    place = np.uint64(layer), np.uint64(site), np.uint64(first)
    module.get_function("sample")((3,), (2,), (dropout_key, *place, words, numbers, eight, np.int32(shift)))

    key, counter = np.array([seed, step], np.uint64), np.array([first, example, layer, site], np.uint64)
    expected = np.random.Philox(key=key, counter=counter).random_raw(8 * blocks)
    np.testing.assert_array_equal(words, expected[: 4 * blocks])
    np.testing.assert_array_equal(numbers, expected.view(np.uint16)[: 16 * blocks])
    np.testing.assert_array_equal(eight, expected.view(np.uint16)[shift : shift + 8 * blocks])


@pytest.mark.parametrize(("elements", "blocks"), [(1, 1), (16, 1), (17, 2), (100, 7)])
def test_an_example_owns_whole_blocks(module, elements, blocks):
    first = np.zeros(1, np.uint64)
    module.get_function("begin")((1,), (1,), (first, np.int32(2), np.int32(elements)))
    assert first == 2 * blocks
