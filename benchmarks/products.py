"""How long do the matrix products of a step take by themselves, each in its own shape, beside PyTorch's whole step?

    python benchmarks/products.py [--case NAME ...] [--runs 7] [--threads 2] [--json]

Two threads with half of the batch each multiply what `minalbert` multiplies in forward and backward, and nothing else:
no softmax, no norm, no optimiser, no sum of gradients. No step that multiplies with this library can be faster, so the
last column is the least that `step.py` can show. The last layer is multiplied for the tokens that a loss reads.
"""

from concurrent.futures import ThreadPoolExecutor

import comparison
import numpy as np
from peer import Peer
from workloads import CASES, WORKLOADS

from minalbert import Albert
from minalbert.parallel.threads import blas_threads

SIZES = [name for name, (workload, tuned, bf16) in CASES.items()
         if tuned and not bf16 and not WORKLOADS[workload].padding]  # fmt: skip


def forward_shapes(work, examples):
    """(shape of a, shape of b) of each product of a forward pass over so many examples."""
    config, T, P = work.config, work.length, work.predictions
    H, F, E, N = config.hidden_size, config.intermediate_size, config.embedding_size, config.num_attention_heads
    D, rows = H // N, examples * T
    yield (rows, E), (E, H)
    for layer in range(config.num_hidden_layers):
        queries = 1 + P if layer == config.num_hidden_layers - 1 else T
        read = examples * queries
        yield from [((rows, H), (H, H))] * 2 + [((read, H), (H, H))]  # keys, values, queries
        yield (examples, N, queries, D), (examples, N, D, T)
        yield (examples, N, queries, T), (examples, N, T, D)
        yield from [((read, H), (H, H)), ((read, H), (H, F)), ((read, F), (F, H))]
    yield from [((examples * P, H), (H, E)), ((examples * P, E), (E, config.vocab_size)), ((examples, H), (H, H))]


def products(work, examples):
    """A function that makes all products of a step: y = a b, and backward da = dy bᵀ and db = aᵀ dy."""
    arrays = []
    for a, b in ((np.ones(shape, np.float32) for shape in pair) for pair in forward_shapes(work, examples)):
        arrays.append((a, b, a @ b, np.empty_like(a), np.empty_like(b)))

    def multiply():
        for a, b, y, _, _ in arrays:
            np.matmul(a, b, out=y)
        for a, b, y, da, db in reversed(arrays):
            np.matmul(y, b.swapaxes(-1, -2), out=da)
            np.matmul(a.swapaxes(-1, -2), y, out=db)

    return multiply


def with_one_thread(multiply):
    with blas_threads(1):
        multiply()


def measure(name, runs):
    work = WORKLOADS[CASES[name][0]]
    workers = int(comparison.THREADS)
    halves = [products(work, work.size // workers) for _ in range(workers)]
    theirs = Peer(Albert.init(work.config), work.batch(), tuned=True, bf16=False).step
    with ThreadPoolExecutor(workers) as pool:

        def ours():
            list(pool.map(with_one_thread, halves))

        ours(), theirs()
        return comparison.compare(name, ours, theirs, (work.training_operations(), 0, False), runs)


if __name__ == "__main__":
    comparison.main(__doc__, SIZES, measure, runs=7)
