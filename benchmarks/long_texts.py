"""How do time and memory grow with the length of the text, with full and with sparse attention?

    python benchmarks/long_texts.py [--kernels plain|fused|compiled] [--attention local|block|strided] [--window 256]
                                    [--lengths 256 512 ...] [--steps] [--layers 12] [--runs 3] [--threads 1] [--json]

Attention alone, of ALBERT-base (12 heads of 64) and one sequence, forward and backward: ours full, ours sparse, and
PyTorch's scaled_dot_product_attention with the same mask, taking turns. An exponent is the slope of log time over log
length, by least squares. Memory is the most that a process of its own held during one forward and backward pass, less
what it held before. With --steps, whole training steps of ALBERT-base (with fewer layers by --layers), full and sparse,
in seconds of the processor, which a busy machine changes least: with one thread, those of a quiet clock.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

import comparison
import numpy as np
from growth import exponent
from memory import held
from step import stepper
from tqdm import tqdm
from workloads import BASE, Workload

from minalbert import Albert
from minalbert.config import ATTENTION
from minalbert.kernels import kernels_for
from minalbert.layers import attention_backward, attention_forward, sparse_attention_backward, sparse_attention_forward
from minalbert.model.block import pattern_of

LENGTHS = (256, 512, 1024, 2048)
SIDES = ("full", "sparse", "PyTorch, same mask")
H, N = BASE.hidden_size, BASE.num_attention_heads


def attention(kernels, config, length):
    """A function: attention of one sequence, forward and backward, by our kernels."""
    rng, pattern = np.random.default_rng(0), pattern_of(config)
    qkv, dqkv, mask = *rng.standard_normal((2, length, 3 * H), np.float32), np.zeros((1, length), np.float32)
    if kernels == "plain":
        q, k, v = qkv.reshape(1, length, 3, N, H // N).transpose(2, 0, 3, 1, 4)
        dcontext, mask = np.ascontiguousarray(q), mask[:, None, None]

        def plain():
            if pattern is None:
                return attention_backward(dcontext, attention_forward(q, k, v, mask)[1])
            return sparse_attention_backward(dcontext, sparse_attention_forward(q, k, v, mask, pattern=pattern)[1])

        return plain
    do, lse = kernels_for(kernels, "full", "cpu"), np.empty((1, N, length), np.float32)
    q, k, v = np.split(qkv, 3, axis=1)
    dq, dk, dv = np.split(dqkv, 3, axis=1)
    context, dcontext = np.empty((2, length, H), np.float32)
    dcontext[...] = q

    def fused():
        if pattern is None:
            do.attention_forward(q, k, v, mask, N, None, context=context, lse=lse)
            do.attention_backward(dcontext, q, k, v, mask, N, None, context, lse, dq=dq, dk=dk, dv=dv)
        else:
            do.sparse_attention_forward(q, k, v, mask, N, None, pattern, context=context, lse=lse)
            do.sparse_attention_backward(dcontext, q, k, v, mask, N, None, pattern, context, lse, dq=dq, dk=dk, dv=dv)

    return fused


def peer(config, length):
    """The same by PyTorch, which is told of the pattern by a (T, T) mask."""
    import torch

    torch.set_num_threads(int(comparison.THREADS))
    i = np.arange(length)
    allowed = torch.tensor(pattern_of(config).sees(i[:, None], i))
    q, k, v = torch.randn(3, 1, N, length, H // N).requires_grad_().unbind(0)
    dcontext = torch.randn(1, N, length, H // N)

    def step():
        context = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        torch.autograd.grad(context, (q, k, v), dcontext)

    return step


def call_of(side, options, length):
    config = sparse_config(options, length)
    if side == SIDES[2]:
        return peer(config, length)
    return attention(comparison.KERNELS, config if side == "sparse" else config.replace(attention="full"), length)


def sparse_config(options, length):
    return BASE.replace(
        attention=options.attention, attention_window=options.window, num_hidden_layers=options.layers,
        max_position_embeddings=max(length, BASE.max_position_embeddings),
    )  # fmt: skip


def take_turns(calls, runs, seconds=comparison.seconds):
    """Median seconds of each."""
    for call in calls:
        call()
    times = [[seconds(call) for call in calls] for _ in range(runs)]
    return [statistics.median(column) for column in zip(*times, strict=True)]


def processor_seconds(call):
    start = time.process_time()
    call()
    return time.process_time() - start


def memory_of(side, options, length):
    """In a process of its own: the most bytes."""
    given = ["--threads", comparison.THREADS, "--kernels", comparison.KERNELS, "--attention", options.attention,
             "--window", str(options.window), "--side", side, "--lengths", str(length)]  # fmt: skip
    return int(subprocess.run([sys.executable, __file__, *given], capture_output=True, text=True, check=True).stdout)


def attention_rows(options):
    times, kept = [], []
    for length in tqdm(options.lengths, desc="attention", leave=False, disable=not sys.stderr.isatty()):
        times.append(take_turns([call_of(side, options, length) for side in SIDES], options.runs))
        kept.append([memory_of(side, options, length) for side in SIDES])
    for side, seconds, nbytes in zip(SIDES, zip(*times, strict=True), zip(*kept, strict=True), strict=True):
        yield {"case": f"attention, {side}", "lengths": options.lengths, "seconds": seconds, "bytes": nbytes,
               "exponent": exponent(options.lengths, seconds), "memory exponent": exponent(options.lengths, nbytes),
               "of full": [mine[SIDES.index(side)] / mine[0] for mine in times]}  # fmt: skip


def step_rows(options):
    times = {"full": [], "sparse": []}
    for length in tqdm(options.lengths, desc="steps", leave=False, disable=not sys.stderr.isatty()):
        config = sparse_config(options, length)
        sides = {"sparse": config, "full": config.replace(attention="full")}
        sides = {side: sides[side] for side in sides if side == "sparse" or length <= options.full_up_to}
        calls = [stepper(Albert.init(each, kernels=comparison.KERNELS), Workload(each, 1, length).batch())
                 for each in sides.values()]  # fmt: skip
        for side, seconds in zip(sides, take_turns(calls, options.runs, processor_seconds), strict=True):
            times[side].append(seconds)
    for side, seconds in times.items():
        if seconds:
            lengths = options.lengths[: len(seconds)]
            yield {"case": f"a step of {options.layers} layers, {side}", "lengths": lengths, "seconds": seconds,
                   "exponent": exponent(lengths, seconds) if len(seconds) > 1 else None,
                   "of full": [a / b for a, b in zip(seconds, times["full"], strict=False)]}  # fmt: skip


def line(row):
    def shown(values, form):
        return "".join(f"{value:{form}}" for value in values)

    lines = [f"{row['case']:38}" + shown(row["lengths"], "9d") + "  exponent",
             f"{'  ms':38}" + shown((1e3 * value for value in row["seconds"]), "9.0f")
             + (f"  {row['exponent']:.2f}" if row["exponent"] is not None else ""),
             f"{'  of full':38}" + shown(row["of full"], "9.3f")]  # fmt: skip
    if "bytes" in row:
        lines.append(f"{'  MB':38}" + shown((value / 1e6 for value in row["bytes"]), "9.0f")
                     + f"  {row['memory exponent']:.2f}")  # fmt: skip
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.early])
    parser.add_argument("--attention", default="local", choices=ATTENTION[1:])
    parser.add_argument("--window", type=int, default=256, help="tokens (default: 256)")
    parser.add_argument("--lengths", type=int, nargs="*", default=list(LENGTHS), metavar="T")
    parser.add_argument("--steps", action="store_true", help="training steps instead of attention alone")
    parser.add_argument("--layers", type=int, default=2, help="of these steps; ALBERT-base has 12 (default: 2)")
    parser.add_argument("--full-up-to", type=int, default=4096, metavar="T", help="no full steps of longer texts")
    parser.add_argument("--runs", type=int, default=3, help="turns per length (default: 3)")
    parser.add_argument("--json", action="store_true", help="one object per row")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        call_of(options.side, options, 64)()  # what a library takes for itself
        call = call_of(options.side, options, *options.lengths)
        before = held("VmRSS")
        call()
        print(held("VmHWM") - before)
        return
    if not os.path.exists("/proc/self/status"):
        sys.exit("memory is read from /proc/self/status, which this system does not have")
    for row in step_rows(options) if options.steps else attention_rows(options):
        print(json.dumps(row) if options.json else line(row), flush=True)


if __name__ == "__main__":
    main()
