"""A trained model with its tokenizer, wherever it lies.

    runs/first                      a run: its newest checkpoint, or a fine-tuning's best one
    runs/first/step-00000500        one of its checkpoints
    albert-base-v2                  a Hugging Face directory, with spiece.model beside config.json

Without a path it is SHIPPED, the small ALBERT that comes with minalbert: what `minalbert demo` trains.
"""

from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .. import arguments
from ..albert import Albert
from ..data.tokenizer import check_belongs
from ..data.tokenizers import FILE_NAMES, load_tokenizer
from ..errors import DataError, FileError, TrainError
from ..files import exists, names_in
from ..interop import huggingface
from . import checkpoint, run_directory, saved_steps

RUN_FILES = ("config.toml", "metrics.jsonl", *FILE_NAMES)
RELEASED = "spiece.model"
SHIPPED = Path(__file__).with_name("shipped")
ADVICE = "put the right one there, or name it with --tokenizer where a command has this option"


class Trained(NamedTuple):
    model: Any
    tokenizer: Any
    directory: Path                                  # in which config.json and the weights lie


def open_trained(path=None, tokenizer=None, kernels="plain"):
    """Open a run, a checkpoint or a model. `tokenizer`: a file, instead of the one beside the weights."""
    directory = SHIPPED if path is None else model_directory(path)
    with offering_an_earlier_one(directory):
        model = Albert.from_pretrained(directory, kernels=kernels)
    file = arguments.path_of("tokenizer", tokenizer) if tokenizer is not None else tokenizer_file(directory)
    found = tokenizer_of(file)
    words, pieces = model.config.vocab_size, found.vocab_size
    of_run = tokenizer is None and file.name != RELEASED     # which may have a larger vocabulary than its corpus
    if pieces > words or (pieces < words and not of_run):
        raise TrainError(f"{file} has {pieces:,} pieces and the model {words:,}: they do not belong together")
    check_belongs(found, model.tokenizer_digest, file)
    return Trained(model, found, directory)


def tokenizer_of(file):
    try:
        return load_tokenizer(file, ADVICE)
    except DataError as error:
        if isinstance(error.__cause__, ImportError):
            raise
        raise DataError(f"{error if str(file) in str(error) else f'{file}: {error}'}; {ADVICE}") from error


def weights_of(path, dtype, device):
    """The model of a run, a checkpoint or a directory, to train on with."""
    directory = model_directory(path)
    with offering_an_earlier_one(directory):
        return Albert.from_pretrained(directory, dtype, device)


@contextmanager
def offering_an_earlier_one(directory):
    """Raise the error of a checkpoint that is damaged, or another run's, with the newest whole one before it."""
    run = directory.absolute().parent
    owner = run_directory.identity(run) if any((run / name).exists() for name in RUN_FILES[:2]) else None
    try:
        if exists(directory / checkpoint.STATE, ""):
            checkpoint.read_note_of(directory, owner)
        yield
    except (FileError, TrainError) as fault:
        if not saved_steps.steps(run):
            raise
        before = checkpoint.whole_before(run, saved_steps.step_of(directory), owner)
        way = "restore it from a copy" if before is None else f"name {saved_steps.path_of(run, before)}, which is whole"
        raise type(fault)(f"{fault}; {way}") from fault


def model_directory(path):
    path = arguments.path_of("path", path, TrainError)
    if not path.is_dir():
        raise TrainError(f"{path} is not a directory; it must be a run, one of its checkpoints, or a model in the "
                         "form of Hugging Face")
    advice = "make it readable, or name another directory"
    if any(exists(path / name, advice) for name in (*huggingface.WRITTEN, checkpoint.STATE)):
        return path
    names_in(path, advice)                           # or it would look empty
    strays, steps = saved_steps.strays(path), saved_steps.steps(path)
    if strays and saved_steps.step_of(strays[-1]) > max(steps, default=-1):
        raise TrainError(f"{strays[-1]} is no directory, and was a checkpoint; remove it, or name another")
    if steps:
        return saved_steps.path_of(path, best_of(path, steps))
    if any((path / name).exists() for name in RUN_FILES):
        raise TrainError(f"{path} has no checkpoint yet")
    if runs := run_directory.runs_in(path):
        raise TrainError(run_directory.several(path, runs))
    raise TrainError(f"{path} holds neither a run nor a model: there is no step-... and no config.json in it")


def best_of(run, steps):
    """The step that did best in the run's tests, as its newest checkpoint notes it; else the newest."""
    extra = checkpoint.note_of(run, steps[-1]).get("extra", {})
    best = extra["best"]["step"] if "best" in extra else None
    return best if best in steps else steps[-1]


def tokenizer_file(directory):
    """Beside the weights, or in the run that the checkpoint belongs to."""
    directory = directory.resolve()
    places = [directory, directory.parent] if directory.name.startswith("step-") else [directory]
    for file in (directory / RELEASED, *(place / name for place in places for name in FILE_NAMES)):
        if file.exists():
            return file
    raise TrainError(f"{directory} has no tokenizer ({', '.join((RELEASED, *FILE_NAMES))}); {ADVICE}")
