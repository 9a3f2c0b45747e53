"""How do time and memory of a training step grow with batch, length, width and depth?

    python benchmarks/growth.py [--kernels plain|fused|compiled] [--runs 3] [--threads 2] [--json]

Around one model (H 512, 6 layers, 4 sequences of 128) one size is doubled three times, ours and PyTorch's steps taking
turns. An exponent is the slope of log time over log size, by least squares: 1 is proportional, 2 quadratic. Memory is
the most that NumPy and Python allocate during a gradient: what it needs beside weights, gradients and moments. At last:
from which length on does a layer's attention take longer than its FFN? By operations from 2 H on.
"""

import argparse
import json
import math
import statistics
import sys
import time
import tracemalloc
from itertools import pairwise

import comparison
import numpy as np
from peer import Peer
from step import stepper
from tqdm import tqdm
from workloads import Workload

from minalbert import Albert, AlbertConfig
from minalbert.compute import Compute
from minalbert.model import Pair

SIZES = {"batch": (1, 2, 4, 8), "length": (64, 128, 256, 512), "width": (128, 256, 512, 1024), "depth": (2, 4, 8, 16)}
LENGTHS = (128, 256, 512, 1024, 2048)


def workload(batch=4, length=128, width=512, depth=6):
    config = AlbertConfig(
        vocab_size=8000, embedding_size=128, hidden_size=width, num_hidden_layers=depth,
        num_attention_heads=width // 64, intermediate_size=4 * width, max_position_embeddings=2048,
    )  # fmt: skip
    return Workload(config, batch, length)


def measure(work, runs):
    """Seconds of ours and of the peer's step, and bytes that a gradient of ours needs."""
    model, batch = Albert.init(work.config, kernels=comparison.KERNELS), work.batch()
    calls = stepper(model, batch), Peer(model, batch, tuned=True).step
    for call in calls:
        call()
    times = [[comparison.seconds(call) for call in calls] for _ in range(runs)]
    return *(statistics.median(column) for column in zip(*times, strict=True)), allocated(model, batch)


def allocated(model, batch):
    """The most bytes at a time during a gradient."""
    grads = model.params.zeros_like()
    model.release()
    tracemalloc.start()
    model.loss_and_grads(batch, into=grads)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def exponent(sizes, values):
    slope, _ = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(slope)


def timed(pair, seconds):
    """The pair, which adds its time to the list."""

    def timed_function(function):
        def call(*arguments):
            start = time.perf_counter()
            result = function(*arguments)
            seconds.append(time.perf_counter() - start)
            return result

        return call

    return Pair(*map(timed_function, pair))


def attention_and_ffn(length):
    """Seconds of one pass through the layers' two halves."""
    work = workload(batch=max(1, 1024 // length), length=length)
    pairs, attention, ffn = Compute(comparison.KERNELS).pairs(), [], []
    pairs = pairs._replace(attention_half=timed(pairs.attention_half, attention), ffn_half=timed(pairs.ffn_half, ffn))
    model, batch = Albert.init(work.config, pairs=pairs), work.batch()
    model.loss_and_grads(batch)
    attention.clear()
    ffn.clear()
    model.loss_and_grads(batch)
    return sum(attention), sum(ffn)


def crossing(lengths, ratios):
    """Where attention / FFN passes 1, between two lengths on the logarithmic scale; None where it does not."""
    for (a, x), (b, y) in pairwise(zip(lengths, ratios, strict=True)):
        if x < 1 <= y:
            return a * (b / a) ** (math.log(1 / x) / math.log(y / x))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.early])
    parser.add_argument("--runs", type=int, default=3, help="pairs of runs per size (default: 3)")
    parser.add_argument("--json", action="store_true", help="one object per row")
    options = parser.parse_args()
    if not options.json:
        print(f"{'growth with':12} {'sizes':22} {'our time':>9} {'the peer’s':>11} {'our memory':>11}")
    for name, sizes in SIZES.items():
        found = [
            measure(workload(**{name: size}), options.runs)
            for size in tqdm(sizes, desc=name, leave=False, disable=not sys.stderr.isatty())
        ]
        ours, peer, memory = (exponent(sizes, column) for column in zip(*found, strict=True))
        if options.json:
            print(json.dumps({"case": f"growth with {name}", "sizes": sizes, "measured": found, "ours": ours,
                              "peer": peer, "memory": memory}), flush=True)  # fmt: skip
        else:
            print(f"{name:12} {', '.join(map(str, sizes)):22} {ours:9.2f} {peer:11.2f} {memory:11.2f}", flush=True)
    halves = [attention_and_ffn(length) for length in LENGTHS]
    ratios = [attention / ffn for attention, ffn in halves]
    where = crossing(LENGTHS, ratios)
    if options.json:
        print(json.dumps({"case": "attention over FFN", "lengths": LENGTHS, "ratios": ratios, "crossing": where}))
    else:
        shown = ", ".join(f"{ratio:.2f} at {length}" for length, ratio in zip(LENGTHS, ratios, strict=True))
        at = f"from {where:.0f} tokens on" if where else "nowhere among these"
        print(f"\nattention over FFN, in time: {shown}; attention takes longer {at} (by operations: from 1024)")


if __name__ == "__main__":
    main()
