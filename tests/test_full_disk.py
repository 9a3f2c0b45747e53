"""On a full disk a run keeps its newest state by all means, and never ends as if all were well."""

import errno
import os

import pytest
from checkpoints import save_step
from small_run import StopAt, computed, events, train

from minalbert import commands
from minalbert.commands import pretrain
from minalbert.errors import FileError, NoRoomError, TrainError
from minalbert.train import assemble, checkpoint, loop, process, reserve, run_directory
from minalbert.train import state as state_module

STEPS = {"steps": 24, "every": 4}


@pytest.fixture
def disk(monkeypatch):
    """A disk with room for so many checkpoints in one directory, the reserve among them: disk(run, 2)."""
    rooms = {}

    def limited(write):
        def limited(path, *rest):
            run = path.parent
            if len(checkpoint.steps(run)) + (run / reserve.NAME).exists() >= rooms.get(run, 99):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(path, *rest)

        return limited

    monkeypatch.setattr(checkpoint, "_write", limited(checkpoint._write))
    monkeypatch.setattr(reserve, "allocate", limited(reserve.allocate))
    monkeypatch.setattr(state_module, "PAUSES", (1e-9, 1e-9))
    return lambda run, room: rooms.update({run: room})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    run = tmp_path_factory.mktemp("whole")
    train(run, **STEPS)
    return computed(run)


def test_older_checkpoints_that_may_go_make_room(tmp_path, disk, whole, capsys):
    disk(tmp_path, 3)
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


def filled_at(monkeypatch, disk, run, step, room):
    """Someone takes all but this room, the reserve included, when the run is at a step."""
    next_step = loop.Trainer.next_step

    def filling(trainer):
        if trainer.state.step == step:
            (run / reserve.NAME).unlink(missing_ok=True)
            disk(run, room)
        return next_step(trainer)

    monkeypatch.setattr(loop.Trainer, "next_step", filling)


def test_the_reserve_holds_the_newest_state_on_a_full_disk(tmp_path, disk, whole, capsys):
    disk(tmp_path, 2)
    assert train(tmp_path, **STEPS).code == 0
    assert checkpoint.steps(tmp_path) == [20, 24]
    assert computed(tmp_path) == whole
    said = capsys.readouterr().err
    assert said.count("step-00000004 now, in the room that was held in reserve: make room") == 1
    assert "training goes on" not in said
    assert not (tmp_path / reserve.NAME).exists()


def test_a_run_without_room_for_a_reserve_is_refused(tmp_path, disk):
    disk(tmp_path, 1)
    with pytest.raises(TrainError, match=r"no room for a second checkpoint, .*: free 0\.\d MB, or .* --spare"):
        train(tmp_path, **STEPS)
    assert checkpoint.steps(tmp_path) == [0]
    disk(tmp_path, 2)
    train(tmp_path, **STEPS, keep=1)
    disk(tmp_path, 1)
    assert train(tmp_path, **STEPS, keep=1).code == 0  # it is finished
    with pytest.raises(TrainError, match="no room for a second checkpoint"):
        train(tmp_path, **STEPS | {"steps": 28})


def test_a_resumed_run_that_has_older_checkpoints_needs_no_reserve(tmp_path, disk, whole, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(10))
        assert train(tmp_path, **STEPS).code == 75
    assert checkpoint.steps(tmp_path) == [8, 10]
    disk(tmp_path, 2)
    assert train(tmp_path, **STEPS).code == 0
    assert computed(tmp_path) == whole


def test_the_last_state_goes_before_older_ones_that_keep_holds(tmp_path, disk, whole, capsys):
    disk(tmp_path, 3)
    assert train(tmp_path, **STEPS, keep=4).code == 0
    assert checkpoint.steps(tmp_path) == [4, 8, 24]
    assert computed(tmp_path)["hash"] == whole["hash"]
    assert capsys.readouterr().err.count("that of step 0 is removed, to make room for it") == 1


def test_a_limit_on_the_size_of_files_costs_no_older_checkpoint(tmp_path, disk, monkeypatch):
    def limited(*_):
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))

    train(tmp_path, **STEPS, keep=9)
    monkeypatch.setattr(checkpoint, "_write", limited)
    with pytest.raises(NoRoomError, match="File too large"):
        train(tmp_path, **STEPS | {"steps": 26}, keep=9)
    assert checkpoint.steps(tmp_path) == [0, 4, 8, 12, 16, 20, 24]


def test_a_run_that_cannot_be_saved_does_not_end_well(tmp_path, disk, capsys, monkeypatch):
    filled_at(monkeypatch, disk, tmp_path, 3, 1)
    with pytest.raises(
        NoRoomError,
        match=r"step-00000024 could not be saved \(No space left on device\); the newest .* step 0, where "
        "the same command resumes; .* lost; .* --spare",
    ):
        train(tmp_path, **STEPS)
    said = capsys.readouterr().err
    assert said.count("training goes on") == 6
    assert said.count("trying again in 1e-09 s") == 2
    assert checkpoint.steps(tmp_path) == [0]


def test_a_run_that_could_not_be_saved_asks_to_be_tried_again(tmp_path, monkeypatch, capsys):
    def full(*_, **__):
        raise NoRoomError("no room")

    monkeypatch.setattr(pretrain, "pretrain", full)
    assert commands.main(["pretrain", str(tmp_path), "--corpus", "any"]) == process.AGAIN
    assert capsys.readouterr().err == "minalbert pretrain: no room\n"


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


def test_changed_settings_need_no_room(tmp_path, disk, monkeypatch, capsys):
    def full(path, content):
        raise FileError(f"{path} could not be written") from OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    run, spare = tmp_path / "run", tmp_path / "spare"
    train(run, **STEPS)
    before = (run / "config.toml").read_bytes()
    disk(run, 2)
    monkeypatch.setattr(run_directory, "write_atomically", full)
    assert train(run, **STEPS | {"steps": 28}, keep=3, spare=str(spare)).code == process.AGAIN
    assert checkpoint.steps(run) == [20, 24]
    assert (run / "config.toml").read_bytes() == before
    (said,) = [event["text"] for event in events(run, "resumed") if "config.toml" in event["text"]]
    assert said.endswith(
        "no room for the changed settings (No space left on device); give them again at the next start"
    )
    with pytest.raises(FileError, match="could not be written"):
        train(tmp_path / "new", **STEPS, spare=str(spare))


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
