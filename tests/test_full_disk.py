"""On a full disk a run keeps its newest state by all means, and never ends as if all were well."""

import errno
import os

import pytest
from checkpoints import save_step
from small_run import StopAt, computed, train

from minalbert.errors import NoRoomError, TrainError
from minalbert.train import assemble, checkpoint, process
from minalbert.train import state as state_module

STEPS = {"steps": 24, "every": 4}


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for so many checkpoints in one directory: disk(run, 2)."""
    rooms, write = {}, checkpoint._write

    def limited(directory, *rest):
        if len(checkpoint.steps(directory.parent)) >= rooms.get(directory.parent, 99):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(directory, *rest)

    monkeypatch.setattr(checkpoint, "_write", limited)
    monkeypatch.setattr(state_module, "PAUSES", (0, 0))
    return lambda run, room: rooms.update({run: room})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole")
    train(run, **STEPS)
    return computed(run)


def test_older_checkpoints_that_may_go_make_room(tmp_path, disk, whole, capsys):
    disk(tmp_path, 2)
    assert train(tmp_path, **STEPS).code == 0
    assert checkpoint.steps(tmp_path) == [20, 24]
    assert computed(tmp_path) == whole
    assert capsys.readouterr().err == ""


def test_none_goes_before_the_newest_is_known_as_whole(tmp_path, disk):
    for step in (4, 8):
        path = save_step(tmp_path, step)
    disk(tmp_path, 2)
    (path / "model.safetensors").write_bytes(b"")
    with pytest.raises(NoRoomError, match="No space left"):
        save_step(tmp_path, 12)
    assert checkpoint.steps(tmp_path) == [4, 8]
    disk(tmp_path, 9)
    save_step(tmp_path, 8)
    disk(tmp_path, 2)
    with pytest.raises(NoRoomError):
        save_step(tmp_path, 12, keep=3)
    with pytest.raises(NoRoomError):
        save_step(tmp_path, 12, always=(4,))
    save_step(tmp_path, 12, keep=1)
    assert checkpoint.steps(tmp_path) == [12]


def test_a_run_that_cannot_be_saved_does_not_end_well(tmp_path, disk, capsys):
    disk(tmp_path, 1)
    with pytest.raises(
        NoRoomError,
        match=r"step-00000024 could not be saved \(No space left on device\); the newest .* lost; .* --spare",
    ):
        train(tmp_path, **STEPS)
    said = capsys.readouterr().err
    assert said.count("training goes on") == 6
    assert said.count("trying again in 0 s") == 2
    assert checkpoint.steps(tmp_path) == [0]


def test_a_spare_directory_holds_the_newest_state_until_there_is_room(tmp_path, disk, whole, capsys):
    run, spare = tmp_path / "run", tmp_path / "spare"
    disk(run, 1)
    assert train(run, **STEPS, spare=str(spare)).code == process.AGAIN  # "try again later"
    (held,) = spare.iterdir()
    assert checkpoint.steps(run) == [0]
    assert checkpoint.steps(held) == [24]
    assert f"it is saved as {held / 'step-00000024'}" in capsys.readouterr().err
    disk(run, 9)
    assert train(run, **STEPS, spare=str(spare)).code == 0
    assert checkpoint.steps(run) == [0, 24]
    assert computed(run)["hash"] == whole["hash"]
    assert list(spare.iterdir()) == []


def test_a_stopped_run_resumes_from_its_spare_directory(tmp_path, disk, whole, monkeypatch):
    run, spare = tmp_path / "run", tmp_path / "spare"
    disk(run, 1)
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(10))
        assert train(run, **STEPS, spare=str(spare)).code == 75
    train(tmp_path / "second", steps=4, every=4, spare=str(spare))  # may share it
    disk(run, 9)
    assert train(run, **STEPS, spare=str(spare)).code == 0
    assert computed(run) == whole


def test_a_spare_directory_that_cannot_be_made_is_no_help(tmp_path, disk):
    (tmp_path / "file").write_text("a file")
    disk(tmp_path / "run", 1)
    with pytest.raises(TrainError, match=r"spare .* cannot be made a directory"):
        train(tmp_path / "run", **STEPS, spare=str(tmp_path / "file" / "spare"))


def test_a_file_as_spare_directory_is_refused_at_the_start(tmp_path):
    (tmp_path / "spare").write_text("a file")
    with pytest.raises(TrainError, match=r"spare .* cannot be made a directory: it is a file; name another"):
        train(tmp_path / "run", **STEPS, spare=str(tmp_path / "spare"))
    assert not any((tmp_path / "run").glob("step-*"))
