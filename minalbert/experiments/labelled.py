"""Fine-tuning of a model that a run has trained, on tasks of tiny worlds, whose labels cost nothing.

All models see the same examples in the same order, for as many steps as take them PASSES times through them, and are
scored once, after the last step.
"""

import functools
import tempfile
from pathlib import Path

from ..data.tiny_worlds.tasks import write_tasks
from ..kernels import fastest
from ..tasks.settings import TaskSettings
from ..tasks.sweep import sweep

EXAMPLES = 1000                                      # of a task to train on, at most, and as many to be judged by
BATCH, PASSES = 32, 10


@functools.cache
def task_of(place, name):
    """The directory of a task, written unless it is there."""
    directory = Path(place) / "tasks"
    write_tasks(directory, train=EXAMPLES, dev=EXAMPLES, names=[name])
    return directory / name


def fine_tuned(held_out, task, labels, rates, seeds=(0,)):
    """The runs of a sweep over rates and seeds: tasks.sweep.SweptRun. A seed is that of the labels and their order."""
    if held_out.most < EXAMPLES:                     # --quick
        labels, seeds = held_out.most // 4, seeds[:1]
    steps = PASSES * labels // BATCH
    settings = TaskSettings().change(
        task="custom", data=str(task_of(held_out.place, task)), weights=str(held_out.run), train_examples=labels,
        dev_examples=min(EXAMPLES, held_out.most), dropout=0.0, batch=BATCH, micro_batch=BATCH, workers=1,
        kernels=fastest("cpu"), steps=steps, warmup=steps // 10, evaluate_every=steps, every=steps, spikes="note",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(dir=held_out.place) as directory:
        found = sweep(settings, Path(directory) / task, seeds, rates)
    if found.code:                                   # a signal asked to stop
        raise SystemExit(found.code)
    return found.runs
