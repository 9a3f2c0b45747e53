"""One process a run."""

import errno
import os

import pytest
from checkpoints import (
    begin,
    python,
)

from minalbert.errors import TrainError
from minalbert.train import process as lock_module

# One process at a time.

HOLDING = """
with lock_module.lock(sys.argv[1]):
    print("holds", flush=True)
    sys.stdin.readline()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    process = begin(HOLDING, tmp_path)
    assert process.stdout.readline() == "holds\n"
    with pytest.raises(TrainError, match=f"process {process.pid} is training into"), lock_module.lock(tmp_path):
        pass
    process.kill()
    process.communicate()
    with lock_module.lock(tmp_path):
        second = python(HOLDING, tmp_path)
        assert f"TrainError: process {os.getpid()} is training into" in second.stderr
    with lock_module.lock(tmp_path):
        pass


def test_one_process_cannot_lock_twice(tmp_path):
    with lock_module.lock(tmp_path):
        with pytest.raises(TrainError, match="is training into"), lock_module.lock(tmp_path):
            pass
        with pytest.raises(TrainError, match="is training into"), lock_module.lock(tmp_path):
            pass


def test_an_error_frees_the_lock(tmp_path):
    with pytest.raises(KeyError), lock_module.lock(tmp_path):
        raise KeyError
    with lock_module.lock(tmp_path):
        pass


def test_a_place_without_locks_is_warned_of(tmp_path, monkeypatch):
    def refused(handle):
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr(lock_module, "_system_lock", refused)
    entered = False
    with pytest.warns(UserWarning, match="without locks"), lock_module.lock(tmp_path):
        entered = True
    assert entered  # and training goes on


def test_a_lock_in_no_directory_is_one_sentence(tmp_path):
    with pytest.raises(TrainError, match=r"nowhere.*cannot be opened"), lock_module.lock(tmp_path / "nowhere"):
        pass
