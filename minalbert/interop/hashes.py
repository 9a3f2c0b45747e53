"""Hashes of a directory's files, as they were written, in hashes.json; a checkpoint has them in its state.json.

Every opening compares them. If another program, such as transformers, has saved into the directory since, there are new
files beside old hashes: the weights lack the note that ours carry, and nothing is compared.
"""

import json

from ..errors import FileError, PretrainedError
from ..files import exists, read_json, status, write_atomically
from ..sealed import STATE, read_note, records_of, seal, verify_noted
from .safetensors_files import ADVICE, ONE_FILE, is_ours

NAME, CONFIG = "hashes.json", "config.json"
ON_PURPOSE = f"restore it from a copy, or remove {NAME} if it was changed on purpose"


def write_hashes(directory, names):
    write_atomically(directory / NAME, seal({"files": records_of([directory / name for name in names], "")}))


def remove_hashes(directory):
    try:
        (directory / NAME).unlink(missing_ok=True)
    except OSError as error:
        raise FileError(f"{directory / NAME} cannot be removed ({error.strerror}); remove it, or name another "
                        "directory") from error


def verify_hashes(directory):
    """Raise DamagedError, which names the file, unless the files are those that were written."""
    if exists(directory / STATE, ADVICE):
        verify_noted(directory, read_note(directory / STATE, ADVICE), (CONFIG, ONE_FILE), ADVICE)
    elif exists(directory / NAME, ADVICE) and exists(directory / ONE_FILE, ADVICE):
        note = read_note(directory / NAME, ON_PURPOSE)
        if not saved_elsewhere(directory, note):
            verify_noted(directory, note, note.get("files", {}), ON_PURPOSE)


def add_to_config(directory, entries):
    """Write {name: value} into config.json, among its other entries, and its hash. `load` passes over these names."""
    if exists(directory / STATE, ADVICE):
        raise PretrainedError(f"{directory} is a checkpoint of a run, which stays as it was saved; save its model into "
                              "another directory first")
    verify_hashes(directory)                         # or a damaged file would get a new hash
    content = json.dumps(read_json(directory / CONFIG, ADVICE) | entries, indent=2) + "\n"
    noted = read_note(directory / NAME, ON_PURPOSE)["files"] if exists(directory / NAME, ADVICE) else None
    remove_hashes(directory)                         # a kill here leaves a model without hashes
    write_atomically(directory / CONFIG, content.encode())
    if noted is not None:
        write_atomically(directory / NAME, seal({"files": noted | records_of([directory / CONFIG], "")}))


def saved_elsewhere(directory, note):
    """Has another program saved the weights since? Without our note they have another size."""
    known = note.get("files", {}).get(ONE_FILE, {}).get("size")
    return not is_ours(directory / ONE_FILE) and status(directory / ONE_FILE, ADVICE).st_size != known
