"""What the README prints is what its code prints, and the files it names exist with the lengths it gives."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import exercise_files
import pytest
from test_mutations import MUTATIONS

import minalbert
from exercises import handbook
from minalbert import commands
from minalbert.commands import demo
from minalbert.train.evaluation import Baselines
from minalbert_course.catalogue import all_lessons

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)


def numbers(text):
    return [float(x) for x in re.findall(r"\d+\.?\d*", text)]


def test_the_first_example_prints_what_stands_below_it():
    first = next(number for number, (language, _) in enumerate(BLOCKS) if language == "python")
    (_, code), (_, printed) = BLOCKS[first : first + 2]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.sub(r"[\d.]+", "#", result.stdout) == re.sub(r"[\d.]+", "#", printed)
    assert numbers(result.stdout) == pytest.approx(numbers(printed), abs=2e-3)  # other machines, other last digits


def test_the_reading_order_is_true():
    rows = re.findall(r"^\| (\d+) \| \[`([\w/.]+)`\]\(([\w/.]+)\) \((\d+) lines\)", README, flags=re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, len(rows) + 1))
    assert len(rows) >= 15
    for _, name, link, lines in rows:
        assert link == f"minalbert/{name}"
        length = len((ROOT / link).read_text(encoding="utf-8").splitlines())
        assert int(lines) == pytest.approx(length, rel=0.1, abs=2), name


def test_every_file_of_layers_and_model_is_in_the_reading_order():
    for room in ("layers", "model"):
        for path in (Path(minalbert.__file__).parent / room).glob("[a-z]*.py"):
            assert f"`{room}/{path.name}`" in README, path.name


def test_links_lead_somewhere():
    for link in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_demo_that_is_shown_asks_what_the_demo_asks():
    shown = next(block for _, block in BLOCKS if "Which came first?" in block)
    before, sentence = demo.step_sentences(demo.STORIES)[:2]
    first, second = demo.step_sentences(demo.STORIES + 3)[:2]
    assert f"{before} {sentence.rsplit(' ', 2)[0]} [MASK] ." in shown
    assert f"{first} | {second}" in shown
    assert f"{second} | {first}" in shown
    for line in demo.learnt_lines(
        SimpleNamespace(before=None, after=None, baselines=Baselines(5.2, 0.16), spent={"data": 1}), 1.0
    ):
        assert line.split(":")[0].split("%")[0][:14] in shown


def test_nothing_is_left_to_be_filled_in():
    for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        assert "@@" not in path.read_text(encoding="utf-8"), path.name


def test_the_report_that_is_shown_is_what_a_student_gets(tmp_path, monkeypatch, capsys):
    solution = exercise_files.solution("ex05")
    backward, scale = "softmax_backward(dprobs, softmax_cache)", " / np.sqrt(q.shape[-1])"
    assert solution.count(backward + scale) == 1
    (tmp_path / "ex05_attention.py").write_text(solution.replace(backward + scale, backward), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert commands.main(["exercise", "check", "ex05"]) == 1
    shown = next(block for _, block in BLOCKS if block.startswith("ex05 softmax"))
    assert capsys.readouterr().out.startswith(shown)


def test_as_many_mistakes_are_planted_as_it_says():
    (said,) = re.findall(r"plants (\d+) mistakes in the library", README)
    assert int(said) == len(MUTATIONS)
    (said,) = re.findall(r"and (\d+) planted mistakes", README)
    assert int(said) == sum(len(handbook.mistakes(lesson)) for lesson in all_lessons().values())
