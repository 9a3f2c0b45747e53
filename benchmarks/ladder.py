"""What does each rung from the plain pairs to compiled kernels with bf16 products bring?

    python benchmarks/ladder.py [--case NAME] [--runs 5] [--threads 2] [--json]

Forward and backward of one batch, all rungs in turn, their medians and ratios to the first. The lower rows take one
thing away from the fused kernels at a time.
"""

import argparse
import json
import statistics
import sys
from contextlib import ExitStack
from unittest import mock

import comparison
from tqdm import tqdm
from workloads import WORKLOADS

from minalbert import Albert
from minalbert.kernels import missing
from minalbert.kernels.cpu import attention, cross_entropy, tiles
from minalbert.parallel import Trimmed, workers


def whole(batch, *_):
    return [[Trimmed(batch, slice(None), 0)]]


ONE_SLICE = [(workers, "cut", whole)]
NO_TILES = [(module, "TILE_BYTES", 2**40) for module in (tiles, attention, cross_entropy)]
RUNGS = {
    # name: (kernels, precision, what is put in place of what)
    "plain pairs": ("plain", "full", ONE_SLICE),
    "plain pairs, a thread for each slice": ("plain", "full", []),
    "fused, one slice": ("fused", "full", ONE_SLICE),
    "fused, a thread for each slice": ("fused", "full", []),
    "compiled": ("compiled", "full", []),
    "fused, bf16 products": ("fused", "bf16", []),
    "compiled, bf16 products": ("compiled", "bf16", []),
    "fused, without tiles": ("fused", "full", NO_TILES),
    "fused, without memory that stays": ("fused", "full", []),
}


def stepper(name, work):
    kernels, precision, changes = RUNGS[name]
    model, batch = Albert.init(work.config, precision=precision, kernels=kernels), work.batch()
    grads = model.params.zeros_like()

    def step():
        with ExitStack() as stack:
            for change in changes:
                stack.enter_context(mock.patch.object(*change))
            model.loss_and_grads(batch, into=grads)
        if "stays" in name:
            model.release()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.threads])
    parser.add_argument("--case", default=next(iter(WORKLOADS)), choices=WORKLOADS, metavar="NAME")
    parser.add_argument("--runs", type=int, default=5, help="of each rung (default: 5)")
    parser.add_argument("--json", action="store_true", help="one object per rung")
    options = parser.parse_args()
    work = WORKLOADS[options.case]
    names = [name for name, (*compute, _) in RUNGS.items() if not missing(*compute, "cpu")]
    steps = {name: stepper(name, work) for name in names}
    times = {name: [] for name in names}
    for run in tqdm(range(options.runs + 1), leave=False, disable=not sys.stderr.isatty()):
        for name in names if run % 2 else names[::-1]:
            times[name].append(comparison.seconds(steps[name]))
    first = statistics.median(times[names[0]][1:])
    floor = work.training_operations() * statistics.median(comparison.product_seconds() for _ in range(5))
    rows = {name: statistics.median(times[name][1:]) for name in names} | {"floor: one large product": floor}
    for name, seconds in rows.items():
        row = {"case": f"{options.case}, {name}", "seconds": seconds, "ratio": seconds / first}
        text = f"{name:42}{seconds * 1e3:9.1f} ms{seconds / first:8.2f}"
        print(json.dumps(row) if options.json else text, flush=True)


if __name__ == "__main__":
    main()
