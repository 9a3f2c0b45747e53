"""Fine-tuning of a model that a run has trained, on tasks of tiny worlds, whose labels cost nothing.

All models see the same examples in the same order, PASSES times unless a number of steps is given, and are scored once,
after the last step.
"""

import functools
import tempfile
from pathlib import Path

from ..data.tiny_worlds.tasks import TASKS, squad, write_tasks
from ..kernels import fastest
from ..tasks.settings import TaskSettings
from ..tasks.sweep import sweep

EXAMPLES = 1000                                      # of a task to be judged by, and to train on, unless more are asked
BATCH, PASSES = 32, 10


@functools.cache
def task_of(place, name, train):
    """The directory of a task with so many labels; written once in a process."""
    directory = Path(place) / f"tasks-{train}"
    write_tasks(directory, train=train, dev=EXAMPLES, names=[name])
    return directory / name


def fine_tuned(held_out, task, labels, rates, seeds=(0,), steps=None):
    """The runs of a sweep over rates and seeds: tasks.sweep.SweptRun. A seed is that of the labels and their order."""
    if held_out.most < EXAMPLES:                     # --quick
        labels, seeds, steps = held_out.most // 4, seeds[:1], None
    steps = steps or PASSES * labels // BATCH
    form = "squad2" if TASKS[task].files is squad else "custom"
    data = task_of(held_out.place, task, max(labels, EXAMPLES))
    settings = TaskSettings().change(
        task=form, data=str(data), weights=str(held_out.run), train_examples=labels,
        dev_examples=min(EXAMPLES, held_out.most), dropout=0.0, batch=BATCH, micro_batch=BATCH, workers=1,
        kernels=fastest("cpu"), steps=steps, warmup=steps // 10, evaluate_every=steps, every=steps, spikes="note",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(dir=held_out.place) as runs:
        found = sweep(settings, Path(runs) / task, seeds, rates)
    if found.code:                                   # a signal asked to stop
        raise SystemExit(found.code)
    return found.runs
