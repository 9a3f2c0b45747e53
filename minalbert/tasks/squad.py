"""SQuAD's JSON: articles of paragraphs, each a context with questions.

    {"version": "v2.0", "data": [{"title": ..., "paragraphs": [{"context": ..., "qas": [
        {"id": ..., "question": ..., "answers": [{"text": ..., "answer_start": 3}], "is_impossible": false}]}]}]}

An answer is a part of the context, which begins at the character `answer_start`, counted from 0. In SQuAD 1.1 there is
no `is_impossible`, and every question has an answer. A file to be answered may have no `answers`.
"""

import json
from typing import NamedTuple

from .text_files import member, of_kind, parsed, read_text, refused


class TextAnswer(NamedTuple):
    """A right answer."""

    text: str
    start: int                                       # its first character in the context


class Question(NamedTuple):
    """A question about a context, with its right answers."""

    id: str
    question: str
    context: str
    answers: tuple | None                            # of TextAnswer; empty: there is none; None: it is not known
    impossible: bool = False                         # there is no answer in the context


def read_squad(path):
    """All questions of a file, in order."""
    text, questions = read_text(path), {}
    for place, paragraph in paragraphs_of(path, parsed(path, text)):
        context = member(path, 1, place, paragraph, "context", str)
        if not context.strip():
            raise refused(path, 1, f"{place}.context is empty; it must be the text that the questions are about")
        for i, found in enumerate(member(path, 1, place, paragraph, "qas", list)):
            here = f"{place}.qas[{i}]"
            of_kind(path, 1, here, found, dict)
            question = question_of(path, text, here, found, context)
            if question.id in questions:
                raise refused(path, line_of(text, question.id), f"{here}.id is {question.id!r}, as another question's; "
                              "each must have its own")  # fmt: skip
            questions[question.id] = question
    if not questions:
        raise refused(path, 1, "there are no questions; at least one paragraph must have some")
    return [*questions.values()]


def paragraphs_of(path, content):
    for i, article in enumerate(member(path, 1, "", content, "data", list)):
        of_kind(path, 1, f"data[{i}]", article, dict)
        for j, paragraph in enumerate(member(path, 1, f"data[{i}]", article, "paragraphs", list)):
            place = f"data[{i}].paragraphs[{j}]"
            yield place, of_kind(path, 1, place, paragraph, dict)


def question_of(path, text, place, found, context):
    id = member(path, 1, place, found, "id", str)
    line = line_of(text, id)
    question = member(path, line, place, found, "question", str)
    impossible = of_kind(path, line, f"{place}.is_impossible", found.get("is_impossible", False), bool)
    if "answers" not in found:
        return Question(id, question, context, None, impossible)
    answers = []
    for i, answer in enumerate(member(path, line, place, found, "answers", list)):
        here = f"{place}.answers[{i}]"
        of_kind(path, line, here, answer, dict)
        start = member(path, line, here, answer, "answer_start", int)
        answers.append(TextAnswer(member(path, line, here, answer, "text", str), start))
        check_answer(path, line, f"question {id!r}", answers[-1], context)
    if impossible == bool(answers):
        reason = "is_impossible is true" if impossible else "there is no answer, and is_impossible is not true"
        raise refused(path, line, f"question {id!r} has {len(answers)} answers where {reason}; it must have an answer "
                      "or be impossible")  # fmt: skip
    return Question(id, question, context, tuple(answers), impossible)


def check_answer(path, line, whose, answer, context):
    there = context[answer.start : answer.start + len(answer.text)] if answer.start >= 0 else ""
    if there == answer.text and there.strip():
        return
    at = context.find(answer.text) if answer.text.strip() else -1
    right = f"{answer.text[:40]!r} begins at {at}" if at >= 0 else "it must be a part of the context"
    raise refused(path, line, f"{whose} has the answer {answer.text[:40]!r} at character {answer.start}, where the "
                  f"context has {there[:40]!r}; {right}")  # fmt: skip


def line_of(text, id):
    """The line where an id stands, from 1: 1 if it is not written there as json.dumps would."""
    return text.count("\n", 0, max(text.find(json.dumps(id)), 0)) + 1
