"""A fault in a run's files is named with the way on, and costs no work: config.toml, checkpoints, the log."""

import errno
import json
import os
import re
import shutil

import pytest
from small_run import StopAt, computed, events, small_settings, train

from minalbert import Albert, files
from minalbert.commands import main
from minalbert.data.build import build
from minalbert.data.sources import story_sources
from minalbert.data.tiny_worlds import TinyWorlds
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.errors import DamagedError, DamagedWarning, FileError, TrainError
from minalbert.files import read_toml
from minalbert.sealed import read_note, seal
from minalbert.train import assemble, checkpoint, curves, pretrain, run_directory
from minalbert.train.evaluation import Evaluation
from minalbert.train.log import FILE, Metrics, first_evaluation
from minalbert.train.trained import open_trained

STEPS = {"steps": 8, "every": 4}


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    """A corpus on the disk, a run on it of 8 steps that ended, that run's twin of 12, and another run."""
    root = tmp_path_factory.mktemp("runs")
    stories = TinyWorlds(seed=1)
    build(story_sources(stories, 30), WordTokenizer(stories.words()), root / "corpus")
    settings = small_settings(corpus=str(root / "corpus"), workers=1, **STEPS)
    pretrain(settings, root / "run")
    pretrain(settings.change(steps=12), root / "other")
    shutil.copytree(root / "run", root / "longer")
    assert main(["pretrain", str(root / "longer"), "--steps", "12"]) == 0
    return root


@pytest.fixture
def run(worlds, tmp_path):
    return shutil.copytree(worlds / "run", tmp_path / "run")


def resume(run, capsys, *words):
    """(exit code, what was said)"""
    capsys.readouterr()
    code = main(["pretrain", str(run), "--steps", "12", *words])
    return code, capsys.readouterr().err


def without(path, name):
    """Take a line out of config.toml."""
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(rf"(?m)^{name} = .*\n", "", text), encoding="utf-8")


# config.toml


def edit(run, name, value):
    path = run / run_directory.CONFIG
    text, count = re.subn(rf"(?m)^{name} = \S+", f"{name} = {json.dumps(value)}", path.read_text(encoding="utf-8"))
    assert count == 1
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "value", "was"),
    [
        ("seed", 5, 0),
        ("batch", 8, 16),
        ("mask_fraction", 0.3, 0.15),
        ("pairs", "none", "'sop'"),
        ("optimiser", "adamw", "'lamb'"),
        ("max_length", 16, 24),
        ("dtype", "float64", "'float32'"),
        ("hidden_size", 32, 16),
        ("held_out_share", 0.4, 0.2),
    ],
)
def test_an_edited_setting_is_refused_as_the_option_is(run, capsys, name, value, was):
    edit(run, name, value)
    code, said = resume(run, capsys)
    assert code == 2
    assert f"{name} is {value!r} (config.toml says so; without the file, settings are those of the checkpoint)" in said
    assert f"was begun with {was}, and resumes with that only" in said
    (run / run_directory.CONFIG).unlink()  # the way that was named
    assert resume(run, capsys)[0] == 0


def test_an_edited_setting_that_may_change_is_announced(run, capsys):
    edit(run, "rate", 0.02)
    code, said = resume(run, capsys)
    assert code == 0
    assert "rate is now 0.02, no longer 0.01" in said


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.95])
def test_a_config_that_was_cut_off_is_restored(worlds, run, capsys, share):
    path = run / run_directory.CONFIG
    whole, before = path.read_bytes(), read_toml(path, "")
    path.write_bytes(whole[: int(share * len(whole))])
    code, said = resume(run, capsys)
    assert code == 0
    assert "it is restored from the newest checkpoint" in said
    assert computed(run)["hash"] == computed(worlds / "longer")["hash"]
    before["training"]["steps"] = 12
    assert read_toml(path, "") == before


def pipe(path):
    path.unlink()
    os.mkfifo(path)


@pytest.mark.parametrize("spoil", [
    lambda path: path.unlink(),
    lambda path: path.write_bytes(b"\xff\x00" * 50),
    lambda path: path.write_text("a = " + "[" * 10**5),
    pytest.param(pipe, marks=pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes")),
], ids=["removed", "noise", "nested", "pipe"])  # fmt: skip
def test_a_config_that_is_no_file_of_settings_is_restored(worlds, run, capsys, spoil):
    spoil(run / run_directory.CONFIG)
    code, said = resume(run, capsys)
    assert code == 0, said
    assert "it is restored from the newest checkpoint" in said
    assert computed(run)["hash"] == computed(worlds / "longer")["hash"]


def test_another_runs_config_is_not_believed(worlds, run, capsys):
    shutil.copy(worlds / "other" / run_directory.CONFIG, run)
    code, said = resume(run, capsys)
    assert code == 0
    assert "config.toml is another run's; it is restored" in said
    assert computed(run)["hash"] == computed(worlds / "longer")["hash"]


def test_a_value_that_no_setting_has_is_named_with_the_file(run, capsys):
    edit(run, "seed", "zero")
    code, said = resume(run, capsys)
    assert code == 2
    assert re.search(r"config\.toml, with the options given: seed is 'zero'; it must be a whole number", said)


# Checkpoints


def flip(path, place=-5):
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def swap_words(path):
    table = json.loads(path.read_text(encoding="utf-8"))
    table["words"][:2] = table["words"][1::-1]
    path.write_text(json.dumps(table), encoding="utf-8")


def test_damaged_weights_are_loaded_nowhere(worlds, run, tmp_path, capsys):
    newest, before = run / "step-00000008", run / "step-00000004"
    flip(newest / "model.safetensors")
    offered = rf"step-00000008.model\.safetensors is damaged.*; name {re.escape(str(before))}, which is whole"
    with pytest.raises(DamagedError, match=r"model\.safetensors is damaged"):
        Albert.from_pretrained(newest)
    for path in (run, newest):
        with pytest.raises(DamagedError, match=offered):
            open_trained(path)
    words = ["pretrain", str(tmp_path / "new"), "--config", str(run / "config.toml"), "--weights", str(run)]
    assert main(words) == 2
    assert re.search(offered, capsys.readouterr().err)
    assert main([*words[:-1], str(before)]) == 0
    assert main(["eval", str(run)]) == 2
    assert re.search(offered, capsys.readouterr().err)
    assert main(["eval", str(before)]) == 0


def test_a_checkpoint_without_its_configuration_is_one(run):
    (run / "step-00000008" / "config.json").unlink()
    with pytest.raises(FileError, match=r"config\.json is missing; .*step-00000004, which is whole"):
        open_trained(run / "step-00000008")


@pytest.mark.parametrize(
    "spoil", [swap_words, lambda path: path.unlink() or path.mkdir(), lambda path: path.write_text("")]
)
def test_a_runs_tokenizer_that_was_replaced_is_restored(run, capsys, spoil):
    path = run / "tokenizer.json"
    content = path.read_bytes()
    spoil(path)
    code, said = resume(run, capsys)
    assert code == 0
    assert "tokenizer.json is not the tokenizer of the run; it is now damaged-tokenizer.json" in said
    assert path.read_bytes() == content
    open_trained(run)


def test_a_checkpoint_without_its_note_is_none(run, capsys):
    newest = run / "step-00000008"
    (newest / "state.json").unlink()
    flip(newest / "model.safetensors")
    with pytest.raises(DamagedError, match=r"state\.json is missing"):
        Albert.from_pretrained(newest)
    for path in (run, newest):
        with pytest.raises(DamagedError, match=r"state\.json is missing; .*step-00000004, which is whole"):
            open_trained(path)
    assert main(["fill", "ada [MASK] .", "--model", str(newest)]) == 2
    elsewhere = shutil.copytree(run / "step-00000004", run.parent / "step-00000004")
    (elsewhere / "state.json").unlink()  # a model, on purpose
    Albert.from_pretrained(elsewhere)


def test_a_checkpoint_that_is_a_link_stops_no_run(worlds, run, capsys):
    elsewhere = (run / "step-00000004").rename(run.parent / "elsewhere")
    (run / "step-00000004").symlink_to(elsewhere)
    assert resume(run, capsys)[0] == 0
    assert checkpoint.steps(run) == [8, 12]
    code, said = resume(run, capsys, "--steps", "14")
    assert (code, "cannot be removed" in said) == (0, False)
    assert not any(run.glob(".step-*"))
    assert (elsewhere / "state.json").exists()  # which lies outside the run


def test_an_old_checkpoint_that_cannot_be_removed_stops_no_run(run, capsys, monkeypatch):
    original, refused = shutil.rmtree, []

    def refuse(path, **options):
        if "step-00000004" in str(path):
            refused.append(path)
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return original(path, **options)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    for steps in ("12", "14"):
        assert resume(run, capsys, "--steps", steps)[0] == 0
    assert len(refused) >= 2


def test_a_run_whose_names_cannot_be_read_is_not_begun_anew(run, capsys, monkeypatch):
    def refuse(original):
        def listing(path="."):
            if os.fspath(path) == str(run):
                raise PermissionError(errno.EACCES, "Permission denied", path)
            return original(path)

        return listing

    before = {path.name: path.read_bytes() for path in (run / run_directory.CONFIG, run / FILE)}
    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refuse(getattr(os, name)))
    code, said = resume(run, capsys)
    assert code == 2
    assert re.search(r"run cannot be read \(Permission denied\); chmod makes it", said)
    assert {name: (run / name).read_bytes() for name in before} == before
    with pytest.raises(FileError, match="cannot be read"):
        open_trained(run)


def test_a_file_in_place_of_a_checkpoint_is_put_aside(run, capsys):
    for path in (run / "step-00000004", run / "step-00000008"):
        shutil.rmtree(path)
        path.write_text("a file")
    code, said = resume(run, capsys)
    assert code == 2
    assert "has no whole checkpoint, but step-00000004, step-00000008: name another directory" in said
    path.unlink()
    train(path.parent / "new", **STEPS)
    (path.parent / "new" / "step-00000012").write_text("a file")
    assert checkpoint.load(path.parent / "new")[3] == [
        f"{path.parent / 'new' / 'step-00000012'} is no directory; it is now damaged-step-00000012",
        "the newest checkpoint that is whole is that of step 8",
    ]


@pytest.mark.parametrize("step", [8, 12])
def test_another_runs_checkpoint_is_refused_and_named(worlds, run, capsys, step):
    path = run / f"step-{step:08d}"
    shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(worlds / "other" / path.name, path)
    said_of = f"{path} is a checkpoint of another run"
    code, said = resume(run, capsys)
    assert code == 2
    assert said_of in said
    assert f"the one before it that is whole is of step {step - 4} (--from-step {step - 4})" in said
    for opening in (lambda: open_trained(run), lambda: open_trained(path), lambda: Albert.from_pretrained(path)):
        with pytest.raises((TrainError, DamagedError), match=re.escape(said_of)):
            opening()
    assert checkpoint.steps(run)[-1] == step
    shutil.rmtree(path)  # the way on
    assert resume(run, capsys)[0] == 0
    assert step == 8 or computed(run)["hash"] == computed(worlds / "longer")["hash"]


def test_a_copy_of_a_config_is_no_identity(worlds, tmp_path):
    shutil.copy(worlds / "run" / run_directory.CONFIG, tmp_path)
    assert main(["pretrain", str(tmp_path)]) == 0
    assert run_directory.identity(tmp_path) != run_directory.identity(worlds / "run")


def test_checkpoints_that_changed_places_are_damaged(worlds, run, capsys):
    one, other, third = run / "step-00000004", run / "step-00000008", run / "third"
    for old, new in ((one, third), (other, one), (third, other)):
        old.rename(new)
    with pytest.raises(DamagedError, match=r"step-00000008 is the checkpoint of step 4; "):
        Albert.from_pretrained(other)
    code, said = resume(run, capsys)
    assert code == 2
    assert "step-00000008/state.json is damaged: it is that of step 4; it is now damaged-step-00000008" in said
    assert "step-00000004/state.json is damaged: it is that of step 8; it is now damaged-step-00000004" in said


def as_yesterday(run):
    """Without identity and settings in the checkpoints."""
    for path in run.glob("step-*/state.json"):
        note = read_note(path, "")
        for name in ("run", "settings", "sha256"):
            del note[name]
        path.write_bytes(seal(note))
    config, log = run / run_directory.CONFIG, run / FILE
    config.write_text(config.read_text(encoding="utf-8").split("\n\n", 1)[1], encoding="utf-8")
    without(config, "spare")
    log.write_text(re.sub(r'"run": "\w+", ', "", log.read_text(encoding="utf-8")), encoding="utf-8")


def test_a_run_of_yesterday_resumes_and_gets_an_identity(worlds, run, capsys):
    as_yesterday(run)
    assert run_directory.identity(run) is None
    assert main(["eval", str(run)]) == 0
    assert resume(run, capsys)[0] == 0
    assert computed(run)["hash"] == computed(worlds / "longer")["hash"]
    name = run_directory.identity(run)
    assert name == read_toml(run / run_directory.CONFIG, "")["run"]["id"]
    assert checkpoint.note_of(run, 12)["run"] == name
    shutil.rmtree(run / "step-00000012")
    shutil.copytree(worlds / "other" / "step-00000012", run / "step-00000012")
    with pytest.raises(TrainError, match="of another run"):
        checkpoint.load(run, owner=name)


def test_a_run_of_yesterday_refuses_what_it_always_did(run, capsys):
    as_yesterday(run)
    code, said = resume(run, capsys, "--seed", "5")
    assert code == 2
    assert "seed is 5; " in said


@pytest.mark.parametrize("kind", ["later", "unreadable"])
def test_an_old_checkpoint_that_cannot_be_read_costs_no_newer_work(tmp_path, monkeypatch, kind):
    train(tmp_path, **STEPS, keep=9)
    old = tmp_path / "step-00000004" / "state.json"
    if kind == "later":
        note = read_note(old, "") | {"format": 2}
        del note["sha256"]
        old.write_bytes(seal(note))
    else:
        status = checkpoint.read_note

        def refused(path, advice):
            if path == old:
                raise FileError(f"{path} cannot be read (Permission denied)")
            return status(path, advice)

        monkeypatch.setattr(checkpoint, "read_note", refused)
    monkeypatch.setattr(assemble, "StopSignals", lambda alert: StopAt(2))
    outcome = train(tmp_path, **STEPS | {"steps": 20, "keep": 9})
    assert outcome.code == 75
    assert checkpoint.steps(tmp_path) == [0, 4, 8, 10]
    with pytest.raises((TrainError, FileError), match=r"format 2|cannot be read"):
        checkpoint.load(tmp_path, 4)


@pytest.mark.parametrize(
    ("name", "value"), [("step", "8"), ("extra", None), ("position", 1.5), ("files", []), ("circumstances", "gone")]
)
def test_a_sealed_note_of_another_form_is_damaged(run, capsys, name, value):
    path = run / "step-00000008" / "state.json"
    note = read_note(path, "") | {name: value}
    if value == "gone":
        del note[name]
    del note["sha256"]
    path.write_bytes(seal(note))
    code, said = resume(run, capsys)
    assert code == 0
    assert re.search(rf"state.json is damaged: (it lacks {name}|{name} is)", said)
    assert "the newest checkpoint that is whole is that of step 4" in said


def test_a_newest_checkpoint_of_a_later_format_is_named_with_one_that_can_be_read(run, capsys):
    path = run / "step-00000008" / "state.json"
    note = read_note(path, "") | {"format": 2}
    del note["sha256"]
    path.write_bytes(seal(note))
    code, said = resume(run, capsys)
    assert code == 2
    assert "has format 2; this version of minalbert reads format 1; the one before it that" in said
    assert resume(run, capsys, "--from-step", "4")[0] == 0


# The log


NO_METRICS = [
    "5", "[]", "{}", "null", '"text"', "nonsense", "[" * 10**5, "9" * 5000,
    '{"kind": "train", "step": 1}', '{"kind": [], "step": 1}', '{"kind": "train", "step": 1, "position": -1}',
    '{"kind": "train", "step": "1", "position": 1}', '{"kind": "train", "step": true, "position": true}',
    '{"kind": "eval", "step": 1, "position": 1}', '{"kind": "eval", "step": 1, "position": 1, "mlm_loss": []}',
    '{"kind": "start", "step": 0, "position": 0, "run": 5}', '{"kind": "train", "step": 1e400, "position": 1}',
]  # fmt: skip


@pytest.mark.parametrize("line", NO_METRICS, ids=range(len(NO_METRICS)))
def test_what_is_no_line_of_metrics_is_put_aside(tmp_path, line):
    sound = ['{"kind": "start", "step": 0, "position": 0}\n', '{"kind": "train", "step": 1, "position": 1}\n']
    (tmp_path / FILE).write_text(f"{line}\n{sound[0]}{line}\n{sound[1]}")
    (said,) = Metrics(tmp_path, 1, fresh=False).broken
    assert said == f"lines of {tmp_path / FILE} that are no metrics: 2, now in damaged-metrics.jsonl"
    assert (tmp_path / FILE).read_text() == "".join(sound)
    assert (tmp_path / "damaged-metrics.jsonl").read_text() == f"{line}\n{line}\n"
    assert first_evaluation(tmp_path, Evaluation) is None


def test_a_log_never_blocks_a_run(worlds, run, capsys):
    path = run / FILE
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*NO_METRICS, *lines, *NO_METRICS]) + "\n", encoding="utf-8")
    code, said = resume(run, capsys)
    assert code == 0, said
    assert f"that are no metrics: {2 * len(NO_METRICS)}, now in damaged-metrics.jsonl" in said
    assert computed(run) == computed(worlds / "longer")


def test_a_log_that_was_written_twice_is_there_once(worlds, run, capsys):
    (run / FILE).write_bytes(2 * (run / FILE).read_bytes())
    assert resume(run, capsys)[0] == 0
    assert computed(run) == computed(worlds / "longer")


def test_a_log_in_which_bytes_were_lost_goes_on(run, capsys):
    path = run / FILE
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 3] + bytes(500) + content[len(content) // 2 :])
    code, said = resume(run, capsys)
    assert code == 0, said
    assert "that are no metrics: 1, now in damaged-metrics.jsonl" in said


def test_a_log_without_room_is_one_sentence(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    (tmp_path / FILE).write_text('{"kind": "train", "step": 0, "position": 0}\n', encoding="utf-8")
    monkeypatch.setattr(files, "to_disk", refuse)
    said = []
    Metrics(tmp_path, fresh=False, alert=said.append)
    assert said == [f"{tmp_path / FILE} cannot be written (No space left on device); training goes on"]


def test_a_log_that_is_a_directory_is_put_aside(run, capsys):
    (run / FILE).unlink()
    (run / FILE).mkdir()
    code, said = resume(run, capsys)
    assert code == 0, said
    assert "is a directory where a file must be; it is now damaged-metrics.jsonl, and a new log begins" in said
    assert events(run, "resumed")


def test_a_log_that_is_not_what_was_written_is_told(run, capsys):
    path, read = run / FILE, curves.read_curves
    whole = path.read_bytes()
    read(run)
    for content in (whole.replace(b'"step": 3', b'"step": 2', 1), whole[: len(whole) // 2], whole[:-300]):
        path.write_bytes(content)
        with pytest.warns(DamagedWarning, match=r"metrics\.jsonl is not what was written there until the newest"):
            read(run)
        assert main(["plot", str(run), "--out", str(run / "curves.svg")]) == 0
        assert capsys.readouterr().err.startswith(f"minalbert plot: {path} is not what was written")
    start = whole[: whole.index(b"\n") + 1]
    for content in (bytes(len(whole)), start + bytes(len(whole) - len(start))):
        path.write_bytes(content)
        with pytest.raises(DamagedError, match="and no measurement in it can be read"):
            read(run)
    path.write_bytes(whole[: len(whole) // 2])
    code, said = resume(run, capsys)
    assert code == 0
    assert "metrics.jsonl is not what was written there until the checkpoint; what can be read of it is kept" in said
    path.unlink()
    assert "metrics.jsonl is missing; a new log begins" in resume(run, capsys, "--steps", "16")[1]
    assert curves.read_curves(run).train["step"].tolist() == [15]


def test_another_runs_log_is_put_aside(worlds, run, capsys):
    shutil.copy(worlds / "other" / FILE, run)
    code, said = resume(run, capsys)
    assert code == 0, said
    assert "is the log of another run" in said
    assert (run / f"foreign-{FILE}").read_bytes() == (worlds / "other" / FILE).read_bytes()


@pytest.mark.parametrize("name", run_directory.FOREIGN)
def test_what_is_another_thing_is_no_place_for_a_run(tmp_path, name):
    (tmp_path / name).touch()
    before = list(tmp_path.iterdir())
    with pytest.raises(
        TrainError, match=r"is a (corpus|saved model|directory of several runs); name another directory for the run"
    ):
        train(tmp_path, **STEPS)
    assert list(tmp_path.iterdir()) == before


def test_the_root_of_a_disk_is_no_place_for_a_run():
    with pytest.raises(TrainError, match=r"is the root of a disk; name another directory for the run"):
        run_directory.make(os.path.abspath(os.sep))
