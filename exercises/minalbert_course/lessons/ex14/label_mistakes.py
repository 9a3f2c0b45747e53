"""What known mistakes make of exercise 14's labels and losses."""

import numpy as np

from minalbert.layers import cross_entropy_backward, cross_entropy_forward, log_softmax, softmax

from ..ex09.loss_mistakes import NO_SIGN

WHOLE = "where one label of a sequence is missing, its others are left out, too"
READ = "labels are read as numbers; the place of each in names counts"


def other_orders(labels, names):
    """{mistake: the numbers that it gives}"""
    there = [label for label in labels if label is not None]
    orders = {
        "the names are sorted by the alphabet; their order in the list counts": sorted(names),
        "names are numbered as they come in labels; their order in names counts": list(dict.fromkeys(there)),
        "the labels that come are sorted; the order of names counts": sorted(set(there)),
        "the order of names is reversed": names[::-1],
        "names are numbered from 1; they must be from 0": ["", *names],
    }
    found = {says: [-1 if label is None else order.index(label) for label in labels] for says, order in orders.items()}
    right = [-1 if label is None else names.index(label) for label in labels]
    if all(name.isdigit() for name in names):
        found = {READ: [-1 if label is None else int(label) for label in labels]} | found
    found["a name in which the label stands is taken; it must be the label itself"] = [
        -1 if label is None else next(k for k, name in enumerate(names) if label in name) for label in labels]
    for kind in (np.int8, np.uint8):
        found[f"the numbers are kept as {kind.__name__}, which is too small for them"] = (
            np.array(right).astype(kind).tolist())  # fmt: skip
    if "" not in names:                              # an empty name has a cause of its own, AS_IT_IS
        found["found by binary search, as np.searchsorted does, which needs sorted names; these are not"] = [
            -1 if label is None else int(np.searchsorted(names, label)) for label in labels]
    found["None is numbered 0, which is the first name; it must be -1"] = [max(number, 0) for number in right]
    found["None is left out; it must be -1"] = [number for number in right if number >= 0]
    return found


COMMON = "of negative labels -1 and -100 alone are taken for none; every negative one is"


def label_losses(scores, labels):
    there = labels >= 0
    whole = there & there.all(axis=-1, keepdims=True)
    count, log_p = there.sum(), log_softmax(scores)
    each = -np.take_along_axis(log_p, (labels * there)[..., None], axis=-1)[..., 0]
    last = -np.take_along_axis(log_p, np.where(there, labels, -1)[..., None] % scores.shape[-1], axis=-1)[..., 0]
    wrapped = -np.take_along_axis(log_p, labels[..., None] % scores.shape[-1], axis=-1)[..., 0]
    found = {
        "examples without a label count as if they had label 0": each.mean(),
        "examples without a label count as if they had the last label: an index of -1 is the last": last.mean(),
        "the divisor is the number of all examples; it must be that of those with a label": (each * there).mean(),
        "the sum is not divided by the number of labels": (each * there).sum(),
        "the sign is wrong": -(each * there).sum() / count,
        "examples with label 0 are left out; 0 is a label like others":
            each[labels > 0].sum() / max((labels > 0).sum(), 1),
        "the probability, not its logarithm": -(np.exp(-each) * there).sum() / count,
        "divided by the number of labels twice": (each * there).sum() / count**2,
        "equal losses count once": np.unique(each[there]).mean(),
        "losses of 0 are not counted": (each * there).sum() / max(np.count_nonzero(each * there), 1),
        WHOLE: (each * whole).sum() / max(whole.sum(), 1),
        COMMON: wrapped[(labels != -1) & (labels != -100)].mean(),
    }  # fmt: skip
    return {says: np.atleast_1d(value) for says, value in found.items()}


def label_gradients(scores, labels, dloss):
    there, K = labels >= 0, scores.shape[-1]
    whole = there & there.all(axis=-1, keepdims=True)
    count, onehot = there.sum(), np.eye(K)[labels * there]
    step, common = dloss * (softmax(scores) - onehot), (labels != -1) & (labels != -100)
    return without_sign(dloss, step * there[..., None] / max(count, 1)) | {
        "examples without a label have a gradient, as if they had label 0": step / labels.size,
        "examples without a label have a gradient; it must be 0": step / count,
        "the divisor is the number of all examples; it must be that of those with a label":
            step * there[..., None] / labels.size,
        "not divided by the number of labels": step * there[..., None],
        "dloss is not used": step * there[..., None] / count / (dloss or 1),
        "dloss is used twice": step * there[..., None] / count * dloss,
        "examples with label 0 are left out; 0 is a label like others":
            step * (labels > 0)[..., None] / max((labels > 0).sum(), 1),
        "divided by the number of labels twice": step * there[..., None] / count**2,
        WHOLE: step * whole[..., None] / max(whole.sum(), 1),
        COMMON: dloss * (softmax(scores) - np.eye(K)[labels % K]) * common[..., None] / max(common.sum(), 1),
    }  # fmt: skip


def without_sign(dloss, right):
    """A gradient with the other sign, where dloss is negative: otherwise a wrong sign was seen before."""
    return {NO_SIGN: -right} if dloss < 0 else {}


def number_losses(scores, targets):
    error = scores[:, 0] - targets
    found = {
        "(B, 1) - (B,) is (B, B): every score is compared with every target": ((scores - targets) ** 2).mean(),
        "(B, 1) - (B,) is (B, B): every score is compared with every target, and the sum divided by B":
            ((scores - targets) ** 2).sum() / len(error),
        "the sum is not divided by B": (error**2).sum(),
        "half of the mean: there is no ½ in this loss": (error**2).mean() / 2,
        "the absolute error; it must be squared": np.abs(error).mean(),
        "the root of the mean is taken": np.sqrt((error**2).mean()),
        "the errors are added before they are squared": error.sum() ** 2 / len(error),
        "the mean error is squared; each error must be": error.mean() ** 2,
        "the errors are not squared": error.mean(),
        "score + target; it must be the difference": ((scores[:, 0] + targets) ** 2).mean(),
        "the targets are not used": (scores**2).mean(),
        "scores are cut to 0 to 5; a score may be any number": ((scores[:, 0].clip(0, 5) - targets) ** 2).mean(),
        "the targets are cut to whole numbers": ((scores[:, 0] - np.trunc(targets)) ** 2).mean(),
        "the targets are rounded to whole numbers": ((scores[:, 0] - np.round(targets)) ** 2).mean(),
        "the differences are cut to whole numbers, as those of targets are": (np.trunc(error) ** 2).mean(),
        "errors of 0 are not counted": (error**2).sum() / max(np.count_nonzero(error), 1),
        "equal errors count once": (np.unique(error) ** 2).mean(),
    }  # fmt: skip
    return {says: np.atleast_1d(value) for says, value in found.items()}


def number_gradients(scores, targets, dloss):
    error = scores - targets[:, None]
    B = len(error)
    return without_sign(dloss, 2 * dloss * error / B) | {
        "the 2 of the square's derivative is missing": dloss * error / B,
        "not divided by B": 2 * dloss * error,
        "dloss is not used": 2 * error / B,
        "dloss is used twice": 2 * dloss**2 * error / B,
        "target - score; it must be score - target": -2 * dloss * error / B,
        "the error is squared here, too": 2 * dloss * error**2 / B,
        "scores are cut to 0 to 5; a score may be any number": 2 * dloss * (scores.clip(0, 5) - targets[:, None]) / B,
        "the targets are cut to whole numbers": 2 * dloss * (scores - np.trunc(targets)[:, None]) / B,
        "the targets are rounded to whole numbers": 2 * dloss * (scores - np.round(targets)[:, None]) / B,
        "the differences are cut to whole numbers, as those of targets are": 2 * dloss * np.trunc(error) / B,
        "errors of 0 are not counted": 2 * dloss * error / max(np.count_nonzero(error), 1),
        "every score is compared with every target: (B, 1) - (B,) is (B, B)":
            2 * dloss * (scores - targets).mean(axis=1, keepdims=True) / B,
    }  # fmt: skip


def wrong_rows(scores, labels):
    """{mistake: (scores in rows of C, whether this is a way back, too: rows -> a column)}"""
    B, column = len(labels), scores[:, 0]
    C = len(column) // B
    return {
        "the scores of a question stand B apart; they must follow one another":
            (column.reshape(C, B).T, lambda rows: rows.T.reshape(-1, 1)),
        "each question's scores are in reverse order":
            (column.reshape(B, C)[:, ::-1], lambda rows: rows[:, ::-1].reshape(-1, 1)),
        "the questions are in reverse order":
            (column.reshape(B, C)[::-1], lambda rows: rows[::-1].reshape(-1, 1)),
    }  # fmt: skip


def choice_losses(scores, labels):
    there = labels >= 0
    taken, weights, rows = labels * there, there * 1.0, scores.reshape(len(labels), -1)
    found = {says: cross_entropy_forward(wrong, taken, weights)[0]
             for says, (wrong, _) in wrong_rows(scores, labels).items()}  # fmt: skip
    log_p = log_softmax(scores[:, 0]).reshape(rows.shape)
    found["softmax is over all sequences of the batch; it must be over a question's C"] = (
        -(log_p[np.arange(len(rows)), taken] * weights).sum() / max(weights.sum(), 1))  # fmt: skip
    log_p = log_softmax(rows.T).T
    found["softmax is over the questions; it must be over a question's C sequences"] = (
        -(log_p[np.arange(len(rows)), taken] * weights).sum() / max(weights.sum(), 1))  # fmt: skip
    found["the sum over questions is divided by the number of sequences"] = (
        cross_entropy_forward(rows, taken, weights)[0] * len(rows) / len(scores))  # fmt: skip
    return {says: np.atleast_1d(value) for says, value in found.items()} | label_losses(rows, labels)


def choice_gradients(scores, labels, dloss):
    def gradient(rows):
        there = labels >= 0
        _, cache = cross_entropy_forward(rows, labels * there, there * 1.0)
        return cross_entropy_backward(dloss, cache)[0]

    found, rows = {}, scores.reshape(len(labels), -1)
    for says, (wrong, back) in wrong_rows(scores, labels).items():
        found |= {says: back(gradient(wrong)), f"on the way back {says}": back(gradient(rows))}
    return found | {says: step.reshape(-1, 1) for says, step in label_gradients(rows, labels, dloss).items()}
