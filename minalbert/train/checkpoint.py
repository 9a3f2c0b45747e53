"""Checkpoints: all that a run needs to resume to the last bit, in a directory that is whole or not there.

    runs/first/step-00000500/
      config.json, model.safetensors    as transformers and Albert.from_pretrained read them
      moments.safetensors               "m" and "v", each one vector
      state.json                        step, place in the data, environment; each file's SHA-256, also its own

It is written under a hidden name, and in this order:

    files written, synced  ->  their directory synced  ->  renamed to step-...  ->  the run synced  ->  old ones removed

So a kill or a power cut, at whatever instant, leaves the checkpoints that were there. An old one loses its name before
its files, for the same reason. Random numbers need no room here: each is a function of the seed and its place.
"""

import hashlib
import json
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from safetensors import SafetensorError

from .. import files
from ..backend import to_host
from ..errors import DamagedError, TrainError
from ..files import PARTIAL, Record, settle, sync
from ..interop import huggingface
from ..interop.safetensors_files import read, write
from ..optim import Moments
from ..params import Params

MOMENTS, STATE = "moments.safetensors", "state.json"
FORMAT = 1
REPLACED, REMOVED = ".replaced", ".removed"          # endings of hidden names, as PARTIAL is
ADVICE = ""                                          # whoever reads it knows which other checkpoint is whole
NO_HASH = "0" * 64                                   # stands in state.json while its own is computed


class SavedState(NamedTuple):
    step: int                                        # updates made
    batch_index: int                                 # of the next batch; "position" in state.json
    params: Params
    moments: Moments | None
    extra: dict                                      # of what JSON can hold


def save(run, config, state, environment, keep=2, always=()):
    """Save and return the path. The newest `keep` stay, and those of the steps in `always`; the others are removed."""
    if keep < 1:
        raise TrainError(f"keep is {keep}; at least 1 checkpoint must be kept")
    path = path_of(run, state.step)
    note = {"format": FORMAT, "step": state.step, "position": state.batch_index, "extra": state.extra,
            "circumstances": environment}
    there = _note_if_whole(path)
    if there and all(json.dumps(there[name]) == json.dumps(note[name]) for name in ("step", "position", "extra")):
        return path                                  # this very state
    partial = _hidden(path, PARTIAL)
    try:
        _write(partial, config, state, note)
        _give_name(partial, path)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        cause = getattr(error, "strerror", None) or str(error).split(": ")[-1]
        newest = steps(run)[-1:]
        stays = f"the newest checkpoint is that of step {newest[0]}" if newest else "there is no earlier checkpoint"
        raise TrainError(f"{path} could not be saved ({cause}); {stays}") from error
    _remove_all_but(run, {*steps(run)[-keep:], *always, state.step})
    return path


def load(run, step=None):
    """Return (config, SavedState on the host, environment, messages): the newest that is whole, or that of a step.

    Newer ones that are damaged are put aside.
    """
    if step is not None:
        return *_load_step(run, step), []
    messages = []
    for step in reversed(steps(run)):
        try:
            found = _read(path_of(run, step))
        except DamagedError as fault:
            messages.append(f"{fault}; {_rename_aside(path_of(run, step), 'damaged')}")
        else:
            whole = [f"the newest checkpoint that is whole is that of step {step}"] if messages else []
            return *found, messages + whole
    raise TrainError("; ".join([f"{run} has no checkpoint{' that is whole' if messages else ''}", *messages]))


def steps(run):
    """The steps of which a checkpoint is there, in order."""
    found = [path for path in Path(run).glob("step-*") if path.name[5:].isdecimal() and path.is_dir()]
    return sorted(int(path.name[5:]) for path in found if path == path_of(run, int(path.name[5:])))


def path_of(run, step):
    return Path(run) / f"step-{step:08d}"


def extra(run, step):
    """The extra of a state, read without the rest; {} if it is damaged."""
    try:
        return _read_note(path_of(run, step) / STATE)["extra"]
    except DamagedError:
        return {}


def remove_after(run, step):
    """Remove the checkpoints of later steps."""
    _remove_all_but(run, {one for one in steps(run) if one <= step})


def verify(path):
    """Read every byte. Returns what state.json holds; raises DamagedError, which names a file and its fault."""
    path = Path(path)
    note = _read_note(path / STATE)
    for name, known in note["files"].items():
        files.verify(path / name, Record(**known), ADVICE)
    return note


def put_aside(run, step):
    """Rename the checkpoints after this step, so that the run resumes from it. Returns messages."""
    return [f"{path_of(run, later)} is of a later step; {_rename_aside(path_of(run, later), 'aside')}"
            for later in reversed(steps(run)) if later > step]


def clear_leftovers(run):
    """Remove what a kill left under hidden names. Only for the process that holds the lock."""
    for path in Path(run).glob(".step-*"):
        real = path.with_name(path.stem[1:])
        try:
            if path.suffix == REPLACED and not real.exists():    # killed between its two renames
                os.rename(path, real)
            elif path.suffix in (PARTIAL, REPLACED, REMOVED):
                shutil.rmtree(path)
        except OSError as error:
            raise TrainError(f"{path}, left behind by a kill, cannot be removed: {error.strerror}") from error


def _write(directory, config, state, note):
    shutil.rmtree(directory, ignore_errors=True)
    os.mkdir(directory)
    huggingface.save(directory, config, state.params)
    if state.moments is not None:
        write(directory / MOMENTS, {name: to_host(getattr(state.moments, name).flat) for name in ("m", "v")})
    written = sorted(directory.iterdir())
    records = {file.name: files.record_of(file, ADVICE)._asdict() for file in written}
    note = {"sha256": NO_HASH, **note, "files": records}
    text = json.dumps(note, indent=1) + "\n"
    text = text.replace(NO_HASH, hashlib.sha256(text.encode()).hexdigest(), 1)
    (directory / STATE).write_bytes(text.encode())
    for file in (*written, directory / STATE):
        sync(file)
    settle(directory)


def _give_name(partial, path):
    replaced = _hidden(path, REPLACED)
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


def _remove_all_but(run, stay):
    """Remove all other checkpoints; what cannot be removed now is left for the next time."""
    for step in sorted(set(steps(run)) - stay):
        path = path_of(run, step)
        hidden = _hidden(path, REMOVED)
        shutil.rmtree(hidden, ignore_errors=True)
        with suppress(OSError):
            os.rename(path, hidden)
            settle(run)
            shutil.rmtree(hidden)


def _note_if_whole(path):
    try:
        return verify(path)
    except DamagedError:
        return None


def _load_step(run, step):
    present = steps(run)
    if step not in present:
        raise TrainError(f"{run} has no checkpoint of step {step}; it has {', '.join(map(str, present)) or 'none'}")
    try:
        return _read(path_of(run, step))
    except DamagedError as fault:
        before = next((one for one in reversed(present) if one < step and _note_if_whole(path_of(run, one))), None)
        offer = "none before it is whole" if before is None else f"the one before it that is whole is of step {before}"
        raise TrainError(f"{fault}; {offer}") from fault


def _read(path):
    note = verify(path)
    config, params = huggingface.load(path)
    moments = None
    if MOMENTS in note["files"]:
        flat = read(dict.fromkeys(("m", "v"), path / MOMENTS))
        moments = Moments(*(Params(flat[name], params.shapes) for name in ("m", "v")))
    return config, SavedState(note["step"], note["position"], params, moments, note["extra"]), note["circumstances"]


def _read_note(file):
    raw = files.read(file, ADVICE)
    try:
        note = json.loads(raw)
        known = note["sha256"].encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise DamagedError(f"{file} is damaged: it is not the JSON that was written") from None
    if hashlib.sha256(raw.replace(known, NO_HASH.encode(), 1)).hexdigest().encode() != known:
        raise DamagedError(f"{file} is damaged: it differs from its own SHA-256")
    if note["format"] != FORMAT:
        raise TrainError(f"{file} has format {note['format']}; this version of minalbert reads format {FORMAT}")
    return note


def _rename_aside(path, kind):
    number, name = 1, f"{kind}-{path.name}"
    while (path.parent / name).exists():
        number += 1
        name = f"{kind}-{path.name}-{number}"
    try:
        os.rename(path, path.parent / name)
    except OSError as error:
        return f"it cannot be renamed {name} ({error.strerror})"
    return f"it is now {name}"


def _hidden(path, ending):
    return path.with_name(f".{path.name}{ending}")
