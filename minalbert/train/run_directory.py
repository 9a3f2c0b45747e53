"""A run's directory: the settings it keeps, and its identity.

    runs/first/
      config.toml           the run's identity, every setting
      tokenizer.json        or tokenizer.model: of the corpus
      metrics.jsonl         what happened
      step-00000500/        a checkpoint, which transformers and Albert.from_pretrained read as well

config.toml is for people to read and to change. What a run was made with is in its checkpoints: settings are compared
with that, wherever they come from, and a damaged config.toml is restored from there.
"""

import os
import secrets
from contextlib import suppress
from pathlib import Path

from .. import files
from ..arguments import is_whole
from ..data.tokenizers import load_tokenizer
from ..errors import ConfigError, DataError, FileError, MissingFileError, TrainError
from ..files import exists, names_in, rename_aside, settle, write_atomically
from . import checkpoint, log, saved_steps
from .sections import RUN
from .settings import Settings

CONFIG = "config.toml"
UNREADABLE = "make the directory readable, or name another"
RESTORED = "without the file, settings are those of the checkpoint"
COMMANDS = {"model": "pretrain", "task": "finetune"}     # by a section that only its runs have
SWEEP = "sweep.jsonl"                                # of a directory of runs
FOREIGN = {SWEEP: "a directory of several runs", "manifest.json": "a corpus", "config.json": "a saved model",
           "model.safetensors": "a saved model"}


def make(run):
    kinds = [kind for name, kind in FOREIGN.items() if (Path(run) / name).exists()]
    if Path(run).resolve() == Path(run).resolve().parent:
        kinds = ["the root of a disk"]
    if kinds:
        advice = "; the --seeds and --rates of these resume them" * (kinds[0] == FOREIGN[SWEEP])
        raise TrainError(f"{run} is {kinds[0]}; name another directory for the run{advice}")
    try:
        Path(run).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(f"{run} cannot be made a directory: {error.strerror}") from error
    with suppress(OSError):                          # a directory that we may write into, but not read
        settle(Path(run).resolve().parent)


def runs_in(directory):
    """The runs in a directory of several, sorted by name; [] of a run, and of anything else."""
    directory = Path(directory)
    if exists(directory / CONFIG, UNREADABLE):
        return []
    places = [directory / name for name in names_in(directory, UNREADABLE)]
    return [path for path in places if exists(path / CONFIG, UNREADABLE)]


def several(directory, runs):
    """A sentence about a directory of several runs, where one is expected."""
    more = f" and {len(runs) - 3} more" if len(runs) > 3 else ""
    return f"{directory} is a directory of several runs; name one of them: {', '.join(map(str, runs[:3]))}{more}"


# Identity


def identity(run):
    """The random name that a run was given at its start; None if it has none yet.

    config.toml, the log's first line and each checkpoint have it. If they differ, two of them outvote the third; where
    no two agree, the first in this order counts.
    """
    in_checkpoints = (note["run"] for note in checkpoint.newest_notes(run) if "run" in note)
    names = list(filter(None, (id_in_config(run), log.owner_of(run), next(in_checkpoints, None))))
    return max(names, key=names.count, default=None)


def id_in_config(run):
    try:
        return table_of(files.read_toml(Path(run) / CONFIG, ""), RUN).get("id")
    except FileError:
        return None


def new_identity():
    return secrets.token_hex(8)


# Settings


def made_with(place, owner, step=None):
    """{section: {name: value}} that the newest checkpoint was made with, or that of a step; {} if it does not say."""
    notes = checkpoint.newest_notes(place, owner) if step is None else [checkpoint.note_of(place, step, owner)]
    return next((note["settings"] for note in notes if "settings" in note), {})


def kept_tables(run):
    """({section: {name: value}} or None, messages): config.toml, or the newest checkpoint's if that is not whole."""
    path, owner = Path(run) / CONFIG, identity(run)
    saved = made_with(run, owner)
    try:
        tables = files.read_toml(path, "")
    except FileError as fault:
        if saved:
            return saved, [f"{fault}; it is restored from the newest checkpoint"]
        if isinstance(fault, MissingFileError) or not Path(run).is_dir():
            return None, []
        raise type(fault)(f"{fault}; remove it, and give the settings again") from fault
    lacking = [name for section in saved for name in saved[section] if name not in table_of(tables, section)]
    if saved and table_of(tables, RUN).get("id", owner) != owner:
        return saved, [f"{path} is another run's; it is restored from the newest checkpoint"]
    if lacking:
        first = ", ".join(lacking[:3]) + ", ..." * (len(lacking) > 3)
        return saved, [f"{path} is not whole, it lacks {first}; it is restored from the newest checkpoint"]
    return tables, []


def check_kind(run, tables, kind):
    """Raise ConfigError if these are the tables of a run that another command made. kind: the settings' class"""
    for section, command in COMMANDS.items():
        if section in (tables or {}) and section not in kind.SECTIONS:
            raise ConfigError(f"{run} is a run of `minalbert {command}`; name another directory")


def table_of(tables, section):
    found = tables.get(section)
    return found if isinstance(found, dict) else {}


def kept_settings(run, kind=Settings, /, **changes):
    """The settings that a run keeps, with others in their places; None if it keeps none. kind: their class.

    Both come by place only: a setting may be called kind, too.
    """
    tables, _ = kept_tables(run)
    check_kind(run, tables, kind)
    if tables is None:
        return None
    preset = changes.pop("preset", None)
    if preset is not None:                           # takes the place of the whole model
        tables = tables | {"model": {"preset": preset}}
    try:
        return kind.from_tables(without_long_warmup(tables, changes), **changes)
    except (ConfigError, DataError) as error:
        given = ", with the options given" if changes or preset else f" ({RESTORED})"
        raise type(error)(f"{Path(run) / CONFIG}{given}: {error}") from error


def without_long_warmup(tables, changes):
    """The tables without the kept warm-up, if it is longer than the steps that are given now.

    The warm-up is then the usual share of these, as in a run that begins with them.
    """
    schedule, steps = table_of(tables, "schedule"), changes.get("steps")
    if "warmup" in changes or not (is_whole(steps) and is_whole(warmup := schedule.get("warmup")) and warmup > steps):
        return tables
    return tables | {"schedule": {name: value for name, value in schedule.items() if name != "warmup"}}


def settings_at(directory):
    """The settings that a checkpoint was made with, but for where config.toml says that the corpora are now."""
    run = directory.parent
    kept, saved = kept_settings(run), checkpoint.note_of(run, saved_steps.step_of(directory)).get("settings")
    if kept is None or saved is None:
        return kept
    return Settings.from_tables(saved, corpus=kept.data.corpus, held_out=kept.data.held_out)


def changes(run, settings, place=None, from_step=None):
    """Messages: one for each setting that was another at the checkpoint; an error for one that may not change.

    place      the directory of the checkpoint, if it is not the run
    """
    tables, messages = kept_tables(run)
    saved = made_with(place or run, identity(run), from_step)
    if not (saved or (tables and saved_steps.steps(run))):
        return messages
    before = type(settings).from_tables(saved or tables)
    old, now = before.tables(), settings.tables()
    for section in now:
        for name in now[section] | old[section]:
            was, is_ = old[section].get(name), now[section].get(name)
            if was == is_:
                continue
            if not settings.may_change(section, name):
                of_file = f" ({CONFIG} says so; {RESTORED})" if table_of(tables or {}, section).get(name) == is_ else ""
                raise ConfigError(f"{name} is {is_!r}{of_file}; {run} was begun with {was!r}, and resumes with that "
                                  "only: name another directory for a new run")
            messages.append(f"{name} is now {is_!r}, no longer {was!r}")
    return messages


def keep(run, name, settings, tokenizer, resumed=False):
    """Write down the run's identity and settings, and its tokenizer. Returns messages.

    resumed    on a full disk, leave config.toml as it is: each checkpoint has the settings, too
    """
    content = f'[{RUN}]\nid = "{name}"\n\n{settings.toml()}'.encode()
    path = Path(run) / CONFIG
    if not (path.exists() and same(path, content)):  # a full disk stops no run that goes on as it was
        if path.exists() and not (path.is_file() or path.is_dir()):
            path.unlink()                            # a pipe, or a link to a device, which AtomicFile refuses
        try:
            write_atomically(path, content)
        except FileError as fault:
            if not (resumed and getattr(fault.__cause__, "errno", None) in checkpoint.NO_ROOM):
                raise
            return [f"{path} has no room for the changed settings ({fault.__cause__.strerror}); give them again at the "
                    "next start"]
    place, messages = Path(run) / tokenizer.file_name, []
    if os.path.lexists(place) and not is_of(place, tokenizer):
        messages.append(f"{place} is not the tokenizer of the run; {rename_aside(place, 'damaged')}, and the right one "
                        "takes its place")
    if not os.path.lexists(place):
        tokenizer.save(place)
    return messages


def is_of(path, tokenizer):
    try:
        return load_tokenizer(path, "").digest == tokenizer.digest
    except (FileError, DataError):
        return False


def same(path, content):
    try:
        return files.read(path, "") == content
    except FileError:
        return False
