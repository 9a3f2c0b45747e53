"""Checkpoints: all that a run needs to resume to the last bit, in a directory that is whole or not there.

    runs/first/step-00000500/
      config.json, model.safetensors    as transformers and Albert.from_pretrained read them
      moments.safetensors               "m" and "v", each one vector
      state.json                        step, place in the data, run, settings, environment; the files' SHA-256

It is written under a hidden name, and in this order:

    files written, synced  ->  their directory synced  ->  renamed to step-...  ->  the run synced  ->  old ones removed

So a kill or a power cut, at whatever instant, leaves the checkpoints that were there. An old one loses its name before
its files, for the same reason. On a full disk old ones are removed before, but never the newest. Random numbers
need no room here: each is a function of the seed and its place.
"""

import errno
import json
import math
import os
import shutil
from pathlib import Path
from typing import NamedTuple

from ..backend import to_host
from ..errors import DamagedError, FileError, NoRoomError, TrainError
from ..files import PARTIAL, rename_aside, settle, sync
from ..interop import huggingface
from ..interop.safetensors_files import read, write
from ..interop.unread import NOTHING
from ..optim import Moments
from ..params import Params
from ..sealed import STATE, check_form, of_another_run, read_note, records_of, seal, verify_noted
from .saved_steps import REPLACED, hidden_name, path_of, remove_all_but, step_of, steps, strays

MOMENTS = "moments.safetensors"
ORIGIN = "run", "settings", "log"                    # the run's identity, its settings, the log's size and SHA-256 then
FORMAT = 1
KINDS = {"step": int, "position": int, "extra": dict, "circumstances": dict, "files": dict}      # of a note's entries
ADVICE = ""                                          # callers add which other checkpoint is whole
NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class SavedState(NamedTuple):
    step: int                                        # updates made
    batch_index: int                                 # of the next batch; "position" in state.json
    params: Params
    moments: Moments | None
    extra: dict                                      # of what JSON can hold
    origin: dict = {}                                # noqa: RUF012  of ORIGIN; version 0.1.0 wrote none
    config_json: dict = {}                           # noqa: RUF012  entries of config.json besides the model's


def save(run, config, state, environment, keep=2, always=()):
    """Save and return the path. The newest `keep` stay, and those of the steps in `always`; the others are removed."""
    if keep < 1:
        raise TrainError(f"keep is {keep}; at least 1 checkpoint must be kept")
    path = path_of(run, state.step)
    note = {"format": FORMAT, "step": state.step, "position": state.batch_index, **state.origin, "extra": state.extra,
            "circumstances": environment}
    there = _note_if_whole(path)
    same = {"step", "position", "extra", *state.origin} - {"log"}
    if there and all(json.dumps(there.get(name)) == json.dumps(note[name]) for name in same):
        return path                                  # this very state
    try:
        _save(run, path, config, state, note)
    except NoRoomError:
        if not _make_room(run, keep, always):
            raise
        _save(run, path, config, state, note)
    remove_all_but(run, {*steps(run)[-keep:], *always, state.step})
    return path


def load(run, step=None, owner=None):
    """Return (config, SavedState on the host, environment, messages): the newest that is whole, or that of a step.

    Newer ones that are damaged are put aside. With an owner, another run's checkpoint is an error.
    """
    if step is not None:
        return *_load_step(run, step, owner), []
    messages = [f"{path} is no directory; {rename_aside(path, 'damaged')}" for path in strays(run)]
    for step in reversed(steps(run)):
        try:
            found = _read(path_of(run, step), owner)
        except DamagedError as fault:
            messages.append(f"{fault}; {rename_aside(path_of(run, step), 'damaged')}")
        except (FileError, TrainError) as fault:
            raise type(fault)(f"{fault}; {_offer(run, step, owner)}") from fault
        else:
            whole = [f"the newest checkpoint that is whole is that of step {step}"] if messages else []
            return *found, messages + whole
    raise TrainError("; ".join([f"{run} has no checkpoint{' that is whole' if messages else ''}", *messages]))


def note_of(run, step, owner=None):
    """What state.json holds, read without the rest; {} if it is damaged, or not this run's, or cannot be read."""
    try:
        return read_note_of(path_of(run, step), owner)
    except (FileError, TrainError):
        return {}


def whole_before(run, step, owner=None):
    """The step of the newest whole checkpoint before this one, or None."""
    before = [one for one in reversed(steps(run)) if one < step]
    return next((one for one in before if _note_if_whole(path_of(run, one), owner)), None)


def newest_notes(run, owner=None):
    """`note_of` each checkpoint, the newest first, without those that cannot be read."""
    return filter(None, (note_of(run, step, owner) for step in reversed(steps(run))))


def verify(path, owner=None):
    """Read every byte. Returns what state.json holds; raises DamagedError, which names a file and its fault."""
    note = read_note_of(path, owner)
    verify_noted(path, note, note["files"], ADVICE)
    return note


def _save(run, path, config, state, note):
    partial = hidden_name(path, PARTIAL)
    try:
        _write(partial, config, state, note)
        _give_name(partial, path)
    except (OSError, FileError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        error = error.__cause__ or error
        cause = getattr(error, "strerror", None) or str(error).split(": ")[-1]
        newest = steps(run)[-1:]
        stays = f"the newest checkpoint is that of step {newest[0]}" if newest else "there is no earlier checkpoint"
        kind = NoRoomError if getattr(error, "errno", None) in NO_ROOM else TrainError
        raise kind(f"{path} could not be saved ({cause}); {stays}") from error


def _make_room(run, keep, always):
    """Remove old checkpoints before a new one is saved, if the newest is whole, and never that. Were there any?"""
    there = steps(run)
    stay = {*there[-max(1, keep - 1):], *always}
    if set(there) <= stay or not _note_if_whole(path_of(run, there[-1])):
        return False
    remove_all_but(run, stay)
    return True


def remove_oldest(run, always=()):
    """Remove the oldest checkpoint but those of the steps in `always`, if the newest is whole, and never that.

    Returns its step, or None if none was removed.
    """
    *older, newest = steps(run) or [None]
    oldest = next((step for step in older if step not in always), None)
    if oldest is None or not _note_if_whole(path_of(run, newest)):
        return None
    remove_all_but(run, {*older, newest} - {oldest})
    return oldest if oldest not in steps(run) else None


def _write(directory, config, state, note):
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    unread = NOTHING._replace(settings=state.config_json)
    huggingface.save(directory, config, state.params, unread, hashes=False)  # they are in state.json
    if state.moments is not None:
        write(directory / MOMENTS, {name: to_host(getattr(state.moments, name).flat) for name in ("m", "v")})
    written = sorted(directory.iterdir())
    (directory / STATE).write_bytes(seal({**note, "files": records_of(written, ADVICE)}))
    for file in (*written, directory / STATE):
        sync(file)
    settle(directory)


def _give_name(partial, path):
    replaced = hidden_name(path, REPLACED)
    if path.exists():
        shutil.rmtree(replaced, ignore_errors=True)
        os.rename(path, replaced)
    try:
        os.rename(partial, path)
    except OSError:
        if replaced.exists():
            os.rename(replaced, path)
        raise
    settle(path.parent)
    shutil.rmtree(replaced, ignore_errors=True)


def _note_if_whole(path, owner=None):
    try:
        return verify(path, owner)
    except (FileError, TrainError):
        return None


def _offer(run, step, owner):
    before = whole_before(run, step, owner)
    if before is None:
        return "none before it is whole: restore it from a copy, or name another directory for a new run"
    return f"the one before it that is whole is of step {before} (--from-step {before})"


def _load_step(run, step, owner):
    present = steps(run)
    if step not in present:
        raise TrainError(f"{run} has no checkpoint of step {step}; it has {', '.join(map(str, present)) or 'none'}")
    try:
        return _read(path_of(run, step), owner)
    except (FileError, TrainError) as fault:
        raise TrainError(f"{fault}; {_offer(run, step, owner)}") from fault


def _read(path, owner):
    note = read_note_of(path, owner)
    verify_noted(path, note, [MOMENTS], ADVICE)
    config, params = huggingface.load(path)          # verified there
    moments = None
    if MOMENTS in note["files"]:
        flat = read(dict.fromkeys(("m", "v"), path / MOMENTS))
        moments = Moments(*(Params(flat[name], params.shapes) for name in ("m", "v")))
    origin = {name: note[name] for name in ORIGIN if name in note}
    state = SavedState(note["step"], note["position"], params, moments, note["extra"], origin)
    return config, state, note["circumstances"]


def read_note_of(path, owner=None):
    """What state.json holds. A checkpoint of another step, format or run is an error."""
    file = Path(path) / STATE
    note = read_note(file, ADVICE)
    if note.get("format") != FORMAT:
        raise TrainError(f"{file} has format {note.get('format')}; this version of minalbert reads format {FORMAT}")
    if lacking := [name for name in KINDS if name not in note]:
        raise DamagedError(f"{file} is damaged: it lacks {lacking[0]}")
    check_form(file, note, KINDS, ADVICE)
    if step_of(path) not in (note["step"], math.inf):
        raise DamagedError(f"{file} is damaged: it is that of step {note['step']}")
    if foreign := of_another_run(path, note, owner):
        raise TrainError(foreign)
    return note
