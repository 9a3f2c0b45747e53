"""Questions about a context that is longer than a sequence: windows of it, each [CLS] question [SEP] window [SEP].

    types     0 to the first [SEP], then 1
    barred    where no answer may begin or end: all but [CLS], which stands for none, and the window's tokens
    span      the answer's first and last token; 0, 0 where the window lacks a part of it, and it is `impossible` there
    best      the tokens that have more context here than in any other window: answers may begin only there. A token's
              context is min(tokens before it, tokens after it) + 0.01 * the window's length

The first window begins with the context; each other one 128 tokens (`stride`) after the last.
"""

from typing import NamedTuple

import numpy as np

from .sequences import Sequence, check_length, pair


class AnswerLabel(NamedTuple):
    """For one window what `objectives.Answers` holds for a batch."""

    span: tuple
    barred: np.ndarray
    impossible: int


class Window(NamedTuple):
    """An Example of one sequence, with what it takes to read an answer off it."""

    id: str                                          # of the question
    sequences: tuple[Sequence]
    label: AnswerLabel
    first: int                                       # where in the sequence the window's tokens begin
    places: list                                     # for each of them its characters in the context: (first, past)
    best: np.ndarray                                 # for each of them a truth value


class Windows(NamedTuple):
    """The windows of all questions, and what was lost."""

    windows: list
    unplaced: dict                                   # {question's id: why no window has its answer}
    cut: list                                        # ids of questions that lost tokens at their end


def make_windows(questions, tokenizer, max_length, question_length=64, stride=128):
    """All windows of all questions, in order.

    question_length   a question's tokens that are kept; at most half of max_length
    stride            at most half of the longest window. An answer is whole where it may begin (see `best`) if it has
                      no more tokens than half of what two windows have in common
    """
    check_length(max_length, 8)
    windows, unplaced, cut, contexts = [], {}, [], {}
    for question, ids in zip(questions, tokenizer.encode_many([each.question for each in questions]), strict=True):
        asked = ids[: min(question_length, max_length // 2)]
        if len(asked) < len(ids):
            cut.append(question.id)
        if question.context not in contexts:
            contexts = {question.context: tokenizer.encode_with_places(question.context)}
        context, places = contexts[question.context]
        answer = question.answers and answer_span(places, question.answers[0])
        new = windows_of(question.id, asked, context, places, answer or None, max_length - 3 - len(asked), stride)
        windows += new
        if question.answers and not answer:
            unplaced[question.id] = f"no token stands for {question.answers[0].text[:40]!r}"
        elif question.answers and all(window.label.impossible for window in new):
            unplaced[question.id] = f"its answer has {answer[1] - answer[0] + 1} tokens, and is in no window as a whole"
    return Windows(windows, unplaced, cut)


def windows_of(id, question, context, places, answer, room, stride):
    """The windows of one question. answer: its first and last token in the context, or None"""
    stretches = stretches_of(len(context), room, stride)
    best = best_windows(stretches)
    first, found = len(question) + 2, []
    for number, (begin, end) in enumerate(stretches):
        whole = answer is not None and begin <= answer[0] and answer[1] < end
        span = (answer[0] - begin + first, answer[1] - begin + first) if whole else (0, 0)
        barred = np.ones(first + end - begin + 1, bool)
        barred[0] = barred[first:-1] = False
        found.append(Window(id, (pair(question, context[begin:end]),), AnswerLabel(span, barred, int(not whole)), first,
                            places[begin:end], best[begin:end] == number))  # fmt: skip
    return found


def stretches_of(length, room, stride):
    """(begin, end) of windows of at most `room` tokens that cover `length` tokens."""
    stride, stretches = min(stride, (room + 1) // 2), [(0, min(room, length))]
    while stretches[-1][1] < length:
        begin = stretches[-1][0] + stride
        stretches.append((begin, min(begin + room, length)))
    return stretches


def best_windows(stretches):
    """For each token the number of the window that has most context around it; of two as good, the first."""
    most, best = np.full(stretches[-1][1], -1.0), np.zeros(stretches[-1][1], int)
    for number, (begin, end) in enumerate(stretches):
        before = np.arange(end - begin)
        context = np.minimum(before, before[::-1]) + 0.01 * (end - begin)
        better = np.flatnonzero(context > most[begin:end])
        most[begin + better], best[begin + better] = context[better], number
    return best


def answer_span(places, answer):
    """The first and last token of which a character is in an answer; None if there is no such token."""
    start, end = answer.start, answer.start + len(answer.text)
    within = [i for i, (first, past) in enumerate(places) if first < past and first < end and past > start]
    return (within[0], within[-1]) if within else None
