"""What the README and docs/ print is what the code prints; the files, names and tables they show are the real ones."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import exercise_files
import pytest
from mutations import MUTATIONS
from test_architecture import MAY_IMPORT

import minalbert
from exercises import handbook
from minalbert import commands
from minalbert.commands import demo
from minalbert.train.evaluation import Baselines
from minalbert_course.catalogue import all_lessons

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in PAGES}
README = TEXTS["README.md"]
FENCED = re.compile(r"```(\w*)\n(.*?)```", flags=re.DOTALL)
BLOCKS = FENCED.findall(README)


def numbers(text):
    return [float(x) for x in re.findall(r"\d+\.?\d*", text)]


def linked(path, link):
    """What a link leads to; docs/index.md becomes the site's first page, at its root."""
    return (ROOT if path.name == "index.md" else path.parent) / link


def named(page):
    """All words in code of a page."""
    codes = [code for _, code in FENCED.findall(TEXTS[page])] + re.findall(r"`([^`\n]+)`", FENCED.sub("", TEXTS[page]))
    return {word for code in codes for word in re.findall(r"\w+", code)}


def test_the_first_page_is_short():
    assert len(README.splitlines()) <= 180


@pytest.mark.parametrize("page", ["README.md", "index.md"])
def test_the_first_pages_name_the_commands_for_tasks(page):
    assert {"finetune", "predict", "answer", "classify"} <= named(page) & {*commands.COMMANDS}


def test_the_first_example_prints_what_stands_below_it():
    first = next(number for number, (language, _) in enumerate(BLOCKS) if language == "python")
    (_, code), (_, printed) = BLOCKS[first : first + 2]
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.sub(r"[\d.]+", "#", result.stdout) == re.sub(r"[\d.]+", "#", printed)
    assert numbers(result.stdout) == pytest.approx(numbers(printed), abs=2e-3)  # other machines, other last digits


def test_your_own_pair_takes_the_place_that_is_shown():
    code = next(code for language, code in BLOCKS if language == "python" and "my_forward" in code)
    plain = minalbert.PLAIN.attention_half
    names = {"Albert": minalbert.Albert, "PRESETS": minalbert.PRESETS, "my_forward": plain[0], "my_backward": plain[1]}
    exec(code, names)
    assert names["model"].pairs == minalbert.PLAIN


def test_an_attention_half_of_your_own_is_checked_and_trains(tmp_path, monkeypatch):
    """learning.md's example prints what stands below it."""
    blocks = FENCED.findall(TEXTS["learning.md"])
    number = next(number for number, (_, code) in enumerate(blocks) if "def my_forward" in code)
    (_, code), (_, printed) = blocks[number : number + 2]
    monkeypatch.chdir(tmp_path)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(code, {})
    assert out.getvalue().splitlines()[0] == printed.splitlines()[0]
    assert numbers(out.getvalue()) == pytest.approx(numbers(printed), abs=0.03)


def test_the_reading_order_is_true():
    rows = re.findall(r"^\| (\d+) \| \[`([\w/.]+)`\]\(([\w/.]+)\) \((\d+) lines\)", README, flags=re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, len(rows) + 1))
    assert 15 <= len(rows) <= 22
    lengths = []
    for _, name, link, lines in rows:
        assert link == f"minalbert/{name}"
        lengths.append(len((ROOT / link).read_text(encoding="utf-8").splitlines()))
        assert int(lines) == pytest.approx(lengths[-1], rel=0.1, abs=2), name
    (total,) = re.findall(r"some ([\d,]+) lines", README)
    assert int(total.replace(",", "")) == pytest.approx(sum(lengths), rel=0.1)


def test_links_lead_somewhere():
    for path in PAGES:
        for link in re.findall(r"\]\((?!http)([^)#]+)(?:#[^)]*)?\)", TEXTS[path.name]):
            assert linked(path, link).exists() or link.startswith("api/"), f"{path.name}: {link}"


def test_links_to_headings_lead_to_them():
    for path in PAGES:
        for link, heading in re.findall(r"\]\((?!http)([\w./-]*\.md)?#([^)]+)\)", TEXTS[path.name]):
            target = linked(path, link).read_text(encoding="utf-8") if link else TEXTS[path.name]
            headings = re.findall(r"^#+ (.*)$", FENCED.sub("", target), flags=re.MULTILINE)
            assert heading in {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}, path.name


def test_the_picture_names_what_there_is():
    picture = (ROOT / "docs" / "batch.svg").read_text(encoding="utf-8")
    files = re.findall(r"\b(?:\w+/)?\w+\.py\b", picture)
    assert len(files) >= 7
    paths = [ROOT / "minalbert" / name for name in files] + [ROOT / "minalbert" / "model" / "context.py"]
    sources = [path.read_text(encoding="utf-8") for path in paths]
    for name in re.findall(r'<text class="code[^>]*>([\w. ,]+)', picture):
        for function in re.findall(r"[A-Za-z_]{5,}", name):
            assert any(function in source for source in sources), function


def test_the_table_of_rooms_is_the_tested_one():
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXTS["architecture.md"], flags=re.MULTILINE)
    shown = {room: set(re.findall(r"`(\w+)`", row)) for room, row in rows if room in MAY_IMPORT}
    assert shown == MAY_IMPORT
    assert [room for room, _ in rows if room in MAY_IMPORT] == list(MAY_IMPORT)


def test_every_command_is_on_the_page_of_public_names():
    assert {word for name in commands.all_commands() for word in name.split("-")} <= named("api.md")


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
    for name, text in TEXTS.items():
        assert "@@" not in text, name


def test_the_report_that_is_shown_is_what_a_student_gets(tmp_path, monkeypatch, capsys):
    solution = exercise_files.solution("ex05")
    backward, scale = "softmax_backward(dprobs, softmax_cache)", " / np.sqrt(q.shape[-1])"
    assert solution.count(backward + scale) == 1
    (tmp_path / "ex05_attention.py").write_text(solution.replace(backward + scale, backward), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert commands.main(["exercise", "check", "ex05"]) == 1
    shown = next(block for _, block in FENCED.findall(TEXTS["learning.md"]) if block.startswith("ex05 softmax"))
    assert capsys.readouterr().out.startswith(shown)


def test_as_many_mistakes_are_planted_as_it_says():
    (given,) = re.findall(r"plants (\d+) mistakes in the library", TEXTS["parity.md"])
    assert int(given) == len(MUTATIONS)
    (given,) = re.findall(r"and ([\d,]+) planted mistakes", TEXTS["learning.md"])
    assert int(given.replace(",", "")) == sum(len(handbook.mistakes(lesson)) for lesson in all_lessons().values())
