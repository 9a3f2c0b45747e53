"""How long does an optimiser's step take, and how long PyTorch's, and how long can memory alone do it in?

    python benchmarks/optimizer.py [--case NAME ...] [--kernels fused|compiled] [--runs 31] [--threads 2] [--json]

All 11.8 million weights of ALBERT-base, float32. The peer is torch.optim.AdamW, once an operation at a time over
many tensors (foreach), once as a single compiled loop (fused); PyTorch has no LAMB, so ours meets the same peer.
Before anything is timed, both AdamWs must have made the same step. Ours and the peer's runs take turns with a plain
copy of one vector of that length, which prices the floor: a copy reads one vector and writes one, so an optimiser that
touches n vectors from memory at least once each can do no better than n / 2 copies.

    AdamW   reads w g m v, writes w m v                                                    7 vectors, 3.5 copies
    LAMB    reads w g m v, writes m v u; with the ratio known, reads w u and writes w      10 vectors, 5 copies

--kernels compiled: the numba loops of `minalbert.kernels.compiled`, on as many threads as the peer and the copy. Other
kernels have NumPy's optimiser, which runs on one thread, whatever --threads says.
"""

import argparse
import json
import statistics
import sys
from concurrent.futures import ThreadPoolExecutor

import comparison
import numpy as np
from comparison import KERNELS, THREADS, seconds
from tqdm import tqdm

from minalbert import PRESETS
from minalbert.fused import optimiser_for
from minalbert.optim import AdamW, Lamb, Moments, exempt
from minalbert.params import initialise

RATE = 1e-4
CASES = {
    # name: (ours, the peer's way, copies that memory needs at least)
    "LAMB, and AdamW foreach": (Lamb(), "foreach", 5.0),
    "LAMB, and AdamW fused": (Lamb(), "fused", 5.0),
    "AdamW, and AdamW foreach": (AdamW(), "foreach", 3.5),
    "AdamW, and AdamW fused": (AdamW(), "fused", 3.5),
}


def peer_step(params, grads, way):
    """torch.optim.AdamW on copies of them: its step, and its weights."""
    import torch

    torch.set_num_threads(int(THREADS))
    tensors = {name: torch.nn.Parameter(torch.tensor(tensor)) for name, tensor in params.items()}
    for name, tensor in tensors.items():
        tensor.grad = torch.tensor(grads[name])
    groups = [
        {"params": [tensors[name] for name in params if exempt(name, params[name]) is spared], "weight_decay": decay}
        for spared, decay in ((False, 0.01), (True, 0.0))
    ]
    return torch.optim.AdamW(groups, lr=RATE, eps=1e-6, **{way: True}).step, tensors


def random_state():
    params = initialise(PRESETS["albert-base-v2"])
    grads = params.zeros_like()
    grads.flat[...] = 1e-3 * np.random.default_rng(0).standard_normal(grads.flat.size, "float32")
    return params, grads


def must_agree(way):
    params, grads = random_state()
    theirs, tensors = peer_step(params, grads, way)
    moments = Moments.zeros(params)
    optimiser = optimiser_for(AdamW(), params, KERNELS, int(THREADS))
    for t in (1, 2):
        theirs()
        optimiser.step(params, grads, moments, RATE, t)
    worst = max(np.abs(params[name] - tensor.detach().numpy()).max() for name, tensor in tensors.items())
    if worst > 1e-3 * RATE:
        sys.exit(f"AdamW {way}: the weights differ by {worst}: nothing to compare")


def copy_of(vector):
    """A function that copies it, on as many threads as both sides have."""
    pool, elsewhere = ThreadPoolExecutor(int(THREADS)), np.empty_like(vector)
    parts = [np.array_split(x, int(THREADS)) for x in (elsewhere, vector)]
    return lambda: list(pool.map(np.copyto, *parts))


def measure(name, runs):
    optimiser, way, copies = CASES[name]
    must_agree(way)
    params, grads = random_state()
    theirs, _ = peer_step(params, grads, way)
    optimiser, moments = optimiser_for(optimiser, params, KERNELS, int(THREADS)), Moments.zeros(params)
    copy = copy_of(grads.flat)

    def ours():
        optimiser.step(params, grads, moments, RATE, 1)

    taken = {ours: [], theirs: [], copy: []}
    for run in tqdm(range(runs + 2), desc=name, leave=False, disable=not sys.stderr.isatty()):
        for call in ((ours, copy, theirs), (theirs, copy, ours))[run % 2]:
            taken[call].append(seconds(call))
    taken = {call: times[2:] for call, times in taken.items()}  # the first touch fresh memory
    ratios = sorted(a / b for a, b in zip(taken[ours], taken[theirs], strict=True))
    middle = {call: statistics.median(times) for call, times in taken.items()}
    return {
        "case": name,
        "ours": middle[ours],
        "peer": middle[theirs],
        "floor": copies * middle[copy],
        "ratio": statistics.median(ratios),
        "spread": [ratios[0], ratios[-1]],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.early])
    parser.add_argument("--case", nargs="*", default=list(CASES), choices=CASES, metavar="NAME", help=" | ".join(CASES))
    parser.add_argument("--runs", type=int, default=31, help="pairs of runs per case (default: 31)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    if not options.json:
        print(f"{'case':26} {'ours':>9} {'peer':>9} {'floor':>9} {'ours/peer':>10} {'ours/floor':>11}   spread")
    for name in options.case:
        row = measure(name, options.runs)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        times = "".join(f"{row[key] * 1e3:7.1f} ms" for key in ("ours", "peer", "floor"))
        low, high = row["spread"]
        over_floor = row["ours"] / row["floor"]
        print(f"{name:26}{times} {row['ratio']:10.2f} {over_floor:11.2f}   {low:.2f} to {high:.2f}", flush=True)


if __name__ == "__main__":
    main()
