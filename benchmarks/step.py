"""How long does a training step take, and how long does PyTorch take for the same one?

    python benchmarks/step.py [--case NAME ...] [--runs 7] [--threads 2] [--json]

Forward, backward and AdamW, float32, MLM and SOP losses, the same weights and batch on both sides, which must give the
same loss before anything is timed. The floor is the step's matrix products at the rate of one large product: no program
that multiplies these matrices can be faster.
"""

import comparison
from peer import Peer, assert_same_loss
from workloads import WORKLOADS

from minalbert import Albert
from minalbert.optim import AdamW, Moments

CASES = {f"{name}, {kind}": (name, kind == "tuned") for name in WORKLOADS for kind in ("as released", "tuned")}


def stepper(model, batch):
    """A function that takes a step and returns the loss."""
    grads, moments, optimiser = model.params.zeros_like(), Moments.zeros(model.params), AdamW()

    def step():
        grads.flat.fill(0)
        losses, _ = model.loss_and_grads(batch, into=grads)
        optimiser.step(model.params, grads, moments, 1e-6, 1)
        return float(losses.total)

    return step


def measure(name, runs):
    work, tuned = WORKLOADS[CASES[name][0]], CASES[name][1]
    model, batch = Albert.init(work.config), work.batch()
    theirs, ours = Peer(model, batch, tuned).step, stepper(model, batch)
    assert_same_loss(name, ours(), theirs())
    operations = work.training_operations()
    return comparison.compare(name, ours, theirs, lambda: operations * comparison.product_seconds(), runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=7)
