"""Several fine-tunings: each in a directory of its own, none twice, and which of them failed."""

import json
import math

import pytest
from small_run import StopAt, computed
from small_task import small_place, small_settings

from minalbert.commands import main
from minalbert.errors import ConfigError, TrainError
from minalbert.tasks import sweep as module
from minalbert.tasks.dev_test import DevTest, guesses
from minalbert.tasks.question_task import AnswerTask, SpanTask
from minalbert.tasks.squad import Question, TextAnswer
from minalbert.tasks.sweep import SweptRun, groups_of, sweep
from minalbert.tasks.task import Examples
from minalbert.train import assemble, loop, saved_steps
from minalbert.train.log import read_lines

TINY = {"steps": 2, "warmup": 0, "evaluate_every": 2, "dev_examples": 8, "batch": 4, "workers": 1}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_place(tmp_path_factory.mktemp("place"))


def of(score, guessing=0.5, same=0.7, rate=0.1):
    return SweptRun("run", rate, 0, 1, {"f1": score, "same_answer": same}, guessing, guessing + 0.1, same == 1)


@pytest.mark.parametrize(
    ("run", "failed"),
    [(of(0.61), False), (of(0.6), True), (of(0.4), True), (of(math.nan, 0.0), True), (of(0.2, 0.0), False),
     (of(0.61, same=1), True)],
)  # fmt: skip
def test_a_run_has_failed_if_guessing_may_score_as_much(run, failed):
    assert run.failed == failed


def test_groups_are_those_of_a_rate():
    runs = [of(0.62), of(0.9), of(0.7), of(0.2, same=1), of(0.8, rate=0.3), of(math.nan, rate=0.3)]
    one, other = groups_of(runs)
    assert one == (0.1, 4, pytest.approx(0.66), 0.2, 0.9, 0.25, 1)
    assert other == (0.3, 2, 0.8, 0.8, 0.8, 0.5, 0)


def test_no_run_is_made_twice_and_a_stopped_sweep_goes_on(place, tmp_path, monkeypatch):
    settings, steps = small_settings(place, **TINY), []
    step = loop.Trainer.next_step
    monkeypatch.setattr(loop.Trainer, "next_step", lambda trainer: steps.append(1) or step(trainer))
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "StopSignals", lambda alert: StopAt(1))
        stopped = sweep(settings, tmp_path / "sweep", range(2), [0.01, 0.02])
    assert (stopped.code, stopped.groups, len(steps)) == (75, [], 1)
    found = sweep(settings, tmp_path / "sweep", range(2), [0.01, 0.02])
    assert len(steps) == 8
    assert [(run.rate, run.seed) for run in found.runs] == [(0.01, 0), (0.01, 1), (0.02, 0), (0.02, 1)]
    names = ["rate-0.01-seed-0", "rate-0.01-seed-1", "rate-0.02-seed-0", "rate-0.02-seed-1"]
    assert sorted(path.name for path in (tmp_path / "sweep").iterdir()) == [*names, "sweep.jsonl"]
    assert all(saved_steps.steps(tmp_path / "sweep" / name)[-1] == 2 for name in names)
    again = sweep(settings, tmp_path / "sweep", range(2), [0.01, 0.02])
    assert len(steps) == 8
    assert again.groups == found.groups
    lines = [json.loads(line) for line in (tmp_path / "sweep" / "sweep.jsonl").read_text().splitlines()]
    assert [line["scores"] for line in lines] == [run.scores for run in found.runs]
    alone = module.finetune(settings.change(seed=1, rate=0.02), tmp_path / "alone")
    assert alone.best["scores"] == found.runs[3].scores
    assert computed(tmp_path / "alone") == computed(tmp_path / "sweep" / names[3])


def test_the_command_prints_a_line_for_each_rate(place, tmp_path, capsys):
    words = ["finetune", str(tmp_path / "sweep"), "--task", "custom", "--data", str(place / "before"), "--model",
             str(place / "model"), "--steps", "1", "--batch", "2", "--dev-examples", "8", "--seed", "5", "--seeds", "2",
             "--workers", "1"]  # fmt: skip
    assert main(words) == 0
    captured = capsys.readouterr()
    assert f"run 2 of 2: {tmp_path / 'sweep' / 'seed-6'}" in captured.err
    rows = captured.out.splitlines()
    assert rows[0].startswith("seed-5 ")
    assert rows[2].split() == ["rate", "runs", "median", "lowest", "highest", "failed"]
    assert rows[3].split()[1] == "2"
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [run["seed"] for run in found["runs"]] == [5, 6]
    assert found["groups"][0]["runs"] == 2
    assert main(["finetune", str(tmp_path / "sweep"), *words[2:-4], "--workers", "1"]) == 2
    said = "sweep is a directory of several runs; name another directory for the run; the --seeds and --rates of these"
    assert said in capsys.readouterr().err
    assert main(["finetune", str(tmp_path / "sweep" / "seed-5"), *words[2:]]) == 2
    assert "seed-5 is a run; name another directory for the runs of --seeds and --rates" in capsys.readouterr().err


def test_a_sweep_that_is_stopped_at_once_is_resumed_with_its_seeds(place, tmp_path, capsys, monkeypatch):
    def interrupt(*args, **given):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "finetune", interrupt)
    words = ["finetune", str(tmp_path / "sweep"), "--task", "custom", "--data", str(place / "before"), "--model",
             str(place / "model"), "--seeds", "3", "--rates", "0.1,0.2"]  # fmt: skip
    assert main(words) == 130
    said = "stopped at once; the same command, with --seeds 3 and --rates 0.1,0.2, resumes from the newest checkpoint"
    assert said in capsys.readouterr().err


def test_finished_runs_of_other_rates_keep_their_lines(place, tmp_path):
    settings, file = small_settings(place, **TINY), tmp_path / "sweep" / "sweep.jsonl"
    sweep(settings, tmp_path / "sweep", [0], [0.01])
    first = file.read_text()
    file.write_text(first + '{"direct\n')
    for _ in range(2):
        sweep(settings, tmp_path / "sweep", [0], [0.02])
    lines = file.read_text().splitlines(keepends=True)
    assert lines[0] == first
    assert [json.loads(line)["rate"] for line in lines] == [0.01, 0.02]


@pytest.mark.parametrize(
    ("lists", "said"),
    [
        ({"seeds": [1, 2, 1]}, "seeds has 1 twice; each must be another"),
        ({"rates": [0.1, 0.1]}, "rates has 0.1 twice; each must be another"),
        ({"rates": [-1.0]}, "rate is -1.0; it must be from 1e-12 to 100.0"),
    ],
)
def test_a_mistake_is_one_sentence_and_makes_no_run(place, tmp_path, lists, said):
    with pytest.raises((ConfigError, TrainError), match=said):
        sweep(small_settings(place, **TINY), tmp_path / "sweep", **lists)
    assert not (tmp_path / "sweep").exists()


def test_a_run_that_never_answers_is_no_better_than_no_answer(place, tmp_path, monkeypatch):
    """SQuAD 2.0: it scores the share of questions that have no answer."""
    none = AnswerTask.pairs

    def never(task, *inputs):
        return [([(start, end, score) for start, end, score in found], 1e6) for found, _ in none(task, *inputs)]

    monkeypatch.setattr(AnswerTask, "pairs", never)
    settings = small_settings(place, "spans1", **TINY | {"dev_examples": 0})
    (run,) = sweep(settings, tmp_path / "sweep", [0]).runs
    dev = json.loads((place / "spans1" / "dev-v2.0.json").read_text())
    asked = [question for article in dev["data"] for text in article["paragraphs"] for question in text["qas"]]
    share = sum(question["is_impossible"] for question in asked) / len(asked)
    assert run.guessing == share > 0
    assert run.failed
    events = [line["event"] for line in read_lines(tmp_path / "sweep" / "seed-0") if line["kind"] == "event"]
    assert "better than guessing" not in events


def test_numbers_that_are_written_alike_are_a_constant_output(place, tmp_path):
    """At a rate of 30 all numbers leave the range on one side, as numbers that differ."""
    numbers = tmp_path / "numbers"
    numbers.mkdir()
    for name in ("train.tsv", "dev.tsv"):
        rows = [line.split("\t") for line in (place / "before" / name).read_text().splitlines()]
        lines = ["sentence\tlabel"] + [f"{row[1]}\t{i % 6}" for i, row in enumerate(rows[1:])]
        (numbers / name).write_text("\n".join(lines) + "\n")
    settings = small_settings(place, **TINY | {"rate": 30.0, "data": str(numbers), "kind": "number", "range": "0,5"})
    (run,) = sweep(settings, tmp_path / "sweep", [0]).runs
    assert run.constant
    assert run.failed
    assert (run.guessing, run.beyond_chance) == (0, pytest.approx(2 / math.sqrt(8)))


def test_the_best_of_many_tests_of_noise_has_failed(place, tmp_path):
    changes = TINY | {"steps": 8, "evaluate_every": 1, "rate": 1e-5, "dev_examples": 40}
    (run,) = sweep(small_settings(place, **changes), tmp_path / "sweep", [0]).runs
    assert run.beyond_chance == pytest.approx(run.guessing + 1 / math.sqrt(40))
    assert run.failed


def test_squad_1_is_guessed_by_its_most_frequent_answer():
    answers = [TextAnswer(text, 0) for text in ("Rome", "Oslo", "Oslo", "Rome", "Oslo")]
    rows = [Question(f"{i}", "where?", "Rome, Oslo", (answer,)) for i, answer in enumerate(answers)]
    assert guesses(SpanTask("squad1", None, 128), Examples([], rows)) == {"f1": 0.6, "exact": 0.6}


def test_nothing_is_learnt_before_the_first_step(place, tmp_path, monkeypatch):
    monkeypatch.setattr(DevTest, "milestones", lambda test, found: [("better than guessing", "it is")])
    module.finetune(small_settings(place, **TINY), tmp_path / "run")
    assert [line["step"] for line in read_lines(tmp_path / "run") if line["kind"] == "event"] == [2]
