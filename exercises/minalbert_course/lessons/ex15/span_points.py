"""Exercise 15's right answers, and the numbers that it is marked with."""

import re

import numpy as np

from minalbert.layers import linear_backward, linear_forward
from minalbert.model.tasks import BARRED, span_loss_backward

from ..corners import Corner, upstream

PLACES = (
    Corner(B=1, T=1, H=1),
    Corner("tiny", B=1, T=4, H=2),
    Corner("large", B=3, T=2, H=4),
    Corner("zero", B=2, T=3, H=5),
    Corner(B=2, T=2, H=2),
    Corner(B=13, T=3, H=1, padding="none"),
    Corner(B=13, T=13, H=11, padding="all but one"),
    Corner(B=70, T=2, H=2, padding="none"),
    Corner(B=1, T=300, H=2),
)


def span_forward(hidden, w, b, barred):
    scores, dense = linear_forward(hidden, w, b)
    return np.where(barred[..., None], BARRED, scores), (dense, barred)


def span_backward(dscores, cache):
    dense, barred = cache
    return *linear_backward(np.where(barred[..., None], 0.0, dscores), dense), None


def loss_backward(dloss, cache):
    return span_loss_backward(dloss, cache), None


def point(draw):
    """hidden, w, b, barred; and dscores. Question and padding are barred."""
    B, T, H = draw.sizes(B=3, T=7, H=4, least=3)
    barred = draw.padding(B, T) == 0
    if T > 3:
        barred[:, 0] = True
        barred[0, 2] = True
    return (draw.normal(B, T, H), draw.matrix(H, 2), draw.gain(2), barred), upstream(draw, B, T, 2)


def answered(draw):
    """(scores, spans): all answers inside, at places that are not barred; some sizes and scores beside the usual."""
    B, T = draw.sizes(B=3, T=7, least=3)
    for batch, length, scale in ((B, T, 2), (1, T, 2), (B, 1, 2), (4, 4, 30), (40, 300, 1), (2, T, 0), (2, 2, 1)):
        scores, spans = draw.normal(batch, length, 2, scale=scale), np.sort(draw.integers(0, length, batch, 2))
        spans[0] = 0, length - 1
        spans[-1] = length - 1
        barred = draw.uniform(0, 1, batch, length) < 0.3
        np.put_along_axis(barred, spans, False, axis=1)
        yield np.where(barred[..., None], BARRED, scores), spans
    twice = -15000 + np.round(64 * draw.normal(3, T, 2)) / 64    # e to each is 0; two windows are equal
    yield twice[[0, 0, 1, 2]], np.array([[1, 2], [1, 2], [0, 0], [0, T - 1]])


def cut_off(draw):
    """(scores, spans): answers that begin, or end, or both, outside of their window; in the last batch all do."""
    B, T = draw.sizes(B=6, T=7, least=5)
    B = max(B, 6)
    scores, spans = draw.normal(B, T, 2, scale=2), np.sort(draw.integers(0, T, B, 2))
    spans[:5] = [-1, 2], [3, T], [T, T + 9], [0, T - 1], [-4, -2]
    yield scores, spans
    yield scores[:2], spans[:2]
    yield scores[1:4], spans[1:4]
    yield scores[:3], np.array([[-1, -1], [T, T], [T + 30, T + 40]])
    yield scores[:2], np.array([[-1, 2], [-100, 0]])    # no start is inside, but ends are
    yield scores[:2], np.array([[3, -1], [T, 2]])    # -1, or T, where one of the two is not there
    yield scores[:3], np.array([[0, 0], [0, 2], [0, 0]])     # [CLS], which is a place like others
    yield scores[:2], np.array([[2**32 + 1, 2**33], [-(2**63), 1]])       # beyond 32 bits


def windows(draw):
    """(scores, longest) of one window each: random ones, and those in which mistakes show that often do not."""
    (T,) = draw.sizes(T=9, least=6)
    for length, longest, shift in ((T, 3, 0), (T, T, -50), (T, 1, 0), (T, 30, 0), (1, 1, -5), (1, 30, 2), (2, 1, 0),
                                   (2, 2, -3), (14, 4, 500), (14, 13, 0), (14, 2, 0)):  # fmt: skip
        yield draw.normal(length, 2, scale=3) + shift, longest
    crossed = draw.normal(T, 2)
    crossed[T - 1, 0], crossed[0, 1] = 9.0, 8.0      # the best end stands before the best start
    yield crossed, T
    apart = draw.normal(T, 2)
    apart[0], apart[T - 1] = [-200.0, 90.0], [90.0, -200.0]    # softmax is nearly 0 wherever the best span can be
    yield apart, T
    slope = draw.normal(50, 2, scale=0.1)            # the best starts are at the end, the best ends at the beginning
    yield slope + 0.3 * np.arange(50)[:, None] * [1, -1], 9
    long = draw.normal(T, 2)
    long[0, 0], long[T - 1, 1], long[T - 2, 1] = 9.0, 8.0, 6.0
    yield long, T - 1                                # the best pair is a token too long, the second best fits
    greedy = draw.normal(T, 2)
    greedy[T - 1, 0], greedy[1, 0], greedy[2, 1], greedy[T - 1, 1] = 9.0, 8.5, 8.0, -9.0
    yield greedy, T                                  # not the best start
    whole = draw.normal(T, 2)
    whole[0, 0], whole[T - 1, 1] = 9.0, 9.0
    yield whole, T                                   # all of the window
    near = draw.normal(14, 2) - 300                  # 12 tokens of 13, by very little better than another pair
    near[1, 0], near[12, 1], near[4, 0], near[6, 1] = -200.0, -200.0, -200.0001, -200.0001
    yield near, 13
    barred = draw.normal(T, 2, scale=3) - 20
    barred[:3], barred[-1] = BARRED, BARRED
    yield barred, 2
    tiny = draw.normal(6, 2, scale=3) - 60           # by a ten-millionth better than another pair
    tiny[1, 0], tiny[2, 1], tiny[4, 0], tiny[5, 1] = -20.0 - 1e-7, -20.0, -20.0, -20.0
    yield tiny, 2
    zero = draw.normal(T, 2, scale=3) - 30
    zero[2, 0], zero[3, 1] = 4.0, -4.0
    yield zero, 3                                    # the largest sum is just 0
    yield 1e10 * (draw.normal(T, 2) - 9), 3          # and here far below it
    far = draw.normal(300, 2)
    far[190, 0], far[289, 1] = 9.0, 9.0              # 100 tokens
    yield far, 100
    late = far.copy()
    late[280] = 20.0, 20.0
    yield late, 3
    crowded = draw.normal(300, 2)                    # many better starts at the end, and better ends at the beginning
    crowded[200:, 0] += 50.0
    crowded[:100, 1] += 50.0
    crowded[140, 0], crowded[142, 1] = 40.0, 40.0
    yield crowded, 9
    under = draw.normal(6, 2)                        # every span has probability 0
    under[0], under[5], under[3, 0], under[4, 1] = [-3000.0, 2000.0], [2000.0, -3000.0], 9.0, 9.0
    yield under, 6


def best_span(scores, longest):
    """(start, end) of the largest sum; there are no equal ones."""
    pairs = [(i, j) for i in range(len(scores)) for j in range(i, min(i + longest, len(scores)))]
    return max(pairs, key=lambda pair: scores[pair[0], 0] + scores[pair[1], 1])


TEXTS = (
    "In 1912 she left  Paris for New York, N.Y.",
    "ß und Łódź — naïve Straße\tNr. 7",
    "  Ada",
    "She met him in Rome. ",
    "Zoe\u0308 ate\n\U0001f35dtwice.\nThen\n\nshe left.",
)


def answers(draw):
    """(text, places, first, start, end)"""
    for text in TEXTS:
        pattern = r"\s*\S+" if "\t" in text else r"\w+|[^\w\s]"      # some tokens begin with the space before a word
        places = [found.span() for found in re.finditer(pattern, text)]
        for first in (3, 4, 3 + int(draw.integers(0, 9))):           # behind [CLS], a question and [SEP]
            last = first + len(places) - 1
            inside = [tuple(sorted(pair)) for pair in draw.integers(first, last + 1, 4, 2).tolist()]
            ends = (first, last), (first, first), (last, last), (0, 0), (0, first), (first - 1, last)
            for start, end in (*inside, *ends):
                yield text, places, first, start, end
    yield "café", [(0, 3), (3, 4), (3, 4)], 3, 5, 5    # two tokens of one letter


def answer_text(text, places, first, start, end):
    return text[places[start - first][0] : places[end - first][1]] if start >= first else ""


