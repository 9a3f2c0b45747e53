"""A run's directory, and the settings it keeps.

    runs/first/
      config.toml           every setting
      tokenizer.json        or tokenizer.model: of the corpus
      metrics.jsonl         what happened
      step-00000500/        a checkpoint, which transformers and Albert.from_pretrained read as well
"""

from contextlib import suppress
from pathlib import Path

from ..errors import ConfigError, TrainError
from ..files import settle, write_atomically
from . import checkpoint
from .settings import Settings

CONFIG = "config.toml"
CHANGEABLE = {                                       # of sections on which the weights or the place in the data depend
    "model": ("hidden_dropout_prob", "attention_probs_dropout_prob"),
    "recipe": (),
    "training": ("steps", "workers", "recompute", "precision", "kernels", "device", "code", "weights"),
}


def make(run):
    try:
        Path(run).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainError(f"{run} cannot be made a directory: {error.strerror}") from error
    with suppress(OSError):                          # a directory that we may write into, but not read
        settle(Path(run).resolve().parent)


def kept_settings(run):
    """The settings that a run keeps, or None."""
    path = Path(run) / CONFIG
    return Settings.read(path) if path.exists() else None


def changes(run, settings):
    """Messages: one for each setting that was another at the last checkpoint; an error for one that may not change."""
    before, messages = kept_settings(run) if checkpoint.steps(run) else None, []
    old, now = (before or settings).tables(), settings.tables()
    for section in now:
        for name in now[section] | old[section]:
            was, is_ = old[section].get(name), now[section].get(name)
            if was == is_:
                continue
            if (section in CHANGEABLE and name not in CHANGEABLE[section]) or name == "optimiser":
                raise ConfigError(f"{name} is {is_!r}; {run} was begun with {was!r}, and resumes with that only: name "
                                  "another directory for a new run")
            messages.append(f"{name} is now {is_!r}, no longer {was!r}")
    return messages


def keep(run, settings, tokenizer):
    write_atomically(Path(run) / CONFIG, settings.toml().encode())
    place = Path(run) / tokenizer.file_name
    if not place.exists():
        tokenizer.save(place)
