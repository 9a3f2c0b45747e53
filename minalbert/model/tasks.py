"""Heads for tasks, and their losses: what fine-tuning puts on the encoder's output.

    classifier   scores (B, K) of pooled: one label of K; for K = 1 a number; K scores of a question's K choices
                 scores (B, T, K) of hidden: a label for each token
    span         scores (B, T, 2) of hidden: where an answer begins and ends that is always there (SQuAD 1.1)

A head is a pair, `scores, cache = forward(x, params, ...)` and `dx = backward(dscores, cache, grads)`, which adds to
the gradients of its own tensors. A loss is a pair over scores and labels. Both stand on `Albert.forward`:

    encoding = model.forward(*inputs, dropout=key, positions=[[]] * B)
    scores, head = classifier_forward(encoding.pooled, model.params, rate, key)
    loss, cache = label_loss_forward(scores, labels)
    dpooled = classifier_backward(label_loss_backward(1.0, cache), head, grads)
    encoding.backward(dpooled=dpooled, into=grads)
"""

from ..backend import array_module
from ..layers import (
    cross_entropy_backward,
    cross_entropy_forward,
    dropout_backward,
    dropout_forward,
    linear_backward,
    linear_forward,
    squared_error_backward,
    squared_error_forward,
)
from ..params import LINEAR
from .gradients import add_to

CLASSIFIER_SITE = 4                                  # where the head drops numbers; a layer has the sites 1 to 3
BARRED = -1e30                                       # the score of a position where no answer may begin or end


def classifier_forward(x, params, rate=0.0, key=None):
    x, dropout = dropout_forward(x, rate, key and key.at(site=CLASSIFIER_SITE))
    scores, dense = linear_forward(x, params["classifier.w"], params["classifier.b"])
    return scores, (dropout, dense)


def classifier_backward(dscores, cache, grads):
    dropout, dense = cache

    dx, *ddense = linear_backward(dscores, dense)
    add_to(grads, "classifier", LINEAR, ddense)
    (dx,) = dropout_backward(dx, dropout)
    return dx


def span_forward(hidden, params, barred):
    """hidden (B, T, H) -> scores (B, T, 2): that the answer begins, and that it ends here; not where it is barred"""
    scores, dense = linear_forward(hidden, params["span.w"], params["span.b"])
    allowed = ~barred[..., None]                     # (B, T, 1)
    return scores * allowed + BARRED * ~allowed, (dense, allowed)


def span_backward(dscores, cache, grads):
    dense, allowed = cache

    dhidden, *ddense = linear_backward(dscores * allowed, dense)
    add_to(grads, "span", LINEAR, ddense)
    return dhidden


# Losses: over scores and labels, each a mean over what has a label. `total` replaces the number of these where the
# batch is a part of a larger one.


def label_loss_forward(scores, labels, total=None):
    """scores (..., K), labels (...): the right one's number, or negative where there is none, as for padding"""
    there = labels >= 0
    return cross_entropy_forward(scores, labels * there, there.astype(scores.real.dtype), total)


def label_loss_backward(dloss, cache):
    return cross_entropy_backward(dloss, cache)[0]


def number_loss_forward(scores, labels, total=None):
    """scores (B, 1), labels (B,): numbers"""
    return squared_error_forward(scores[:, 0], labels, total)


def number_loss_backward(dloss, cache):
    return squared_error_backward(dloss, cache)[0][:, None]


def span_loss_forward(scores, spans, total=None):
    """scores (B, T, 2), spans (B, 2): start and end; those outside of the text count for nothing"""
    T = scores.shape[1]
    labels = array_module(scores).where((spans >= 0) & (spans < T), spans, -1)
    losses = [label_loss_forward(scores[..., i], labels[:, i], total) for i in (0, 1)]
    return (losses[0][0] + losses[1][0]) / 2, tuple(cache for _, cache in losses)


def span_loss_backward(dloss, cache):
    dscores = [label_loss_backward(dloss / 2, one) for one in cache]
    return array_module(dscores[0]).stack(dscores, axis=-1)
