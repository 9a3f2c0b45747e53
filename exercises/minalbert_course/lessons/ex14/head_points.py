"""Exercise 14's right answers, and the numbers that it is marked with."""

import numpy as np

from minalbert.layers import linear_backward, linear_forward, tanh_backward
from minalbert.model.heads import pooler_forward
from minalbert.model.tasks import label_loss_backward, label_loss_forward, number_loss_forward

from ..corners import Corner, upstream

PLACES = (
    Corner(L=1, B=1, T=1, H=1, K=1),
    Corner("tiny", L=2, B=1, T=3, H=4, K=1),
    Corner("large", L=1, B=3, T=2, H=2, K=4),
    Corner("zero", L=3, B=2, T=1, H=5, K=2),
    Corner(L=3, B=3, T=3, H=3, K=3),
    Corner(L=14, B=2, T=11, H=4, K=13),
    Corner(L=2, B=70, T=2, H=40, K=2),
)


def head_forward(layers, pooler_w, pooler_b, w, b, kept, rate):
    pooled, pooler = pooler_forward(layers[-1][:, 0], {"pooler.w": pooler_w, "pooler.b": pooler_b})
    factor = 1.0 if kept is None else kept * (1 / (1 - rate))
    scores, dense = linear_forward(pooled * factor, w, b)
    return scores, (layers.shape, factor, pooler, dense)


def head_backward(dscores, cache):
    shape, factor, (pooler, tanh), dense = cache
    dx, dw, db = linear_backward(dscores, dense)
    dfirst, dpooler_w, dpooler_b = linear_backward(tanh_backward(dx * factor, tanh)[0], pooler)
    dlayers = np.zeros(shape)
    dlayers[-1][:, 0] = dfirst
    return dlayers, dpooler_w, dpooler_b, dw, db, None, None


def choice_loss_forward(scores, labels):
    loss, cache = label_loss_forward(scores.reshape(len(labels), -1), labels)
    return loss, (cache, scores.shape)


def choice_loss_backward(dloss, cache):
    return label_loss_backward(dloss, cache[0]).reshape(cache[1]), None


def number_loss(scores, targets):
    return number_loss_forward(scores, targets)


TASKS = (
    ["contradiction", "entailment", "neutral"],
    ["not_entailment", "entailment"],
    ["neutral", "entailment", "contradiction"],
    ["1", "0"],
    ["fixed", "zeta", "alpha", "mid", "Beta"],
    ["it", "IT", "yes"],
    ["alone"],
)


def named(draw):
    """(labels, names)"""
    for names in (*TASKS, ["", "no", " no"], [f"name {i}" for i in draw.rng.permutation(11)]):
        every = [names[i] for i in draw.integers(0, len(names), 9)]
        for labels in (every, [names[-1], None, *every[:4], None], names[::-1], names, every[:1], [names[-1]]):
            yield labels, names
    yield [None, None], names
    names = [f"name {i}" for i in range(300)]        # more than a byte can count
    yield [names[i] for i in (299, 0, 130, 256)], names


def numbers_of(labels, names):
    numbers = {name: number for number, name in enumerate(names)} | {None: -1}
    return np.array([numbers[label] for label in labels])


def point(draw, alike=False, training=True):
    """The arguments of head_forward, and dscores. alike: all layers return the same, so that it is all one which is
    read."""
    L, B, T, H, K = draw.sizes(L=3, B=5, T=4, H=6, K=2, least=2)
    large = getattr(draw, "corner", None) and draw.corner.kind == "large"
    calm = draw.draw if large else draw              # float32 loses 1 - pooled² where pooled is near 1
    layers = calm.normal(L, B, T, H)
    if alike:
        layers = np.repeat(layers[-1:], L, axis=0)
    rate = 0.25 + draw.number / 32
    kept = (draw.uniform(0, 1, B, H) >= rate).astype(float)
    kept.flat[0], kept.flat[-1] = 0.0, 1.0
    given = layers, calm.matrix(H, H), calm.normal(H, scale=0.5), draw.matrix(H, K), draw.gain(K)
    return (*given, kept if training else None, rate), upstream(draw, B, K)


def labelled(draw):
    """(scores, labels): one a sequence, one a token; with and without gaps, one alone, none."""
    B, T, K = draw.sizes(B=5, T=6, K=3, least=3)
    scores, labels = draw.normal(B, K, scale=2), draw.integers(0, K, B)
    labels[:2] = 0, K - 1
    yield scores, labels
    gaps = labels.copy()
    gaps[2:] = -1
    yield scores, gaps
    each = np.where(draw.padding(B, T) > 0, draw.integers(0, K, B, T), -100)
    yield draw.normal(B, T, K), each
    yield scores[:1], labels[:1]
    yield 3000 + np.round(64 * scores) / 64, labels
    yield draw.normal(B, 1), 0 * labels
    yield draw.normal(2, 13), np.array([-1, 12])
    yield draw.normal(4, 9), np.array([-7, 8, -2, 3])
    yield scores[1:2], labels[1:2]
    yield draw.normal(4, 4), np.array([2, -1, 0, 3])  # as many examples as names
    yield draw.normal(3, 3, 3), np.array([[0, 2, 1], [1, -1, -1], [2, 0, -1]])
    twice = -15000 + np.round(64 * draw.normal(3, 4)) / 64   # e to each is 0; two examples are equal
    twice[2, 3] = -10000                             # and one has a loss of 0
    yield twice[[0, 0, 1, 2]], np.array([1, 1, 0, 3])


def rated(draw):
    """(scores, targets) of numbers: several, one, large ones, those that are right, many, whole numbers."""
    (B,) = draw.sizes(B=5, least=3)
    scores, targets = draw.normal(B, 1, scale=2), draw.uniform(0, 5, B)
    yield scores, targets
    yield scores[:1], targets[:1]
    yield 30 * scores, targets
    yield targets[:, None].copy(), targets
    yield draw.normal(12, 1), draw.normal(12)
    yield scores, np.arange(len(scores))             # whole numbers are numbers, too
    targets = np.array([2.0, 3.0, 1.0, 2.0])         # one is right, and two errors are equal
    yield np.array([[2.0], [3.5], [1.5], [-1.0]]), targets


def questions(draw):
    """(scores, labels) of choices: as usual, as many questions as choices, one question, one choice, one unlabelled."""
    B, C = draw.sizes(B=3, C=4, least=2)
    for questions, choices in ((B, C), (4, 4), (1, 5), (3, 1), (11, 2)):
        labels = draw.integers(0, choices, questions)
        labels[-1] = choices - 1
        yield draw.normal(questions * choices, 1, scale=2), labels
    yield draw.normal(4 * C, 1), np.array([C - 1, -1, 0, -100])
    yield draw.normal(12, 1, scale=2), np.array([0, 1, 1])    # no last one is right
    column = np.array([[0.0], [50.0], [1.0], [2.0], [1.0], [2.0]])     # a loss of 0, and two that are equal
    yield column, np.array([1, 0, 0])
