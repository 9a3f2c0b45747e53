"""How long does a step of fine-tuning take, and how long does PyTorch take for the same one?

    python benchmarks/finetuning_step.py [--case NAME ...] [--kernels plain|fused|compiled] [--runs 7] [--threads 2]

Two labels of 32 pairs of sentences as long as GLUE's, ALBERT-base: forward, backward and AdamW, without dropout, the
same weights and batch on both sides, which must give the same loss before anything is timed. Ours is the step of a run
of `minalbert finetune`: the batch in two slices, each as long as its own longest pair. The peer's batch is padded to
its longest pair (dynamic padding). "tuned" and the floor are as in step.py.
"""

import comparison
import numpy as np
from peer import TaskPeer, assert_same_loss
from workloads import BASE, Workload

from minalbert import Albert
from minalbert.fused import optimiser_for
from minalbert.optim import AdamW, Moments
from minalbert.parallel import Workers
from minalbert.tasks.gradient import TaskBatch, gradient_function
from minalbert.tasks.objectives import Labels

PAIRS = Workload(BASE, 32, 128, "GLUE")
CASES = {f"32 pairs of GLUE, {kind}": kind == "tuned" for kind in ("as released", "tuned")}
SLICES = 2  # as the presets of `minalbert finetune` have it


def examples():
    labels = np.random.default_rng(3).integers(0, 2, PAIRS.size)
    return TaskBatch(*PAIRS.batch()[:3], labels)


def stepper(model, objective, batch, workers):
    """A function that takes a step and returns the loss."""
    moments = Moments.zeros(model.params)
    optimiser = optimiser_for(AdamW(), model.params, comparison.KERNELS, int(comparison.THREADS))
    gradient_of = gradient_function(workers, objective)
    slices = [trimmed(TaskBatch(*arrays)) for arrays in zip(*(np.split(array, SLICES) for array in batch), strict=True)]

    def step():
        found = gradient_of(slices)
        optimiser.step(model.params, found.grads, moments, 1e-6, 1)
        workers.release(found.grads)
        return float(found.losses.total)

    return step


def trimmed(batch):
    length = int(batch.attention_mask.sum(axis=1).max())
    return TaskBatch(*(array[:, :length] for array in batch[:3]), batch.labels)


def measure(name, runs):
    objective, batch = Labels(2), examples()
    model = Albert.init(PAIRS.config, heads=objective.heads, kernels=comparison.KERNELS)
    with Workers(model, int(comparison.THREADS)) as workers:
        theirs, ours = TaskPeer(model, batch, CASES[name]).step, stepper(model, objective, batch, workers)
        assert_same_loss(name, ours(), theirs(), tolerance=1e-5)
        least = 3 * PAIRS.encoding_operations(), PAIRS.training_bytes(), False
        return comparison.compare(name, ours, theirs, least, runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=7)
