"""Can the label of a pair of segments be guessed from the wrong clues?

A pair's label (0 in order, 1 swapped; or 0 next, 1 not) should be learnt from what happens in A and in B. Each probe
here sees only a part of that: one word, the connectives, the lengths, the pieces at the edges. If such a probe predicts
labels above chance, on pairs that it has not seen, they leak. Two more probes measure the signal that is wanted: the
single words of A and B (linear), and every word of A with every word of B (bilinear).

All probes are one small model: z = (A U)·(B W) + A u + B w + c, with bags A and B of features, fitted by Adam.
"""

import math
from collections import Counter
from itertools import chain
from typing import NamedTuple

import numpy as np

from ..errors import DataError

# accuracy up to which a corpus counts as clean; on a small test set, chance may exceed it: see chance_bound
LIMITS = {"best single word": 0.55, "connectives only": 0.53, "length only": 0.53, "edges only": 0.53}
FEWEST_PAIRS = 40


class Finding(NamedTuple):
    """The result of one probe."""

    probe: str
    accuracy: float
    tested: int
    bound: float                                     # chance exceeds this once in a thousand times
    limit: float | None                              # above it: a leak; None if a signal is wanted
    detail: str = ""

    @property
    def leaks(self):
        return self.limit is not None and self.accuracy > self.limit


def audit(pairs, labels, connectives=(), names=None, seed=0, test_fraction=0.25):
    """Findings, one for each probe. A pair is (ids of A, ids of B); `connectives` are ids; names[id] is printed."""
    labels = check_pairs(pairs, labels)
    order = np.random.default_rng(seed).permutation(len(pairs))
    tested = max(1, round(test_fraction * len(pairs)))
    test, train = order[:tested], order[tested:]
    if len(np.unique(labels[train])) < 2:
        raise DataError(f"all {len(train)} pairs to train on have the same label; an audit needs both labels")
    chance = max(labels[test].mean(), 1 - labels[test].mean())
    bound = chance_bound(chance, tested)
    vocabulary = Vocabulary.of([pairs[i] for i in train])
    bags = vocabulary.bags(pairs)

    def finding(probe, accuracy, detail=""):
        limit = max(LIMITS[probe], bound) if probe in LIMITS else None
        return Finding(probe, accuracy, tested, bound, limit, detail)

    def probed(probe, a, b, **how):
        model = fit(a[train], b[train], labels[train], seed=seed, **how)
        return finding(probe, float((model.predict(a[test], b[test]) == labels[test]).mean()))

    accuracy, column = best_word(*bags, labels, train, test)
    word = vocabulary.ids[column] if len(vocabulary.ids) else None
    detail = "" if word is None else repr(names[word]) if names else f"piece {word}"
    findings = [finding("best single word", accuracy, detail)]
    if len(connectives):
        findings.append(probed("connectives only", *Vocabulary(np.unique(connectives)).bags(pairs)))
    findings.append(probed("length only", *length_features(pairs, train)))
    findings.append(probed("edges only", *edge_features(pairs, train)))
    findings.append(probed("linear on words", *bags, decay=0.3))
    findings.append(probed("bilinear A x B", *bags, rank=32))
    return findings


def check_pairs(pairs, labels):
    labels = np.asarray(labels)
    if len(pairs) != len(labels):
        raise DataError(f"there are {len(pairs)} pairs and {len(labels)} labels; an audit needs one label a pair")
    if len(pairs) < FEWEST_PAIRS:
        raise DataError(f"there are {len(pairs)} pairs; an audit needs at least {FEWEST_PAIRS}")
    if not np.isin(labels, (0, 1)).all():
        raise DataError(f"the labels hold {np.setdiff1d(labels, (0, 1))[0]}; they must be 0 or 1")
    for number, (a, b) in enumerate(pairs):
        if len(a) == 0 or len(b) == 0:
            raise DataError(f"pair {number} has an empty segment; both must hold a token")
    return labels.astype(np.int64)


def chance_bound(chance, tested, risk=1e-3):
    """The smallest accuracy that `tested` independent guesses, each right with p = chance, exceed with p <= risk."""
    if chance >= 1:
        return 1.0
    k = np.arange(tested + 1)
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, tested + 1)))])
    logs = factorials[-1] - factorials - factorials[::-1] + k * math.log(chance) + (tested - k) * math.log1p(-chance)
    tail = np.cumsum(np.exp(logs)[::-1])[::-1]       # tail[k]: at least k right
    return (int(np.argmax(np.append(tail, 0.0) <= risk)) - 1) / tested


# The features

class Vocabulary:
    """The token ids that are a probe's words, one for each column."""

    def __init__(self, ids):
        self.ids = np.asarray(ids, np.int64)

    @classmethod
    def of(cls, pairs, at_least=5, most=4000):
        """The ids that are frequent enough to learn from."""
        ids, counts = np.unique(np.concatenate([np.unique(segment) for pair in pairs for segment in pair]),
                                return_counts=True)  # fmt: skip
        frequent = np.argsort(-counts, kind="stable")[:most]
        return cls(np.sort(ids[frequent[counts[frequent] >= at_least]]))

    def bags(self, pairs):
        return tuple(self.bag([pair[side] for pair in pairs]) for side in (0, 1))

    def bag(self, segments):
        """(segments, words): 1 if the segment has the word."""
        bag = np.zeros((len(segments), len(self.ids)), np.uint8)
        if not len(self.ids):
            return bag
        rows = np.repeat(np.arange(len(segments)), [len(segment) for segment in segments])
        tokens = np.concatenate([np.asarray(segment, np.int64) for segment in segments])
        columns = np.searchsorted(self.ids, tokens).clip(max=len(self.ids) - 1)
        known = self.ids[columns] == tokens
        bag[rows[known], columns[known]] = 1
        return bag


def best_word(a, b, labels, train, test):
    """Guess from one word that is in A but not in B, or in B but not in A. The training pairs choose the word."""
    side = a.astype(np.int8) - b.astype(np.int8)     # +1 in A only, -1 in B only
    signs = 1 - 2 * labels                           # +1 in order
    if not side.shape[1]:
        return 0.5, 0
    agreement = signs[train] @ side[train].astype(np.int32)
    column = int(np.argmax(np.abs(agreement)))
    says = side[test, column] * np.sign(agreement[column])
    usual = np.sign(signs[train].sum()) or 1
    return float((np.where(says != 0, says, usual) == signs[test]).mean()), column


def length_features(pairs, train):
    """Both lengths and their difference, in ten steps each, so that a leak of any shape is found."""
    lengths = np.array([(len(a), len(b), len(a) - len(b)) for a, b in pairs])
    edges = np.quantile(lengths[train], np.linspace(0.1, 0.9, 9), axis=0)
    steps = lengths[:, None, :] > edges              # (pairs, 9, 3)
    features = steps.reshape(len(pairs), -1).astype(np.uint8)
    return features, np.zeros((len(pairs), 1), np.uint8)


def edge_features(pairs, train):
    """Does each segment begin and end like most segments, or within a sentence, like a truncated one?"""
    first, last = _edge_shares([pairs[i] for i in train])
    shares = np.array([[first.get(a[0], 0), first.get(b[0], 0), last.get(a[-1], 0), last.get(b[-1], 0)]
                       for a, b in pairs])  # fmt: skip
    usual = np.median(shares[train], axis=0)
    seldom = np.concatenate([shares < usual * fraction for fraction in (0.02, 0.1)], axis=1)
    return seldom.astype(np.uint8), np.zeros((len(pairs), 1), np.uint8)


def _edge_shares(pairs):
    """piece -> the share of its occurrences that are a segment's first piece, and the share that are a last one."""
    segments = [segment for pair in pairs for segment in pair]
    everywhere = Counter(chain.from_iterable(segments))
    counts = Counter(segment[0] for segment in segments), Counter(segment[-1] for segment in segments)
    return [{piece: count / everywhere[piece] for piece, count in count_of.items()} for count_of in counts]


# The model of all probes

class Model(NamedTuple):
    """The parameters of a probe."""

    U: np.ndarray                                    # (words, rank)
    W: np.ndarray                                    # (words, rank)
    u: np.ndarray                                    # (words,)
    w: np.ndarray                                    # (words,)
    c: np.ndarray                                    # ()

    def score(self, a, b):
        return ((a @ self.U) * (b @ self.W)).sum(1) + a @ self.u + b @ self.w + self.c

    def predict(self, a, b):
        return (self.score(a.astype(np.float32), b.astype(np.float32)) > 0).astype(np.int64)


def fit(a, b, labels, rank=0, epochs=20, batch=128, rate=0.03, decay=5.0, scale=0.1, seed=0):
    """Fit logistic regression on bags a and b, with `rank` products of the two beside the single words."""
    rng = np.random.default_rng(seed)
    start = [scale * rng.standard_normal((bag.shape[1], rank), dtype=np.float32) for bag in (a, b)]
    start += [np.zeros(bag.shape[1], np.float32) for bag in (a, b)] + [np.zeros((), np.float32)]
    model = Model(*start)
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in model]
    step, steps = 0, epochs * math.ceil(len(a) / batch)
    for _ in range(epochs):
        order = rng.permutation(len(a))
        for chosen in (order[i:i + batch] for i in range(0, len(a), batch)):
            step += 1
            grads = gradients(model, a[chosen].astype(np.float32), b[chosen].astype(np.float32), labels[chosen])
            adam(model, moments, grads, step, rate * (1 - (step - 1) / steps), decay)
    return model


def gradients(model, a, b, labels):
    """Gradients of the mean cross-entropy, in the order of the model's fields."""
    p, q = a @ model.U, b @ model.W
    z = (p * q).sum(1) + a @ model.u + b @ model.w + model.c
    dz = (0.5 + 0.5 * np.tanh(0.5 * z) - labels) / len(labels)
    dz = dz.astype(np.float32)
    return a.T @ (dz[:, None] * q), b.T @ (dz[:, None] * p), dz @ a, dz @ b, dz.sum()


def adam(model, moments, grads, step, rate, decay):
    for p, (m, v), g in zip(model, moments, grads, strict=True):
        m += 0.1 * (g - m)
        v += 0.01 * (g * g - v)
        p -= rate * (m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.99**step)) + 1e-8) + decay * p)
