"""The checkpoints of a run by the names of their directories: which there are, and which are removed.

    step-00000500               a checkpoint, which was written as a whole
    .step-00000500.partial      one that is being written
    .step-00000500.replaced     one whose place another state of the same step takes
    .step-00000500.removed      one that is being deleted
    damaged-step-00000500       one that was found damaged
    aside-step-00000500         one of a later step than the run was told to resume from
"""

import math
import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from ..errors import TrainError
from ..files import PARTIAL, names_in, rename_aside, settle

NAME = r"step-([0-9]{8}|[1-9][0-9]{8,})"
REPLACED, REMOVED = ".replaced", ".removed"          # endings of hidden names, as PARTIAL is


def steps(run):
    """The steps of which a checkpoint is there, in order."""
    return sorted(int(path.name[5:]) for path in _named(run) if path.is_dir())


def strays(run):
    """Paths that have the name of a checkpoint, but are no directories."""
    return sorted(path for path in _named(run) if not path.is_dir())


def _named(run):
    """All paths that have the name of a checkpoint."""
    return [path for path in Path(run).glob("step-*") if re.fullmatch(NAME, path.name)]


def path_of(run, step):
    return Path(run) / f"step-{step:08d}"


def step_of(path):
    """The step in the name of a checkpoint's directory; infinity for another name, so that all steps are earlier."""
    name = Path(os.path.abspath(path)).name
    return int(name[5:]) if re.fullmatch(NAME, name) else math.inf


def put_aside(run, step):
    """Rename the checkpoints after this step, so that the run resumes from it. Returns messages."""
    return [f"{path_of(run, later)} is of a later step; {rename_aside(path_of(run, later), 'aside')}"
            for later in reversed(steps(run)) if later > step]


def remove_after(run, step):
    """Remove the checkpoints of later steps."""
    remove_all_but(run, {one for one in steps(run) if one <= step})


def remove_all_but(run, stay):
    """Remove all other checkpoints; what cannot be removed now is left for the next time."""
    for step in sorted(set(steps(run)) - stay):
        path = path_of(run, step)
        hidden = hidden_name(path, REMOVED)
        with suppress(OSError):
            remove(hidden)
        with suppress(OSError):
            os.rename(path, hidden)
            settle(run)
            remove(hidden)


def clear_leftovers(run):
    """Remove what a kill left under hidden names. Only for the process that holds the lock.

    A run whose names cannot be read is an error here, before it is taken for one that has no checkpoint.
    """
    for path in (Path(run) / name for name in names_in(run, "") if name.startswith(".step-")):
        real = path.with_name(path.stem[1:])
        try:
            if path.suffix == REPLACED and not real.exists():    # killed between its two renames
                os.rename(path, real)
            elif path.suffix in (PARTIAL, REPLACED, REMOVED):
                remove(path)
        except OSError as error:
            if path.suffix != REMOVED:               # which is in nobody's way
                raise TrainError(f"{path}, left behind by a kill, cannot be removed: {error.strerror}") from error


def remove(path):
    """Remove a file, a link, or a directory with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def hidden_name(path, ending):
    return path.with_name(f".{path.name}{ending}")
