"""From scores of tokens to a text: the best spans of all windows of a question, as the released code finds them.

    SQuAD 1.1   the 20 best starts with the 20 best ends; a span's score is the sum of its two
    SQuAD 2.0   the 5 best starts, and for each the 5 best ends after it; the sum of their log-probabilities

A span begins where its window is the best (see windows.py), ends in the window, and has 30 tokens at most. Its text
is cut out of the context as that was given. In SQuAD 2.0 the score that there is no answer is the lowest of all
windows; an answer counts if this lies below a threshold, which is searched on the dev set.
"""

from typing import NamedTuple

import numpy as np

LONGEST = 30                                         # tokens of an answer


class Candidate(NamedTuple):
    """A part of the context that may be the answer."""

    text: str
    score: float
    probability: float                               # among the candidates
    characters: tuple                                # of the context: first and past the last
    tokens: tuple                                    # the number of the window, and in it the first and the last


class FoundAnswer(NamedTuple):
    """The best answer to a question, over all of its windows."""

    id: str
    text: str                                        # of the best candidate; empty if there is none
    candidates: list                                 # the best first, no text twice
    unanswerable: float | None                       # the lowest of the windows' scores that there is no answer


def span_pairs(scores, top=20):
    """scores (T, 2) of one window -> (start, end, score) of top * top pairs"""
    starts, ends = best_first(scores[:, 0], top), best_first(scores[:, 1], top)
    return [(int(i), int(j), float(scores[i, 0] + scores[j, 1])) for i in starts for j in ends]


def beam_starts(start, top=5):
    """start scores (B, T) -> (B, top) the starts after which an end is to be scored"""
    return np.stack([best_first(row, min(top, start.shape[1])) for row in start])


def beam_pairs(start, starts, end, top=5):
    """start scores (T,) of one window, the S best starts, end scores (S, T) -> (start, end, score) of S * top pairs"""
    start, end = log_softmax(start), log_softmax(end)
    return [(int(i), int(j), float(start[i] + row[j]))
            for i, row in zip(starts, end, strict=True) for j in best_first(row, top)]  # fmt: skip


def found_answer(question, windows, pairs, unanswerable=None, n_best=20):
    """The answer to a Question. For each of its windows: pairs (start, end, score), and the score for none."""
    spans = [(score, window, start, end) for window, its in enumerate(pairs)
             for start, end, score in spans_of(windows[window], its)]  # fmt: skip
    best = {}
    for score, *tokens in sorted(spans, key=lambda span: -span[0]):
        characters = characters_of(windows, *tokens)
        text = question.context[slice(*characters)].strip()
        if text and text not in best:
            best[text] = score, characters, tuple(tokens)
        if len(best) == n_best:
            break
    probabilities = np.exp(log_softmax(np.array([score for score, *_ in best.values()]))).tolist()
    candidates = [Candidate(text, score, probability, *places)
                  for (text, (score, *places)), probability in zip(best.items(), probabilities, strict=True)]
    text = candidates[0].text if candidates else ""
    return FoundAnswer(question.id, text, candidates, None if unanswerable is None else float(min(unanswerable)))


def spans_of(window, pairs):
    """Yield the pairs (start, end, score) that may be an answer."""
    for start, end, score in pairs:
        i, j = start - window.first, end - window.first
        if 0 <= i <= j < min(len(window.places), i + LONGEST) and window.best[i]:
            yield start, end, score


def characters_of(windows, number, start, end):
    """The first character of a span in a window, and past the last, in the context."""
    window = windows[number]
    return window.places[start - window.first][0], window.places[end - window.first][1]


def best_first(scores, top):
    """The places of the highest scores; of equal ones the first."""
    return np.argsort(-scores, kind="stable")[:top]


def log_softmax(scores):
    if not scores.size:
        return scores
    scores = scores - scores.max(axis=-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(axis=-1, keepdims=True))
