"""Times on a GPU: of the GPU's work by events, of the host's alone by its clock; and what the card and programs are."""

import statistics
import subprocess
import sys
import time
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import cupy
import numpy as np
from workloads import BASE

import minalbert
from minalbert import AlbertConfig
from minalbert.backend import gpu_circumstances

ROOT = Path(__file__).parents[1]


class Sizes(NamedTuple):
    """The sizes that are measured, and how often."""

    config: AlbertConfig
    cases: tuple  # (sequences, tokens of each)
    rows: tuple  # tokens of the table of products
    copied: int  # bytes
    square: int
    runs: int
    warm: int


FULL = Sizes(BASE, ((128, 128), (32, 512), (256, 128)), (2**13, 2**15, 2**17), 2**30, 8192, 20, 5)
SMALL = AlbertConfig(
    vocab_size=120, embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
    intermediate_size=24, max_position_embeddings=16, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
)  # fmt: skip
TINY = Sizes(SMALL, ((2, 8), (1, 16), (4, 8)), (16,), 2**10, 16, 2, 1)


def milliseconds(calls, sizes):
    """{name: median} of the GPU's time; {name: call} take turns, so that a card that grows warm slows all alike.

    Events are on the stream that CuPy and PyTorch both use where nothing else is said.
    """
    for _ in range(sizes.warm):
        for call in calls.values():
            call()
    times = {name: [] for name in calls}
    for run in range(sizes.runs):
        for name, call in islice(cycle(calls.items()), run % len(calls), run % len(calls) + len(calls)):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            call()
            end.record()
            end.synchronize()
            times[name].append(cupy.cuda.get_elapsed_time(start, end))
    return {name: statistics.median(each) for name, each in times.items()}


def host_milliseconds(call, sizes):
    """What it takes to ask for a step: the GPU is idle before, and nobody waits for it."""
    times = []
    for _ in range(sizes.runs):
        cupy.cuda.Device().synchronize()
        start = time.perf_counter()
        call()
        times.append(1000 * (time.perf_counter() - start))
    cupy.cuda.Device().synchronize()
    return statistics.median(times)


def versions(torch=None):
    """{what: words}"""
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    said = {"minalbert": f"{minalbert.__version__} {commit.strip()}", "Python": sys.version.split()[0]}
    said |= {"NumPy": np.__version__} | gpu_circumstances("cuda")
    return said | ({"PyTorch": f"{torch.__version__}, CUDA {torch.version.cuda}"} if torch else {})


def free(torch=None):
    """Give back what nobody holds."""
    cupy.get_default_memory_pool().free_all_blocks()
    if torch:
        torch.cuda.empty_cache()
