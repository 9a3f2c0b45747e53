"""A fine-tuned model: one with its task, whose facts are what it takes to open the task again.

    runs/sst2/step-.../config.json   "minalbert_task": of a run of `minalbert finetune`
    models/sst2/task.json            of a model that was trained by other means; also in the run above a step-...

    model, tokenizer, task, directory = open_finetuned("runs/sst2")
"""

import json
from pathlib import Path
from typing import Any, NamedTuple

from ..arguments import of_kind, path_of
from ..errors import FileError, TrainError
from ..files import checksum, damaged, exists, read_json, write_atomically
from ..interop.huggingface import CONFIG
from ..train.run_directory import kept_settings
from ..train.trained import open_trained
from .finetuning import TASK
from .opening import open_task
from .settings import TaskSettings
from .task import DownstreamTask

FACTS = "task.json"
ADVICE = "restore it from a copy, or name the task"


class FineTuned(NamedTuple):
    model: Any
    tokenizer: Any
    task: Any
    directory: Path                                  # in which config.json and the weights lie


def save_facts(directory, task, scores=None):
    """Write what it takes to open the task again; with what scores on dev decide: squad2's threshold."""
    of_kind("task", task, DownstreamTask)
    facts = task.facts | ({} if scores is None else task.decided_by(of_kind("scores", scores, dict)))
    content = json.dumps(facts | {"sha256": checksum(facts)}, indent=1) + "\n"
    write_atomically(path_of("directory", directory) / FACTS, content.encode())


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
    return FineTuned(model, trained.tokenizer, task, trained.directory)


def task_of(directory, data=None):
    """The task whose facts lie beside the weights, or in the run that the checkpoint belongs to."""
    directory = directory.resolve()
    places = [directory, directory.parent] if directory.name.startswith("step-") else [directory]
    path = next((place / FACTS for place in places if exists(place / FACTS, ADVICE)), directory / CONFIG)
    facts = read_json(path, ADVICE)
    if path.name == CONFIG:                          # which was compared with its hash when the model was read
        facts = facts.get(TASK)
        if facts is None:
            raise TrainError(f"{directory} does not say what task it is for, in {TASK} of {CONFIG} or in {FACTS}; name "
                             "its task")
    elif facts.pop("sha256", None) != checksum(facts):
        raise damaged(f"{path} is damaged: it differs from its own SHA-256", ADVICE)
    try:
        return open_task(**facts, place=data)
    except TypeError as error:                       # it was written by another version
        raise TrainError(f"{path} has facts that no task has ({error}); {ADVICE}") from error


def data_of(directory):
    """The directory of the task's files that the run of a fine-tuned checkpoint keeps; None of another model."""
    try:
        if not directory.name.startswith("step-") or TASK not in read_json(directory / CONFIG, ADVICE):
            return None
    except FileError:                                # whoever opens the model says so
        return None
    settings = kept_settings(directory.parent, TaskSettings)
    return settings and settings.task.data
