"""The objectives of tasks: which heads a model has, the loss of a batch, and the scores of a prediction.

    objective         a model's heads            reads      labels of a batch
    Labels(K)         pooler, classifier of K    pooled     (B,) classes
    Numbers()         pooler, classifier of 1    pooled     (B,) numbers
    Choices(C)        pooler, classifier of 1    pooled     (B / C,) which of C neighbouring sequences is right
    TokenLabels(K)    classifier of K            hidden     (B, T) classes, negative where there is none
    AnswerSpans()     span                       hidden     Answers
    MaybeAnswers()    answer                     hidden     Answers, some of them impossible

An objective has two functions over what it reads, a pair like all others:

    loss, cache = objective.forward(x, labels, ctx)
    dx = objective.backward(dloss, cache, grads)

`objective.count(labels)` is the number that a loss is a mean of. Where a batch is a slice of a larger one, forward is
given the larger one's as `total`.
"""

from typing import Any, NamedTuple

import numpy as np

from ..backend import DropoutKey
from ..model import answer, tasks


class HeadContext(NamedTuple):
    """What a head is given beside its input."""

    params: Any
    config: Any                                      # AlbertConfig
    rate: float = 0.0                                # of the head's own dropout
    key: DropoutKey | None = None


class Answers(NamedTuple):
    """Where the answers lie in B windows of T tokens."""

    spans: Any                                       # (B, 2) first and last token; 0, 0 where there is no answer
    barred: Any                                      # (B, T) true where none may begin or end, such as in padding
    impossible: Any = None                           # (B,) 1 where there is no answer


def positions_read(reads, size):
    """The positions at which so many sequences' hidden states are read: none where pooled is read; None: all."""
    return np.zeros((size, 0), int) if reads == "pooled" else None


class Classifier:
    """An objective with a classifier. Its subclasses differ in which scores belong together."""

    reads, heads, outputs = "pooled", ("pooler", "classifier"), 2

    def forward(self, x, labels, ctx, total=None):
        scores, head = tasks.classifier_forward(x, ctx.params, ctx.rate, ctx.key)
        loss, cache = self.loss_forward(self.together(scores), labels, total)
        return loss, (head, cache, scores.shape)

    def backward(self, dloss, cache, grads):
        head, cache, shape = cache

        dscores = self.loss_backward(dloss, cache).reshape(shape)
        return tasks.classifier_backward(dscores, head, grads)

    def count(self, labels):
        return float((labels >= 0).sum())

    def scores(self, x, ctx):
        return self.together(tasks.classifier_forward(x, ctx.params)[0])

    def together(self, scores):
        return scores

    loss_forward = staticmethod(tasks.label_loss_forward)
    loss_backward = staticmethod(tasks.label_loss_backward)


class Labels(Classifier):
    """Cross-entropy of one label for each sequence."""

    def __init__(self, outputs):
        self.outputs = outputs


class TokenLabels(Labels):
    """Cross-entropy of a label for each word; negative labels have no loss."""

    reads, heads = "hidden", ("classifier",)


class Numbers(Classifier):
    """Squared distance of one number for each sequence."""

    outputs = 1

    def count(self, labels):
        return float(len(labels))

    loss_forward = staticmethod(tasks.number_loss_forward)
    loss_backward = staticmethod(tasks.number_loss_backward)


class Choices(Classifier):
    """Cross-entropy over neighbouring sequences, of which one is right."""

    outputs = 1

    def __init__(self, choices):
        self.choices = choices

    def together(self, scores):
        return scores.reshape(-1, self.choices)


class AnswerSpans:
    """Cross-entropy of an answer's first and of its last token, as in SQuAD 1.1."""

    reads, heads, outputs = "hidden", ("span",), 2

    def count(self, labels):
        return float(len(labels.spans))

    def forward(self, x, labels, ctx, total=None):
        scores, head = tasks.span_forward(x, ctx.params, labels.barred)
        loss, cache = tasks.span_loss_forward(scores, labels.spans, total)
        return loss, (head, cache)

    def backward(self, dloss, cache, grads):
        head, cache = cache

        return tasks.span_backward(tasks.span_loss_backward(dloss, cache), head, grads)

    def scores(self, x, ctx, barred):
        return tasks.span_forward(x, ctx.params, barred)[0]


class MaybeAnswers:
    """Cross-entropy of first and last token, and of whether there is an answer, as in SQuAD 2.0."""

    reads, heads, outputs = "hidden", ("answer",), 2

    def count(self, labels):
        return float(len(labels.spans))

    def forward(self, x, labels, ctx, total=None):
        starts, eps = labels.spans[:, :1], ctx.config.layer_norm_eps
        scores, head = answer.answer_forward(x, ctx.params, labels.barred, starts, eps, ctx.rate, ctx.key)
        loss, cache = answer.answer_loss_forward(scores, labels.spans, labels.impossible, total)
        return loss, (head, cache)

    def backward(self, dloss, cache, grads):
        head, cache = cache

        return answer.answer_backward(answer.answer_loss_backward(dloss, cache), head, grads)
