"""How long do a step's matrix products take alone, with NumPy's least loops, and with its calls, beside PyTorch's step?

    python benchmarks/products.py [--case NAME ...] [--runs 7] [--threads 2] [--json]

Two threads with half of the batch each multiply what `minalbert` multiplies in forward and backward, each product in
its own shape. No step that multiplies with this library can be faster, so the last column is the least that `step.py`
can show. The last layer is multiplied for the tokens that a loss reads.

*loops*: the same, and one pass of NumPy over a tile that stays in the cache for each operation of softmax, GELU, norms,
biases, residual sums, cross-entropy and AdamW, nothing computed twice. No step that makes these with NumPy's loops can
be much faster.

*calls*: the same, and in each thread a plain gradient of one example of two tokens: the calls that a step makes of
Python and of NumPy, with next to no arithmetic.
"""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import comparison
import numpy as np
from peer import Peer
from workloads import CASES, WORKLOADS

from minalbert import Albert, Batch
from minalbert.parallel.threads import blas_threads

TILE = 2**14  # numbers, of 64 KiB
LOOPS, CALLS = ", loops", ", calls"
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


def passes(work, examples, workers):
    """How many numbers a worker's np.exp, np.tanh and arithmetic pass over in a step, as {operation: numbers}."""
    config, T, P, found = work.config, work.length, work.predictions, Counter()
    H, F, N = config.hidden_size, config.intermediate_size, config.num_attention_heads
    norms = examples * T * config.embedding_size
    for layer in range(config.num_hidden_layers):
        queries = 1 + P if layer == config.num_hidden_layers - 1 else T
        scores, inner, rows = examples * N * queries * T, examples * queries * F, examples * queries * H
        norms += 2 * rows
        found[np.exp] += scores
        found[np.multiply] += 5 * scores  # forward: largest, difference, sum; backward: difference, product
        found[np.tanh] += inner
        found[np.multiply] += (1 + 6 + 7) * inner  # bias; around the tanh; its derivative
        found[np.multiply] += 2 * examples * T * H + 3 * rows + 4 * rows  # biases; residual sums, forward and backward
    logits = examples * P * config.vocab_size
    found[np.exp] += logits
    found[np.multiply] += 5 * logits
    found[np.multiply] += 12 * norms  # mean, difference, square, scale, gain, bias; six more in backward
    found[np.multiply] += 14 * Albert.init(config).params.flat.size // workers  # AdamW
    return found


def loops(work, examples, workers):
    """A function that makes all passes, in tiles."""
    tile, other, out = (np.full(TILE, 0.5, np.float32) for _ in range(3))
    calls = [(operation, (tile,) if operation.nin == 1 else (tile, other), -(-numbers // TILE))
             for operation, numbers in passes(work, examples, workers).items()]  # fmt: skip

    def run():
        for operation, inputs, times in calls:
            for _ in range(times):
                operation(*inputs, out=out)

    return run


def calls(work):
    """A function that makes a plain gradient's calls, for one example of two tokens of which one is masked."""
    model = Albert.init(work.config, kernels="plain")
    batch, grads = Batch.random(work.config, 1, 2, 1), model.params.zeros_like()
    return lambda: model.loss_and_grads(batch, into=grads)


def with_one_thread(works):
    with blas_threads(1):
        for work in works:
            work()


def measure(name, runs):
    case = name.removesuffix(LOOPS).removesuffix(CALLS)
    work = WORKLOADS[CASES[case][0]]
    workers = int(comparison.THREADS)
    examples = work.size // workers
    parts = [[products(work, examples)] for _ in range(workers)]
    for part in parts if name != case else []:
        part.append(loops(work, examples, workers))
        if name.endswith(CALLS):
            part.append(calls(work))
    theirs = Peer(Albert.init(work.config), work.batch(), tuned=True, bf16=False).step
    with ThreadPoolExecutor(workers) as pool:

        def ours():
            list(pool.map(with_one_thread, parts))

        ours(), theirs()
        return comparison.compare(name, ours, theirs, (work.training_operations(), 0, False), runs)


if __name__ == "__main__":
    comparison.main(__doc__, [name + suffix for name in SIZES for suffix in ("", LOOPS, CALLS)], measure, runs=7)
