"""RACE: articles with questions of several options, one JSON object for each article.

    {"id": "high1.txt", "article": ..., "questions": [...], "options": [["...", "...", "...", "..."], ...],
     "answers": ["A", ...]}

As distributed, train, dev and test hold the directories middle and high, with a file for each article. In place of
its directories or files, a directory may have one file all.txt, with one object a line.
"""

from pathlib import Path
from typing import NamedTuple

from ..files import names_in
from .text_files import ADVICE, member, of_kind, parsed, read_lines, read_text, refused

LEVELS = ("middle", "high")
TOGETHER = "all.txt"
LETTERS = "ABCDEFGHIJ"


class ChoiceQuestion(NamedTuple):
    """A question about an article, and its options."""

    id: str                                          # of the article, and the question's number in it, from 0
    article: str
    question: str
    options: tuple
    label: int | None                                # the right option's number; None: it is not known


def read_race(path):
    """All questions of a split's directory, middle school first, or of one file."""
    questions = [question for file in files_of(Path(path)) for question in read_file(file)]
    first = questions[0] if questions else None
    for question in questions:
        if len(question.options) != len(first.options):
            raise refused(path, 1, f"question {question.id} has {len(question.options)} options and {first.id} has "
                          f"{len(first.options)}; all must have as many")  # fmt: skip
    if not questions:
        raise refused(path, 1, "there are no questions; a directory must hold all.txt, middle and high, or .txt files")
    return questions


def files_of(path):
    if not path.is_dir():
        return [path]
    names = names_in(path, ADVICE)
    if TOGETHER in names:
        return [path / TOGETHER]
    if levels := [path / level for level in LEVELS if level in names]:
        return [file for level in levels for file in files_of(level)]
    return [path / name for name in names if name.endswith(".txt")]


def read_file(path):
    lines = read_lines(path) if path.name == TOGETHER else [(1, read_text(path))]
    return [question for line, text in lines for question in questions_of(path, line, parsed(path, text, line))]


def questions_of(path, line, found):
    def get(name, kind):
        return member(path, line, "", found, name, kind)

    article, questions, options = get("article", str), get("questions", list), get("options", list)
    answers = get("answers", list) if "answers" in found else [None] * len(questions)
    if not len(questions) == len(options) == len(answers):
        raise refused(path, line, f"there are {len(questions)} questions, {len(options)} lists of options and "
                      f"{len(answers)} answers; there must be as many of each")  # fmt: skip
    for i, (question, choices, answer) in enumerate(zip(questions, options, answers, strict=True)):
        of_kind(path, line, f"questions[{i}]", question, str)
        choices = [of_kind(path, line, f"options[{i}][{j}]", choice, str)
                   for j, choice in enumerate(of_kind(path, line, f"options[{i}]", choices, list))]  # fmt: skip
        letters = LETTERS[: len(choices)]
        if len(choices) != len(letters) or len(choices) < 2:
            raise refused(path, line, f"options[{i}] has {len(choices)} options; it must have 2 to {len(LETTERS)}")
        if answer is not None and answer not in [*letters]:
            raise refused(path, line, f"answers[{i}] is {answer!r}; it must be one of: {', '.join(letters)}")
        label = None if answer is None else letters.index(answer)
        yield ChoiceQuestion(f"{get('id', str)}/{i}", article, question, tuple(choices), label)
