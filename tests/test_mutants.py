"""Wrong answers and right ones made by machine: what makes them, what marks them, and a sample of both."""

import functools
import json
import multiprocessing
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from exercises.mutants import kept, report, workers
from exercises.mutants.generate import chosen, mutants
from exercises.mutants.run import RESULTS, Ran, equivalent, missed, recorded, right_answers, run, sampled, wrong_answers
from exercises.mutants.twin import compared, unlike_numbers
from exercises.mutants.verdict import is_cause, is_right
from exercises.mutants.workers import Miss, Result, each

SOURCES = {source.lesson.name: source for source in chosen()}
GELU = SOURCES["ex04"]
all_wrong_answers = functools.cache(wrong_answers)


@pytest.fixture(scope="module")
def of_gelu():
    return {mutant.name: mutant for mutant in mutants(GELU)}


def test_mutants_have_names_of_their_own_and_differ_in_one_function(of_gelu):
    assert len(of_gelu) > 300
    assert len({mutant.text for mutant in of_gelu.values()} | {GELU.solution()}) == len(of_gelu) + 1
    mutant = of_gelu["ex04.tanh_backward.operators.2.1"]
    assert "- became +" in mutant.cause or "* became /" in mutant.cause
    assert mutant.function == "tanh_backward"


def test_a_right_answer_that_is_no_python_raises():
    def broken(f):
        yield f.body[0], f.at_start("return ("), "a bracket stays open"

    with pytest.raises(SyntaxError, match=r"ex04\.tanh_forward\.broken\.1\.1"):
        list(mutants(GELU, {"broken": broken}))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_right_answers_compile(name):
    compiled = []
    for mutant, content, suffix in right_answers(SOURCES[name]):
        text = content if suffix == ".py" else "\n".join(code_cells(content))
        compiled.append(compile(text, mutant.name, "exec"))
    assert len(compiled) > 50


def code_cells(notebook):
    return ["".join(cell["source"]) for cell in json.loads(notebook)["cells"] if cell["cell_type"] == "code"]


def test_twins_differ_where_the_functions_do(of_gelu):
    texts = {name: (of_gelu[name].text, of_gelu[name].function)
             for name in ("ex04.gelu_forward.factors.2.1", "ex04.tanh_backward.caches.1.1")}  # fmt: skip
    texts["the same"] = (GELU.solution().replace("y * y", "y**2"), "tanh_backward")
    different, calls = compared("ex04", texts, calls=20)
    assert different.keys() == texts.keys() - {"the same"}
    assert calls["tanh_backward"] >= 20


@pytest.mark.parametrize("name", ["ex06", "ex08"])
def test_a_solution_is_its_own_twin(name):
    """ex06 hands out the same objects again, ex08 one generator in many calls."""
    source = SOURCES[name]
    texts = {function: (source.solution(), function) for function in source.lesson.functions}
    assert compared(name, texts, seconds=0.01)[0] == {}


@pytest.mark.slow
def test_what_is_listed_as_equivalent_has_full_marks():
    """A name whose mutant became another one would hide a miss."""
    survivors = {name for row in recorded().values() for name in row["survivors"]}
    assert not equivalent().keys() - survivors


def test_equal_infinities_do_not_differ():
    assert unlike_numbers([np.inf, np.nan, 1.0], [np.inf, np.nan, 1.0]) == ""
    assert unlike_numbers([np.inf, 2.0], [-np.inf, 2.0])
    assert unlike_numbers([np.inf, 2.0], [np.inf, np.nan])


def test_a_twin_measures_and_trains_a_model_of_its_own():
    """The checks keep a model from call to call; trained by one host after the other, it would differ for each."""
    text = SOURCES["ex11"].solution()
    texts = {
        "the same": (text.replace(", strict=True)]", ")]"), "held_out_loss"),
        "a list of steps": (text.replace("in range(steps)", "in list(range(steps))"), "train"),
    }
    different, calls = compared("ex11", texts, calls=60)
    assert different == {}
    assert min(calls["train"], calls["held_out_loss"]) >= 60


def ran(mutant, cause):
    return Ran(mutant, Result(5, [Miss("GELU", 5, mutant.function, "wrong", cause, True)]))


def test_a_cause_is_right_if_it_names_the_changed_line(of_gelu):
    mutant = of_gelu["ex04.tanh_backward.operators.2.1"]
    lines = mutant.text.splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line not in GELU.solution().splitlines()]
    right = ran(mutant, f"tanh_backward, line {number}: all numbers of this check are right with another operator")
    wrong = ran(mutant, f"tanh_backward, line {number - 1}: all numbers of this check are right without `y`")
    assert is_right(right, GELU.solution())
    assert not is_right(wrong, GELU.solution())
    assert is_right(wrong, GELU.solution(), wrong)  # undone elsewhere, with other numbers, too


def test_a_cause_in_words_is_right_if_it_is_of_the_kind_or_given_again(of_gelu):
    mutant, state = of_gelu["ex04.tanh_backward.operators.2.1"], of_gelu["ex04.tanh_backward.caches.1.1"]
    said, other = ran(mutant, "a constant factor: 2.5 times"), ran(mutant, "a constant factor: 0.1 times")
    assert is_right(said, GELU.solution(), other)
    assert not is_right(said, GELU.solution(), ran(mutant, "the sign is wrong"))
    assert is_right(ran(state, "something is kept from call to call"), GELU.solution())
    assert is_right(ran(state, "gelu_forward wrote into what it had returned before"), GELU.solution())
    assert not is_right(ran(state, "transposed"), GELU.solution(), ran(state, "transposed"))
    assert not is_cause("seen: 2 of 4 entries are wrong")


def test_a_list_of_no_survivors_does_not_say_that_they_are_not_compared(of_gelu, tmp_path):
    first = "mutants have full marks and are not listed in equivalent.toml."
    report.survivors(tmp_path, GELU, [], {})
    assert (tmp_path / "ex04.txt").read_text() == f"ex04: 0 {first}"
    lost = [ran(of_gelu["ex04.tanh_backward.operators.2.1"], None)]
    report.survivors(tmp_path, GELU, lost, {})
    assert (tmp_path / "ex04.txt").read_text().startswith(f"ex04: 1 {first}\nnot compared yet with the solution\n")


def test_a_run_that_was_stopped_goes_on_where_it_stopped(of_gelu, tmp_path, monkeypatch):
    answers = [(mutant, mutant.text, ".py") for mutant in list(of_gelu.values())[:4]]
    told = ["it took long", *(Result(9.5, [Miss("GELU", 0.5, "f", f"{i}", None, True)], "") for i in range(3))]
    by_text, asked, stops = {text: told[i] for i, (_, text, _) in enumerate(answers)}, [], [2]

    def stopped(function, tasks, workers):
        for number, task in enumerate(tasks):
            if len(asked) in stops:
                stops.clear()
                raise KeyboardInterrupt
            asked.append(task[1])
            yield number, by_text[task[1]]

    monkeypatch.setattr(kept, "each", stopped)
    with pytest.raises(KeyboardInterrupt):
        run(answers, found=tmp_path / "found")
    with open(tmp_path / "found", "a") as file:
        file.write('\n["cut o')
    for _ in range(2):
        assert [one.result for one in run(answers, found=tmp_path / "found")] == told
    assert sorted(asked) == sorted(by_text)  # each once


def test_a_result_is_kept_for_one_text_term_solution_and_judge(tmp_path, monkeypatch):
    keys = {kept.key("ex04", text, term, ".py") for text in ("x", "y") for term in ("a", "b")}
    monkeypatch.setattr(kept, "solutions", lambda: {"ex04": "another"})
    keys.add(kept.key("ex04", "x", "a", ".py"))
    monkeypatch.setattr(kept, "judge", lambda: "another")
    assert len(keys | {kept.key("ex04", "x", "a", ".py")}) == 6


def test_a_judge_is_all_of_its_files(tmp_path):
    for folder, text in (("a", "1"), ("b", "1"), ("c", "2")):
        (tmp_path / folder / "lessons").mkdir(parents=True)
        (tmp_path / folder / "lessons" / "ex01.py").write_text(text)
    one, same, other = (kept.judge((tmp_path / folder,)) for folder in "abc")
    assert one == same != other


@pytest.mark.slow
def test_one_that_hangs_or_leaves_ends_alone():
    tasks = [("1 + 1",), ("[0 for _ in iter(int, 1)]",), ("__import__('os')._exit(3)",), ("2 + 2",)]
    answers = dict(each(eval, tasks, workers=1, seconds=2))
    endless = "it took more than 2 seconds of processor time: an endless loop?"
    assert answers == {0: 2, 1: endless, 2: "it ended the process", 3: 4}
    assert multiprocessing.active_children() == []


def test_a_worker_that_cannot_be_started_raises_where_the_answers_are_read(monkeypatch):
    def refused(pid):
        raise OSError("too many open files")

    monkeypatch.setattr(workers, "ProcessorTime", refused)
    with pytest.raises(OSError, match="too many open files"):
        list(each(abs, [(1,), (2,), (3,)], workers=1))
    assert multiprocessing.active_children() == []


def test_a_process_that_does_not_start_raises_too(monkeypatch):
    class Refused(multiprocessing.get_context("spawn").Process):
        def start(self):
            raise OSError("no more processes")

    monkeypatch.setattr(multiprocessing.get_context("spawn"), "Process", Refused)
    with pytest.raises(OSError, match="no more processes"):
        list(each(abs, [(1,)], workers=1))


def test_a_process_that_ends_at_once_raises_too(monkeypatch):
    """Or each answer would be that of a mutant which ends its process: caught."""
    monkeypatch.setattr(workers, "serve", divmod)  # wants another argument
    with pytest.raises(RuntimeError, match="a worker could not be started: it ended the process"):
        list(each(abs, [(1,)], workers=1))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGKILL")
def test_workers_end_with_their_parent():
    """A worker holds the program's stderr, so that `run` waits for it, too."""
    code = (
        "import os\nfrom exercises.mutants.workers import Worker\nworker = Worker()\nworker.ask(abs, (1,), 60)\n"
        "worker.pipe.send((eval, ('__import__(\"time\").sleep(600)',)))\nos.kill(os.getpid(), 9)"
    )
    place = Path(__file__).parents[1]
    assert subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, cwd=place, timeout=120).returncode == -9


SEED = 2026  # python -m exercises.mutants --sample 80 --seed N for others


@pytest.mark.slow
def test_a_sample_of_wrong_answers_is_caught():
    """All of them, and why: python -m exercises.mutants. Without a recorded run nobody knows which are equivalent."""
    recorded = [
        name
        for name, found in json.loads(RESULTS.read_bytes()).items()
        if found.get("tried") == len(all_wrong_answers(SOURCES[name]))
    ]
    assert len(recorded) > 10
    ran = sample_of(all_wrong_answers, recorded)
    allowed = equivalent().keys() | missed()
    lost = [one.mutant.name for one in ran if not one.caught and one.mutant.name not in allowed]
    assert len(lost) <= len(ran) // 20, f"full marks for {', '.join(lost)}"


@pytest.mark.slow
def test_a_sample_of_right_answers_loses_no_point():
    """All of them: python -m exercises.mutants --right"""
    ran = sample_of(right_answers)
    lost = [f"{one.mutant.name} ({one.cause or one.stopped})" for one in ran if one.caught]
    assert not lost, f"points lost by {', '.join(lost)}"


def sample_of(answers, names=SOURCES):
    """80 that were marked, of five exercises"""
    print(f"seed {SEED}")
    exercises = random.Random(SEED).sample(sorted(names), 5)
    return run([one for name in exercises for one in sampled(answers(SOURCES[name]), 16, SEED)])


@pytest.mark.slow
def test_what_is_said_to_be_equivalent_is_a_mutant_and_no_miss():
    names = {mutant.name for source in SOURCES.values() for mutant, *_ in all_wrong_answers(source)}
    assert len(names) > 2000
    assert equivalent().keys() <= names
    assert missed() <= names
