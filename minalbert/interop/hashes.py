"""Hashes of a directory's files, as they were written, in hashes.json; a checkpoint has them in its state.json.

Every opening compares them. If another program, such as transformers, has saved into the directory since, there are new
files beside old hashes: the weights lack the note that ours carry, and nothing is compared.
"""

from ..errors import FileError
from ..files import exists, status, write_atomically
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


def saved_elsewhere(directory, note):
    """Has another program saved the weights since? Without our note they have another size."""
    known = note.get("files", {}).get(ONE_FILE, {}).get("size")
    return not is_ours(directory / ONE_FILE) and status(directory / ONE_FILE, ADVICE).st_size != known
