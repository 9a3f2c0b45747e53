"""How long does a training step take, and how long does PyTorch take for the same one?

    python benchmarks/step.py [--case NAME ...] [--kernels plain|fused|compiled] [--runs 7] [--threads 2] [--json]

Forward, backward and AdamW, MLM and SOP losses, the same weights and batch on both sides, which must give the same loss
before anything is timed. float32, or on both sides bf16 for what is multiplied. The floor is the step's matrix products
at the rate of one large product of the same precision: no program that multiplies these matrices can be faster.
Batches with padding are those of `make demo`, and texts as long as GLUE's; the peer's are cut to their longest text.
"""

import comparison
from peer import Peer, assert_same_loss
from workloads import CASES, WORKLOADS

from minalbert import Albert
from minalbert.fused import optimiser_for
from minalbert.optim import AdamW, Moments


def stepper(model, batch):
    """A function that takes a step and returns the loss."""
    grads, moments = model.params.zeros_like(), Moments.zeros(model.params)
    optimiser = optimiser_for(AdamW(), model.params, comparison.KERNELS, int(comparison.THREADS))

    def step():
        grads.flat.fill(0)
        losses, _ = model.loss_and_grads(batch, into=grads)
        optimiser.step(model.params, grads, moments, 1e-6, 1)
        return float(losses.total)

    return step


def measure(name, runs):
    workload, tuned, bf16 = CASES[name]
    work = WORKLOADS[workload]
    model = Albert.init(work.config, precision="bf16" if bf16 else "full", kernels=comparison.KERNELS)
    batch = work.batch()
    theirs, ours = Peer(model, batch, tuned, bf16).step, stepper(model, batch)
    assert_same_loss(name, ours(), theirs(), tolerance=2e-3 if bf16 else 1e-4)
    least = work.training_operations(), work.training_bytes(), bf16
    return comparison.compare(name, ours, theirs, least, runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=7)
