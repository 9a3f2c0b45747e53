"""How much memory does a training step need, and how much does PyTorch need for the same one?

    python benchmarks/memory.py [--case NAME ...] [--kernels plain|fused|compiled] [--json]

Each side runs three steps in a process of its own. Counted is the most that the process ever held, less what it held
before the model was made: weights, gradients, moments, activations and all that libraries take for themselves. The
floor is weights, gradients and two moments.
"""

import argparse
import json
import os
import subprocess
import sys

import comparison
from workloads import BASE, WORKLOADS

from minalbert import Albert
from minalbert.params import count

SIDES = ("ours", "ours, recomputed", "as released", "tuned")


def held(field):
    """In bytes: "VmRSS" now, "VmHWM" the most so far."""
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def take_steps(name, side):
    """In a process of its own: bytes that three steps needed."""
    work = WORKLOADS[name]
    if side.startswith("ours"):
        from minalbert.fused import optimiser_for
        from minalbert.optim import AdamW, Moments

        if comparison.KERNELS == "compiled":
            from minalbert.kernels.compiled import optimisers  # noqa: F401  # numba is no more counted than PyTorch is
    else:
        from peer import Peer
    before = held("VmRSS")
    model, batch = Albert.init(work.config, kernels=comparison.KERNELS), work.batch()
    if side.startswith("ours"):
        grads, moments = model.params.zeros_like(), Moments.zeros(model.params)
        optimiser = optimiser_for(AdamW(), model.params, comparison.KERNELS, int(comparison.THREADS))

        def step():
            grads.flat.fill(0)
            model.loss_and_grads(batch, into=grads, recompute="recomputed" in side)
            optimiser.step(model.params, grads, moments, 1e-6, 1)
    else:
        step = Peer(model, batch, side == "tuned").step
        del model
    for _ in range(3):
        step()
    return held("VmHWM") - before


def in_a_process(name, side):
    given = ["--threads", comparison.THREADS, "--kernels", comparison.KERNELS]
    command = [sys.executable, __file__, *given, "--side", side, "--case", name]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def measure(name):
    found = {side: in_a_process(name, side) for side in SIDES}
    floor = 4 * 4 * count(WORKLOADS[name].config)
    peer = min(found["as released"], found["tuned"])
    for side in SIDES[:2]:
        yield {"case": f"{name}, {side}", "ours": found[side], "peer": peer, "floor": floor,
               "ratio": found[side] / peer, "unit": "bytes"}  # fmt: skip


def main():
    names = [name for name, work in WORKLOADS.items() if work.config is BASE]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.early])
    parser.add_argument("--case", nargs="*", default=names, choices=WORKLOADS, metavar="NAME", help=" | ".join(names))
    parser.add_argument("--json", action="store_true", help="one object per case")
    parser.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        print(take_steps(options.case[0], options.side))
        return
    if not os.path.exists("/proc/self/status"):
        sys.exit("memory is read from /proc/self/status, which this system does not have")
    if not options.json:
        print(comparison.HEAD)
    for row in (row for name in options.case for row in measure(name)):
        print(json.dumps(row) if options.json else comparison.line(row), flush=True)


if __name__ == "__main__":
    main()
