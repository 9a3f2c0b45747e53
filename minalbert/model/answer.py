"""The head for SQuAD 2.0, as released: the end depends on the start, and a question may have no answer.

    start          s_i = w·h_i + b                                                          (B, T)
    end            e_ji = w·norm(tanh([h_i h_j] W + b)) + b, after each start j             (B, S, T)
    unanswerable   u = w·dropout(tanh([Σ_i p_i h_i  h_0] W + b)), p = softmax(s)            (B,)
    loss           ½ (cross-entropy of the start + that of the end after the true start + that of u)

Where no answer may begin or end, s and e are -10³⁰. The head has 4 H² + 7 H + 2 weights.
"""

from typing import Any, NamedTuple

from ..backend import array_module
from ..layers import (
    binary_cross_entropy_backward,
    binary_cross_entropy_forward,
    dropout_backward,
    dropout_forward,
    gather_backward,
    gather_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    softmax_backward,
    softmax_forward,
    tanh_backward,
    tanh_forward,
)
from ..params import LINEAR, NORM
from .gradients import add_to
from .tasks import BARRED, CLASSIFIER_SITE, label_loss_backward, label_loss_forward


class AnswerScores(NamedTuple):
    start: Any                                       # (B, T)
    end: Any                                         # (B, S, T)
    unanswerable: Any                                # (B,)


def answer_forward(hidden, params, barred, starts, eps=1e-12, rate=0.0, key=None):
    """
    barred   (B, T) true where no answer may begin or end: in the question, separators, padding; [CLS] stands for none
    starts   (B, S) the starts after which an end is looked for: in training the true one
    """
    start, begin = start_forward(hidden, params, ~barred)
    firsts, gather = gather_forward(hidden, starts)                 # (B, S, H)
    end, after = end_forward(hidden, firsts, params, ~barred[:, None], eps)
    unanswerable, possible = unanswerable_forward(hidden, start, params, rate, key)
    return AnswerScores(start, end, unanswerable), (begin, gather, after, possible)


def answer_backward(dscores, cache, grads):
    begin, gather, after, possible = cache

    dhidden, dstart = unanswerable_backward(dscores.unanswerable, possible, grads)
    dmore, dfirsts = end_backward(dscores.end, after, grads)
    dhidden += dmore
    dhidden += gather_backward(dfirsts, gather)[0]
    dhidden += start_backward(dscores.start + dstart, begin, grads)
    return dhidden


def start_forward(hidden, params, allowed):
    scores, dense = linear_forward(hidden, params["answer.start.w"], params["answer.start.b"])
    return scores[..., 0] * allowed + BARRED * ~allowed, (dense, allowed)


def start_backward(dscores, cache, grads):
    dense, allowed = cache

    dhidden, *ddense = linear_backward((dscores * allowed)[..., None], dense)
    add_to(grads, "answer.start", LINEAR, ddense)
    return dhidden


def end_forward(hidden, firsts, params, allowed, eps):
    """hidden (B, T, H), and that of S starts (B, S, H) -> scores (B, S, T)

    w has 2 H rows, for each position's hidden state and that of the start beside it: the products are made apart.
    """
    xp, H = array_module(hidden), hidden.shape[-1]
    w, b = params["answer.end.w"], params["answer.end.b"]
    here, place = linear_forward(hidden, w[:H], b)                  # (B, T, H)
    there, first = linear_forward(firsts, w[H:], xp.zeros_like(b))  # (B, S, H)
    x, tanh = tanh_forward(here[:, None] + there[:, :, None])       # (B, S, T, H)
    x, norm = layer_norm_forward(x, params["answer.end.norm.gain"], params["answer.end.norm.bias"], eps)
    scores, dense = linear_forward(x, params["answer.end.score.w"], params["answer.end.score.b"])
    return scores[..., 0] * allowed + BARRED * ~allowed, (place, first, tanh, norm, dense, allowed)


def end_backward(dscores, cache, grads):
    place, first, tanh, norm, dense, allowed = cache

    dx, *ddense = linear_backward((dscores * allowed)[..., None], dense)
    add_to(grads, "answer.end.score", LINEAR, ddense)
    dx, *dnorm = layer_norm_backward(dx, norm)
    add_to(grads, "answer.end", NORM, dnorm)
    (dx,) = tanh_backward(dx, tanh)
    dfirsts, dw_there, _ = linear_backward(dx.sum(axis=2), first)
    dhidden, dw_here, db = linear_backward(dx.sum(axis=1), place)
    add_to(grads, "answer.end", LINEAR, [array_module(dx).concatenate([dw_here, dw_there]), db])
    return dhidden, dfirsts


def unanswerable_forward(hidden, start, params, rate, key):
    """hidden, and start scores (B, T) -> a score (B,) that there is no answer

    It is read from [CLS], and from the mean of hidden that start's probabilities weigh.
    """
    xp = array_module(hidden)
    probs, softmax = softmax_forward(start)                         # (B, T)
    mean = (probs[:, None] @ hidden)[:, 0]                          # (B, H)
    x = xp.concatenate([mean, hidden[:, 0]], axis=-1)
    x, dense = linear_forward(x, params["answer.unanswerable.w"], params["answer.unanswerable.b"])
    x, tanh = tanh_forward(x)
    x, dropout = dropout_forward(x, rate, key and key.at(site=CLASSIFIER_SITE))
    w = params["answer.unanswerable.score.w"]
    scores, last = linear_forward(x, w, xp.zeros(1, w.dtype))       # released without a bias
    return scores[:, 0], (hidden, probs, softmax, dense, tanh, dropout, last)


def unanswerable_backward(dscores, cache, grads):
    hidden, probs, softmax, dense, tanh, dropout, last = cache

    dx, dw, _ = linear_backward(dscores[:, None], last)
    add_to(grads, "answer.unanswerable.score", ["w"], [dw])
    (dx,) = dropout_backward(dx, dropout)
    (dx,) = tanh_backward(dx, tanh)
    dx, *ddense = linear_backward(dx, dense)
    add_to(grads, "answer.unanswerable", LINEAR, ddense)
    dmean, dfirst = dx[:, : hidden.shape[-1]], dx[:, hidden.shape[-1] :]
    dhidden = probs[..., None] * dmean[:, None]
    dhidden[:, 0] += dfirst
    (dstart,) = softmax_backward((hidden @ dmean[..., None])[..., 0], softmax)
    return dhidden, dstart


def answer_loss_forward(scores, spans, impossible, total=None):
    """spans (B, 2): start and end, both 0 where there is no answer; impossible (B,): 1 there"""
    start, begin = label_loss_forward(scores.start, spans[:, 0], total)
    end, after = label_loss_forward(scores.end[:, 0], spans[:, 1], total)
    unanswerable, possible = binary_cross_entropy_forward(scores.unanswerable, impossible, total)
    return (start + end + unanswerable) / 2, (begin, after, possible)


def answer_loss_backward(dloss, cache):
    begin, after, possible = cache

    dstart, dend = label_loss_backward(dloss / 2, begin), label_loss_backward(dloss / 2, after)
    return AnswerScores(dstart, dend[:, None], binary_cross_entropy_backward(dloss / 2, possible)[0])
