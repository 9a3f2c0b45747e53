"""Which words a decision depends on: gradient × input, by the hand-written backward passes.

    share of token i = ds/dx_i · x_i            x_i: its vector as the first layer reads it, s: the score that decides

The shares' sum is exact: it is how fast s grows if all vectors grow by one factor. A share alone is what the tangent
at this text says of the token, and not what the model would say without it. The word embedding would be the wrong x:
the norm behind it removes its length, so that its share is nearly none whatever the word means.
"""

from typing import Any, NamedTuple

import numpy as np

from ..backend import array_module, to_device, to_host
from ..data.strip import shown_piece
from ..data.tokenizer import CLS, SEP
from ..model import PLAIN, Pair
from ..model.answer import AnswerScores, answer_backward, answer_forward
from ..model.tasks import classifier_backward, classifier_forward, span_backward, span_forward
from .objectives import positions_read


class WordShare(NamedTuple):
    """A word, and how much a decision depends on it."""

    word: str                                        # all pieces of it
    share: float
    kind: str                                        # "A" or "B" for its segment, or "special"


class Decision(NamedTuple):
    """A score, and how it depends on the scores of a head."""

    reads: str                                       # "pooled" or "hidden"
    forward: Any                                     # of what is read, and params: (score, cache)
    backward: Any                                    # of cache, and grads to add to: the gradient of what is read


def word_shares(model, tokenizer, sequence, decision):
    """WordShares in the order of the text."""
    shares, words = token_shares(model, sequence, decision), []
    for id, segment, share in zip(*sequence, shares.tolist(), strict=True):
        piece = shown_piece(tokenizer.pieces[id])
        special = id in (CLS, SEP)
        if words and not special and words[-1].kind == "AB"[segment] and not tokenizer.word_starts[id]:
            before = words.pop()
            words.append(WordShare(before.word + piece, before.share + share, before.kind))
        else:
            words.append(WordShare(piece, share, "special" if special else "AB"[segment]))
    return words


def token_shares(model, sequence, decision):
    """(T,) the share of each token in a decision's score."""
    pairs = model.pairs if model.compute.kernels == "plain" else PLAIN
    embeddings = Observed(pairs.embeddings)
    observed = type(model)(model.config, model.params, pairs=pairs._replace(embeddings=embeddings.pair))
    positions = positions_read(decision.reads, 1)
    encoding = observed.forward([sequence.input_ids], None, [sequence.token_type_ids], positions=positions)
    _, cache = decision.forward(getattr(encoding, decision.reads), model.params)
    grads = model.params.zeros_like()
    dx = decision.backward(cache, grads)
    encoding.backward(**{f"d{decision.reads}": dx}, into=grads)
    return to_host(embeddings.shares)[0]


class Observed:
    """The embeddings' pair, which notes how the vectors that it gives and their gradient go together.

    shares   (B, T), once backward was called
    """

    def __init__(self, pair):
        self.pair, self._pair, self.shares = Pair(self.forward, self.backward), pair, None

    def forward(self, input_ids, token_type_ids, ctx):
        x, cache = self._pair.forward(input_ids, token_type_ids, ctx)
        return x, (x.copy(), cache)

    def backward(self, dx, cache, ctx, grads):
        x, cache = cache

        self.shares = (dx * x).sum(axis=-1)
        self._pair.backward(dx, cache, ctx, grads)


# Decisions of one sequence.


def label_decision(best, other=None):
    """The score of a classifier's output over that of another one, or alone."""
    def forward(pooled, params):
        scores, cache = classifier_forward(pooled, params)
        return scores[0, best] - (0 if other is None else scores[0, other]), (scores.shape, cache)

    def backward(cache, grads):
        shape, cache = cache

        dscores = np.zeros(shape, grads.dtype)
        dscores[0, best] = 1
        if other is not None:
            dscores[0, other] = -1
        return classifier_backward(to_device(dscores, grads.device), cache, grads)

    return Decision("pooled", forward, backward)


def span_decision(barred, start, end):
    """The score of an answer in SQuAD 1.1: that of its start and that of its end."""
    def forward(hidden, params):
        scores, cache = span_forward(hidden, params, to_device(barred[None], params.device))
        return scores[0, start, 0] + scores[0, end, 1], (scores, cache)

    def backward(cache, grads):
        scores, cache = cache

        dscores = array_module(scores).zeros_like(scores)
        dscores[0, start, 0] = dscores[0, end, 1] = 1
        return span_backward(dscores, cache, grads)

    return Decision("hidden", forward, backward)


def answer_decision(barred, start, end, eps):
    """The score of an answer in SQuAD 2.0, where the end's score depends on the start."""
    def forward(hidden, params):
        starts = to_device(np.array([[start]]), params.device)
        scores, cache = answer_forward(hidden, params, to_device(barred[None], params.device), starts, eps)
        return scores.start[0, start] + scores.end[0, 0, end], (scores, cache)

    def backward(cache, grads):
        scores, cache = cache

        dscores = AnswerScores(*map(array_module(scores.start).zeros_like, scores))
        dscores.start[0, start] = dscores.end[0, 0, end] = 1
        return answer_backward(dscores, cache, grads)

    return Decision("hidden", forward, backward)
