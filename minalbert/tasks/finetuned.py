"""A fine-tuned model: one with its task, which "minalbert_task" in its config.json describes.

    model, tokenizer, task, directory = open_finetuned("runs/sst2")

A run of `minalbert finetune` writes this entry; `save_facts` writes it for a model that was trained by other means.
"""

from pathlib import Path
from typing import Any, NamedTuple

from ..arguments import of_kind, path_of
from ..errors import FileError, TrainError
from ..files import read_json
from ..interop.hashes import CONFIG, add_to_config
from ..interop.unread import TASK
from ..train.run_directory import kept_settings
from ..train.trained import open_trained
from .opening import open_task
from .settings import TaskSettings
from .task import DownstreamTask

ADVICE = "restore it from a copy, or name the task"


class FineTuned(NamedTuple):
    """A fine-tuned model with its tokenizer and its task."""

    model: Any
    tokenizer: Any
    task: Any
    directory: Path                                  # in which config.json and the weights lie


def save_facts(directory, task, scores=None):
    """Write the task into a model's config.json, with its labels' names as transformers has them.

    scores   on dev, which decide squad2's threshold
    """
    of_kind("task", task, DownstreamTask)
    scores = scores if scores is None else of_kind("scores", scores, dict)
    add_to_config(path_of("directory", directory), task.config_json(scores))


def open_finetuned(path, data=None, name=None, tokenizer=None, kernels=None):
    """Open a run, a checkpoint or a model, and its task.

    data      the directory with the task's files, where those of a split are read
    name      of the task, for a model that does not say it
    kernels   if none are given "fused", but "plain" for reversible layers, which have no others
    """
    trained = open_trained(path, tokenizer)
    if kernels is None:
        kernels = "plain" if trained.model.config.reversible else "fused"
    model = trained.model.copy(kernels=kernels)
    longest = min(128, model.config.max_position_embeddings)
    task = task_of(trained.directory, data) if name is None else open_task(name, data, longest)
    task.check_model(model)
    put_in_order(model, task, trained.directory)
    return FineTuned(model, trained.tokenizer, task, trained.directory)


def task_of(directory, data=None):
    """The task that a model's config.json names."""
    facts = read_json(directory / CONFIG, ADVICE).get(TASK)
    if facts is None:
        raise TrainError(f"{directory} does not say what task it is for, in {TASK} of {CONFIG}; name its task")
    try:
        return open_task(**facts, place=data)
    except TypeError as error:                       # another version or a person wrote it
        raise TrainError(f"{directory / CONFIG} has facts in {TASK} that no task has ({error}); {ADVICE}") from error


def put_in_order(model, task, directory):
    """Give a classifier's outputs the order of the task's labels, where config.json names them in another one.

    Names that have nothing in common with the task's, such as LABEL_0, say nothing about their order.
    """
    names = read_json(directory / CONFIG, ADVICE).get("id2label")
    if task.kind not in ("label", "token") or not isinstance(names, dict):
        return
    wanted = [name.lower() for name in task.names]
    found = [str(names.get(str(number))).lower() for number in range(len(wanted))]
    if found == wanted or not {*found} & {*wanted}:
        return
    if sorted(found) != sorted(wanted):
        raise TrainError(f"{directory / CONFIG} names the labels {', '.join(found)}, and task {task.name} has "
                         f"{', '.join(wanted)}; a model for this task must have the same")
    order = [found.index(name) for name in wanted]
    for name, of_outputs in (("classifier.w", (slice(None), order)), ("classifier.b", order)):
        model.params[name][...] = model.params[name][of_outputs]


def data_of(directory):
    """The directory of the task's files, as the run of a fine-tuned checkpoint notes it; None for another model."""
    try:
        if not directory.name.startswith("step-") or TASK not in read_json(directory / CONFIG, ADVICE):
            return None
    except FileError:                                # whoever opens the model says so
        return None
    settings = kept_settings(directory.parent, TaskSettings)
    return settings and settings.task.data
