"""A checkpoint comes back bit for bit; damage is found, named, and put aside."""

import errno
import json

import numpy as np
import pytest
from checkpoints import (
    CONFIGS,
    ENVIRONMENT,
    SMALL,
    assert_same,
    bits,
    names_in,
    save_step,
    state_of,
)
from fingerprint import fingerprint

from minalbert.errors import DamagedError, FileError, TrainError
from minalbert.interop import huggingface
from minalbert.optim import Moments
from minalbert.train import checkpoint, saved_steps
from minalbert.train.checkpoint import load, save, steps, verify


@pytest.mark.parametrize("heads", [("pooler", "mlm", "sop"), ("mlm",), ()], ids=["all heads", "mlm", "no heads"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_a_state_comes_back_bit_for_bit(tmp_path, config, dtype, heads):
    saved = state_of(7, config, dtype, heads)
    path = save(tmp_path, config, saved, ENVIRONMENT)
    found_config, found, circumstances, said = load(tmp_path)
    assert path == tmp_path / "step-00000007"
    assert found_config == config
    assert circumstances == ENVIRONMENT
    assert said == []
    assert_same(found, saved)
    found.moments.m.flat[...] = 0  # they can be written to
    found.params.flat[...] = 0


def test_a_state_on_a_device_comes_back_bit_for_bit(tmp_path, device, monkeypatch):
    def write(path, arrays):
        assert {type(array) for array in arrays.values()} == {np.ndarray}
        original(path, arrays)

    original, saved = checkpoint.write, state_of(7)
    monkeypatch.setattr(checkpoint, "write", write)
    moments = Moments(*(params.to(device) for params in saved.moments))
    save(tmp_path, SMALL, saved._replace(params=saved.params.to(device), moments=moments), {})
    assert_same(load(tmp_path)[1], saved)


def test_a_checkpoint_is_a_hugging_face_directory(tmp_path):
    path = save_step(tmp_path, 1)
    huggingface.save(tmp_path / "other", SMALL, state_of(1).params, hashes=False)
    for name in names_in(tmp_path / "other"):
        assert (path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()
    config, params = huggingface.load(path)
    assert (config, fingerprint(params.flat)) == (SMALL, bits(state_of(1))[0])


def test_moments_may_be_absent(tmp_path):
    save(tmp_path, SMALL, state_of(0)._replace(moments=None), {})
    assert load(tmp_path)[1].moments is None


def test_the_newest_stay_and_those_asked_for(tmp_path):
    for step in (0, 5, 10, 15, 20):
        save_step(tmp_path, step, keep=2, always=(5,))
    assert steps(tmp_path) == [5, 15, 20]
    assert names_in(tmp_path) == ["step-00000005", "step-00000015", "step-00000020"]
    save_step(tmp_path, 7, keep=1)  # what was just saved stays, though it is not the newest
    assert steps(tmp_path) == [7, 20]
    with pytest.raises(TrainError, match="keep is 0; at least 1"):
        save_step(tmp_path, 25, keep=0)


def test_a_step_is_chosen_by_number(tmp_path):
    for step in (5, 10):
        save_step(tmp_path, step)
    assert_same(load(tmp_path, 5)[1], state_of(5))
    with pytest.raises(TrainError, match="has no checkpoint of step 6; it has 5, 10"):
        load(tmp_path, 6)
    with pytest.raises(TrainError, match=r"nowhere has no checkpoint$"):
        load(tmp_path / "nowhere")


def test_other_names_are_no_checkpoints(tmp_path):
    for name in ("step-5", "step-00000006.old", "damaged-step-00000007", ".step-00000008.partial", "step-000000009"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-00000010").write_text("a file")
    assert steps(tmp_path) == []


def test_what_is_saved_is_not_saved_again(tmp_path, monkeypatch):
    path = save_step(tmp_path, 5)
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "_write", lambda *_: pytest.fail("written again"))
        assert save_step(tmp_path, 5) == path
    (path / "config.json").write_text("{}")
    save_step(tmp_path, 5)
    assert_same(load(tmp_path)[1], state_of(5))


def test_another_state_of_the_same_step_replaces_it(tmp_path):
    save_step(tmp_path, 5)
    other = state_of(5)._replace(batch_index=99)
    save(tmp_path, SMALL, other, {})
    assert_same(load(tmp_path)[1], other)
    assert names_in(tmp_path) == ["step-00000005"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "moments.safetensors", "state.json"])
def test_damage_is_found_and_named_wherever_it_is(tmp_path, name):
    file = save_step(tmp_path, 5) / name
    whole = file.read_bytes()
    every = max(1, len(whole) // 400)
    for at in range(0, len(whole), every):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at // every % 8]) + whole[at + 1 :])
        with pytest.raises(DamagedError, match=f"{name} is damaged"):
            verify(file.parent)
    for length in {0, 1, 7, 8, len(whole) // 2, len(whole) - 1, len(whole) + 1}:
        file.write_bytes((whole + b" ")[:length])
        with pytest.raises(DamagedError, match=f"{name} is damaged"):
            verify(file.parent)
    file.unlink()
    with pytest.raises(DamagedError, match=f"{name} is missing"):
        verify(file.parent)


def test_damaged_checkpoints_are_put_aside_and_the_one_before_is_taken(tmp_path):
    for step in (5, 10, 15):
        path = save_step(tmp_path, step, keep=3)
        if step > 5:
            (path / "model.safetensors").write_bytes(b"")
    _, found, _, said = load(tmp_path)
    assert_same(found, state_of(5))
    assert len(said) == 3
    assert "step-00000015" in said[0]
    assert "model.safetensors is damaged: it has 0 bytes" in said[0]
    assert said[1].endswith("it is now damaged-step-00000010")
    assert said[2] == "the newest checkpoint that is whole is that of step 5"
    assert names_in(tmp_path) == ["damaged-step-00000010", "damaged-step-00000015", "step-00000005"]
    assert load(tmp_path)[3] == []


def test_the_same_step_may_be_damaged_twice(tmp_path):
    for name in ("damaged-step-00000005", "damaged-step-00000005-2"):
        (save_step(tmp_path, 5) / "state.json").unlink()
        with pytest.raises(
            TrainError, match=rf"no checkpoint that is whole; .*state\.json is missing; it is now {name}$"
        ):
            load(tmp_path)


def test_one_asked_for_by_number_is_not_exchanged_for_another(tmp_path):
    for step in (5, 10, 15):
        save_step(tmp_path, step, keep=3)
    (tmp_path / "step-00000010" / "moments.safetensors").write_bytes(b"")
    with pytest.raises(
        TrainError, match=r"moments.safetensors is damaged.*the one before it that is whole is of step 5 \("
    ):
        load(tmp_path, 10)
    assert steps(tmp_path) == [5, 10, 15]
    (tmp_path / "step-00000005" / "state.json").unlink()
    with pytest.raises(TrainError, match="none before it is whole"):
        load(tmp_path, 10)


def test_one_that_may_not_be_read_is_not_called_damaged(tmp_path, monkeypatch):
    save_step(tmp_path, 5)
    save_step(tmp_path, 10)

    def refused(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("minalbert.files.open", refused, raising=False)
    with pytest.raises(FileError, match=r"step-00000010.*cannot be read \(Permission denied"):
        load(tmp_path)
    assert steps(tmp_path) == [5, 10]


def test_a_format_to_come_is_refused_and_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    save_step(tmp_path, 5)
    monkeypatch.undo()
    with pytest.raises(TrainError, match="has format 2; this version of minalbert reads format 1"):
        load(tmp_path)
    assert steps(tmp_path) == [5]


def test_a_run_goes_on_from_an_earlier_step_when_the_later_are_put_aside(tmp_path):
    for step in (5, 10, 15):
        save_step(tmp_path, step, keep=3)
    said = saved_steps.put_aside(tmp_path, 5)
    assert [sentence.split("; ")[1] for sentence in said] == [
        "it is now aside-step-00000015",
        "it is now aside-step-00000010",
    ]
    assert steps(tmp_path) == [5]
    save_step(tmp_path, 10)
    assert len(saved_steps.put_aside(tmp_path, 5)) == 1
    assert "aside-step-00000010-2" in names_in(tmp_path)


def test_its_names_on_the_disk_are_those_of_earlier_versions(tmp_path):
    note = json.loads((save_step(tmp_path, 5) / "state.json").read_text())
    assert list(note) == ["sha256", "format", "step", "position", "extra", "circumstances", "files"]
    assert (note["format"], note["position"], note["circumstances"]) == (1, 15, ENVIRONMENT)
