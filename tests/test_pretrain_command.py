"""What people see of training: the commands, the line that moves, the log, the files for TensorBoard."""

import io
import json
import math
import re

import numpy as np
import pytest
from small_run import small_settings, train

from minalbert import PRESETS, Albert, Batch
from minalbert.commands import main
from minalbert.commands.progress import Progress, clock
from minalbert.config import PRESETS as SIZES
from minalbert.errors import TrainError
from minalbert.train import checkpoint, log
from minalbert.train.evaluation import Baselines, Evaluation
from minalbert.train.log import FILE, Metrics, read_lines
from minalbert.train.settings import Settings
from minalbert.train.tensorboard import Board
from minalbert.train.watch import locate_nonfinite, milestones

SMALL = ["--steps", "6", "--batch", "8", "--micro-batch", "4", "--max-length", "24", "--evaluate-every", "3"]
SMALL += ["--num-hidden-layers", "1", "--evaluate-instances", "40", "--every", "3", "--log-every", "2"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory):
    directory = tmp_path_factory.mktemp("worlds") / "corpus"
    assert main(["data", "build", "--tiny-worlds", "60", "--out", str(directory)]) == 0
    return directory


def test_a_run_is_made_by_one_command_and_goes_on_by_the_same(worlds, tmp_path, capsys):
    run = tmp_path / "run"
    command = ["pretrain", str(run), "--corpus", str(worlds), *SMALL]
    assert main(command) == 0
    said = capsys.readouterr().out
    assert f"{run}: finished at step 6" in said
    assert re.search(r"now +\d", said)
    assert "time: data" in said
    assert checkpoint.steps(run) == [3, 6]
    assert main([*command[:2], "--steps", "8"]) == 0  # all else is in the run
    shown = capsys.readouterr()
    assert "finished at step 8" in shown.out
    assert "resuming from step 6" in shown.err
    assert "steps is now 8, no longer 6" in shown.err
    assert main(["pretrain", str(run), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["step"] == 8
    assert 0 <= found["after"]["sop_accuracy"] <= 1


def test_all_settings_are_printed_as_a_file_that_can_be_used(tmp_path, capsys, worlds):
    assert main(["pretrain", "nowhere", "--print-config", "--corpus", str(worlds), *SMALL]) == 0
    path = tmp_path / "my.toml"
    path.write_text(capsys.readouterr().out)
    assert Settings.read(path).training.steps == 6
    assert main(["pretrain", str(tmp_path / "run"), "--config", str(path), "--vocab-size", "1558"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--precision", "float16"], "precision is 'float16'; on 'cpu' it must be one of: full, bf16"),
        (["--batch", "6"], "batch 6 is 1.5 times micro_batch 4; it must be 1, 2, 4, 8, ... times as large"),
        (["--held-out-share", "0"], "held_out_share is 0.0, which of 60 documents leaves none to test on"),
        (["--corpus", "nowhere"], "corpus nowhere does not exist, seen from"),
        (["--corpus", "nowhere"], "or make it: `minalbert data build --tiny-worlds 3000 --out nowhere`"),
        (["--corpus", ""], "no corpus is given; it must be a directory that `minalbert data build` made"),
        (["--micro-batch", "512", "--batch", "512"], "micro_batch is 512; the corpus has only"),
        (["--config", "nowhere.toml"], "nowhere.toml is missing"),
        (["--weights", "nowhere"], "nowhere is not a directory"),
        (["--vocab-size", "100"], "vocab_size is 100; the corpus has a vocabulary of 1558"),
        (["--from-step", "3"], "has no checkpoint of step 3; it has none at all"),
        (["--device", "cuda"], "device 'cuda' cannot be used"),
        (["--rate", "inf"], "rate is inf"),
        (["--pass-over", "²:3"], "pass_over has '²:3'"),
        (["--seed", str(2**64)], "seed is 18446744073709551616; it must be a whole number, from 0 to"),
        (["--type-vocab-size", "1"], "type_vocab_size is 1; pairs 'sop' have 2 segments"),
    ],
)
def test_a_mistake_gets_one_sentence(worlds, tmp_path, capsys, words, said):
    assert main(["pretrain", str(tmp_path / "run"), "--corpus", str(worlds), *SMALL, *words]) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("minalbert pretrain: ")
    assert shown.count("\n") == 1
    assert said in shown


def test_a_mistake_leaves_nothing_that_a_second_try_must_fit(worlds, tmp_path):
    command = ["pretrain", str(tmp_path / "run"), "--corpus", str(worlds), *SMALL]
    assert main([*command, "--micro-batch", "512", "--batch", "512"]) == 2
    assert checkpoint.steps(tmp_path / "run") == []
    assert main(command) == 0


def test_a_preset_that_is_typed_takes_the_place_of_the_files(tmp_path):
    small = Settings().change(preset="mini", hidden_size=96)
    assert small.change(preset="tiny").model == SIZES["tiny"]


def test_a_printed_file_pins_no_defaults(tmp_path, capsys):
    assert main(["pretrain", "nowhere", "--print-config", "--steps", "500"]) == 0
    (tmp_path / "my.toml").write_text(capsys.readouterr().out)
    lamb = Settings.read(tmp_path / "my.toml").change(optimiser="lamb", steps=100)
    assert lamb.peak_rate == Settings().change(optimiser="lamb").peak_rate
    assert not lamb.optimiser.bias_correction


def test_a_run_that_is_a_file_is_named(worlds, tmp_path, capsys):
    (tmp_path / "run").write_text("")
    assert main(["pretrain", str(tmp_path / "run"), "--corpus", str(worlds), *SMALL]) == 2
    assert "cannot be made a directory" in capsys.readouterr().err


def test_a_rate_for_great_batches_is_warned_of(tmp_path, capsys):
    train(tmp_path / "small", rate=0.00176, steps=2)  # which bears it
    assert not [line for line in read_lines(tmp_path / "small") if line.get("event") == "warning"]
    train(tmp_path / "run", rate=0.00176, steps=2, hidden_size=192, num_hidden_layers=1)
    (said,) = [line["text"] for line in read_lines(tmp_path / "run") if line.get("event") == "warning"]
    assert "for batches of 16 the √batch rule gives 0.00011" in said


# The screen


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line_that_moves():
    file = Terminal()
    screen = Progress(file=file)
    screen.begin(0, 10)
    screen.evaluated(Evaluation(5.0, 0.25, 0.69, 0.5, 0.5, 0.5), 4)
    for step in range(1, 11):
        screen.step(step, {"loss": 7.123, "mlm_loss": 6.4, "sop_loss": 0.7}, 43210.0)
    screen.close()
    last = file.getvalue().replace("\n", "\r").rstrip("\r").split("\r")[-1]
    assert "step 10/10" in last
    assert "loss 7.12" in last
    assert "held-out MLM 25% SOP 50% (step 4)" in last
    assert "43,210 tokens/s" in last


def test_elsewhere_there_are_lines_now_and_then():
    file = io.StringIO()
    screen = Progress(file=file)
    screen.begin(0, 10)
    for step in range(1, 11):
        screen.step(step, {"loss": 7.123}, 43210.0)
    (line,) = file.getvalue().splitlines()
    assert line.startswith("step 10/10  loss 7.12")
    assert line.endswith("0:00 left")


def test_a_run_says_what_it_is_and_what_it_cannot_know(worlds, tmp_path, capsys):
    command = ["pretrain", str(tmp_path / "run"), "--corpus", str(worlds), *SMALL]
    assert main(command) == 0
    said = capsys.readouterr()
    assert re.search(r"weights, 1 layers, sharing all; adamw, rate 0.001; 6 steps of 8, 48 of \d+ instances", said.err)
    assert "plain kernels: the files that you read; --kernels fused is faster, in less memory" in said.err
    assert re.search(r"only \d+ held-out instances: their scores mean little", said.err)
    assert re.search(r"guessing +\d", said.out)
    assert "next: minalbert plot" in said.out
    assert main(command) == 0
    assert "is finished: 6 steps" in capsys.readouterr().err
    assert not [line for line in read_lines(tmp_path / "run") if line.get("event") == "resumed"]
    assert main([*command, "--steps", "4"]) == 2
    assert "steps is 4; " in capsys.readouterr().err
    assert main(command) == 0  # its settings were left alone


def test_a_clock_is_read_as_people_do():
    assert [clock(seconds) for seconds in (5, 65, 3600, 3725)] == ["0:05", "1:05", "1:00:00", "1:02:05"]


# The log


def test_lines_of_a_later_place_are_written_again(tmp_path):
    metrics = Metrics(tmp_path)
    for step in range(6):
        metrics.write("train", step=step, position=step + 1, loss=1.0)
    with open(tmp_path / FILE, "a") as file:
        file.write('{"kind": "train", "st')  # a kill
    metrics = Metrics(tmp_path, batch_index=4, fresh=False)
    metrics.write("train", step=4, position=5, loss=2.0)
    assert [(line["step"], line["loss"]) for line in read_lines(tmp_path)] == [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2)]


def test_a_fresh_run_begins_a_fresh_log(tmp_path):
    Metrics(tmp_path).write("start", step=0, position=0)
    Metrics(tmp_path).write("start", step=0, position=0)
    assert len(read_lines(tmp_path)) == 1


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    (tmp_path / FILE).write_text('{"kind": "x", "step": 1}\nnonsense\n{"kind": "x", "step": 2}\n')
    with pytest.raises(TrainError, match=r"metrics.jsonl:2 is no line of metrics: nonsense"):
        read_lines(tmp_path)


def test_lines_wait_while_the_disk_is_full(tmp_path, caplog):
    metrics = Metrics(tmp_path)
    metrics.write("train", step=1, position=1)
    path, metrics.path = metrics.path, tmp_path / "none" / FILE
    for step in (2, 3):
        metrics.write("train", step=step, position=step)
    metrics.path = path
    metrics.write("train", step=4, position=4)
    assert [line["step"] for line in read_lines(tmp_path)] == [1, 2, 3, 4]
    assert caplog.text.count("training goes on") == 1


class Full:
    """A file on a disk with room for half of what is written."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        raise OSError(28, "No space left on device")


def test_half_a_line_is_taken_back(tmp_path, monkeypatch, capsys):
    written = Metrics(tmp_path, alert=Progress(quiet=True).alert)
    written.write("train", step=1, position=1)
    with monkeypatch.context() as patch:
        patch.setattr(log, "open", lambda *how: Full(open(*how)), raising=False)  # noqa: SIM115
        written.write("train", step=2, position=2)
    assert "No space left on device" in capsys.readouterr().err
    assert len(read_lines(tmp_path)) == 1
    written.sync()  # there is room again
    assert [line["step"] for line in read_lines(tmp_path)] == [1, 2]


def test_a_line_broken_by_others_stops_no_run(tmp_path):
    train(tmp_path, steps=4)
    lines = (tmp_path / FILE).read_text().splitlines()
    (tmp_path / FILE).write_text("\n".join([lines[0], "{nonsense", *lines[1:]]) + "\n")
    train(tmp_path, steps=6)
    assert (tmp_path / "damaged-metrics.jsonl").read_text() == "{nonsense\n"
    (said,) = [line["text"] for line in read_lines(tmp_path) if "no metrics" in line.get("text", "")]
    assert said.endswith("metrics.jsonl that are no metrics: 1, now in damaged-metrics.jsonl")


def test_an_event_file_that_cannot_grow_stops_no_training(tmp_path, capsys, monkeypatch):
    board = Board(tmp_path, 0, Progress().alert)
    board.write("train", {"step": 1, "loss": 2.0})

    def write(data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(board._writer, "write", write)
    for step in (2, 3):
        board.write("train", {"step": step, "loss": 2.0})
    board.close()
    assert capsys.readouterr().err.count("training goes on without") == 1


def test_a_terminal_that_is_gone_stops_no_training():
    tries = []

    class Gone(io.StringIO):
        def write(self, *text):
            tries.append(text)
            raise OSError(5, "Input/output error")

        flush = write

    screen = Progress(file=Gone())
    screen.begin(0, 10)
    screen.message("step 1")
    screen.step(10, {"loss": 7.1}, 1.0)
    screen.close()
    assert len(tries) >= 2  # it did try, each time


def test_tensorboard_gets_every_number(tmp_path):
    train(tmp_path, steps=6, tensorboard=True)
    (events,) = tmp_path.glob("events.out.tfevents*")
    content = events.read_bytes()
    for name in (b"train/loss", b"train/gradient_norm", b"train/rate", b"eval/mlm_accuracy", b"eval/sop_accuracy"):
        assert name in content


# What is said of a model


def test_milestones_are_said_where_they_are_reached():
    baselines = Baselines(5.0, 0.17)
    for mlm, recalls, names in (
        (5.1, (0.5, 0.5), []),
        (4.9, (0.5, 0.5), []),
        (4.7, (0.5, 0.5), ["left the plateau"]),
        (4.7, (0.7, 0.52), ["left the plateau", "order learnt"]),
        (4.9, (1.0, 0.0), []),  # always the same answer, right in most cases
        (None, (None, None), []),
    ):
        found = Evaluation(mlm, 0.2, 0.7, 0.65, *recalls)
        assert [name for name, _ in milestones(found, baselines)] == names
    assert not list(milestones(Evaluation(4.9, 0.2, 0.3, 0.9, 0.9, 0.9), baselines, pairs="nsp"))


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("encoder.attention.key.w", math.inf, "the weights encoder.attention.key.w are not finite"),
        ("encoder.ffn.norm.gain", 1e30, "the first bad numbers are the output of layer 2"),
        ("embeddings.norm.gain", 3e38, "the first bad numbers are the embeddings"),
    ],
)
def test_what_is_not_finite_is_located(name, value, said):
    config = PRESETS["tiny"].replace(vocab_size=30)
    model = Albert.init(config)
    model.params[name][...] = value
    grads = model.params.zeros_like()
    with np.errstate(all="ignore"):
        assert locate_nonfinite(model, [Batch.random(config, 2, 8, 2)], grads) == said


def test_small_settings_are_what_a_file_could_say():
    assert Settings.from_tables(small_settings().tables()).tables() == small_settings().tables()
