"""A note in JSON about the files of a directory: the size and SHA-256 of each, and in its first line its own SHA-256.

    {"sha256": "4be1...", ..., "files": {"model.safetensors": {"size": 83296, "sha256": "90aa..."}}}

A checkpoint's state.json is one. Whoever opens a file beside it compares the file with what the note says.
"""

import hashlib
import json
import re
from pathlib import Path

from . import files
from .errors import FileError
from .files import Record

STATE = "state.json"                                 # a checkpoint's note
NO_HASH = "0" * 64                                   # stands in a note while its own is computed


def seal(note):
    """The bytes of a note. note: what JSON can hold."""
    text = json.dumps({"sha256": NO_HASH, **note}, indent=1) + "\n"
    return text.replace(NO_HASH, hashlib.sha256(text.encode()).hexdigest(), 1).encode()


def read_note(path, advice):
    raw = files.read(path, advice)
    try:
        note = json.loads(raw.decode())
        known = note["sha256"].encode()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise files.damaged(f"{path} is damaged: it is not the JSON that was written", advice) from None
    if hashlib.sha256(raw.replace(known, NO_HASH.encode(), 1)).hexdigest().encode() != known:
        raise files.damaged(f"{path} is damaged: it differs from its own SHA-256", advice)
    check_form(path, note, {"files": dict}, advice)
    if not all(is_record(record) for record in note.get("files", {}).values()):
        raise files.damaged(f"{path} is damaged: its files must each have a size and a sha256", advice)
    return note


def check_form(path, note, kinds, advice):
    """Raise DamagedError if an entry of a note is of another kind. kinds: {name: type} of those that may be there."""
    for name, kind in kinds.items():
        if name in note and (not isinstance(note[name], kind) or isinstance(note[name], bool)):
            raise files.damaged(f"{path} is damaged: {name} is {repr(note[name])[:60]}", advice)


def is_record(record):
    return (isinstance(record, dict) and record.keys() == {"size", "sha256"} and isinstance(record["size"], int)
            and isinstance(record["sha256"], str))  # fmt: skip


def of_another_run(directory, note, owner):
    """A sentence if a checkpoint's note names another run than its owner, if one is known; else None."""
    if owner is None or note.get("run", owner) == owner:            # version 0.1.0 wrote none
        return None
    return f"{directory} is a checkpoint of another run ({note['run']}; this one is {owner}) and must not lie here"


def check_place(directory, advice):
    """Raise DamagedError if a checkpoint has another step's name, or lies in another run by its config.toml.

    A run's checkpoint without its note is damaged, too: nothing says any more what the weights were.
    """
    directory = Path(directory).absolute()
    named = re.fullmatch(r"step-[0-9]{8,}", directory.name)
    try:
        owner = files.read_toml(directory.parent / "config.toml", "")["run"]["id"]
    except (FileError, KeyError, TypeError):
        owner = None                                 # it lies somewhere else, or version 0.1.0 made it
    if not files.exists(directory / STATE, advice):
        if named and owner is not None and directory.is_dir():
            raise files.damaged(f"{directory / STATE} is missing", advice)
        return
    note = read_note(directory / STATE, advice)
    if named and int(directory.name[5:]) != note.get("step"):
        raise files.damaged(f"{directory} is the checkpoint of step {note.get('step')}", advice)
    if foreign := of_another_run(directory, note, owner):
        raise files.damaged(foreign, advice)


def records_of(paths, advice):
    """What a note says of these files: {name: {"size", "sha256"}}."""
    return {path.name: files.record_of(path, advice)._asdict() for path in paths}


def verify_noted(directory, note, names, advice):
    """Raise DamagedError unless the files are as noted. names: of files; those that the note lacks are not compared."""
    known = note.get("files", {})
    for name in names:
        if name in known:
            files.verify(Path(directory) / name, Record(**known[name]), advice)
