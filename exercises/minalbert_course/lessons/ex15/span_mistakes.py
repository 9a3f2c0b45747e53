"""What known mistakes make of exercise 15's scores, losses, spans and texts."""

import unicodedata

import numpy as np

from minalbert.layers import cross_entropy_backward, cross_entropy_forward, log_softmax

from ..ex09.loss_mistakes import NO_SIGN


def wrong_bars(scores, barred, right):
    """Why the scores of barred places are not what they must be; right: those of all places, were none barred."""
    mine = scores[barred]
    if (scores[~barred] == -1e30).any():
        return "the places that are not barred are barred"
    if np.isneginf(mine).all():
        return "-inf: where all tokens are barred softmax would give NaN; it must be -1e30"
    if np.allclose(mine, right[barred]):
        return "barred places have their scores; they must have -1e30"
    if not mine.any():
        return "barred places have 0, which is a score like others; they must have -1e30"
    if np.ptp(mine) <= 1e-6 * np.abs(mine).max() and mine.max() < -100:
        return f"barred places have {mine.flat[0]:g}; it must be -1e30"
    if np.allclose(mine, right[barred] - 1e30):
        return "-1e30 is added to the scores; it must stand in their place"
    if (mine[:, 0] == -1e30).all() or (mine[:, 1] == -1e30).all():
        return "only one of the two columns is barred; no answer begins there, and none ends there"
    return None


def wrong_scores(hidden, w, b, barred):
    right = hidden @ w
    found = {
        "b is not added": right,
        "b is subtracted": right - b,
        "start and end have changed places": (right + b)[..., ::-1],
        "both columns are the start's": (right + b)[..., :1].repeat(2, axis=-1),
        "all tokens have the scores of the first": np.broadcast_to((right + b)[:, :1], right.shape),
        "all windows have the scores of the first": np.broadcast_to((right + b)[:1], right.shape),
    }
    return {says: np.where(barred[..., None], 0.0, array) for says, array in found.items()}


def wrong_gradients(given, dscores):
    """{name of a gradient: {mistake: what it makes}}"""
    hidden, w, _, barred = given
    B, T, _ = hidden.shape
    stopped = np.where(barred[..., None], 0.0, dscores)
    open_ = "barred places have a gradient; their score does not depend on hidden, w and b"
    turned = np.where(barred[..., None], dscores, 0.0)
    only = "the barred places alone have a gradient; it must be the others"
    dw, db = np.einsum("bth,btk->hk", hidden, stopped), stopped.sum(axis=(0, 1))
    means = {"the mean over B and T is taken, where the sum is meant": B * T,
             "the mean over windows is taken, where the sum is meant": B,
             "the mean over tokens is taken, where the sum is meant": T,
             "the mean over the places that are not barred is taken, where the sum is meant":
                 max(1, int((~barred).sum()))}  # fmt: skip
    return {
        "dhidden": {open_: dscores @ w.T, only: turned @ w.T,
                    "the end's part is missing": stopped[..., :1] @ w[:, :1].T,
                    "the start's part is missing": stopped[..., 1:] @ w[:, 1:].T,
                    "w's columns have changed places": stopped @ w[:, ::-1].T},
        "dw": {open_: np.einsum("bth,btk->hk", hidden, dscores), only: np.einsum("bth,btk->hk", hidden, turned),
               "only the first window's part": hidden[0].T @ stopped[0],
               "only the last window's part": hidden[-1].T @ stopped[-1]}
              | {says: dw / count for says, count in means.items() if count > 1},
        "db": {open_: dscores.sum(axis=(0, 1)), only: turned.sum(axis=(0, 1)),
               "only the first window's part": stopped[0].sum(axis=0),
               "only the last window's part": stopped[-1].sum(axis=0)}
              | {says: db / count for says, count in means.items() if count > 1},
    }  # fmt: skip


class Halves:
    """Cross-entropies of starts and ends, and their gradients; weights (B, 2) and labels (B, 2) may be wrong ones."""

    def __init__(self, scores, labels, weights, columns=(0, 1)):
        pairs = [cross_entropy_forward(scores[..., column], labels[:, i], weights[:, i].astype(float))
                 for i, column in enumerate(columns)]  # fmt: skip
        self.values, self.caches, self.columns, self.shape = *zip(*pairs, strict=True), columns, scores.shape

    def gradient(self, *steps):
        dscores = np.zeros(self.shape)
        for step, cache, column in zip(steps, self.caches, self.columns, strict=True):
            dscores[..., column] += cross_entropy_backward(step, cache)[0]
        return dscores


def treated(scores, spans):
    """{mistake: Halves} where places outside of the window are treated in another way."""
    T = scores.shape[1]
    inside = (spans >= 0) & (spans < T)
    both, ones = inside.all(axis=1, keepdims=True) & inside, np.ones_like(inside)
    return {
        "an answer that is outside counts as if it were at 0": Halves(scores, spans * inside, ones),
        "an answer that is outside counts as if it were at the nearest token":
            Halves(scores, spans.clip(0, T - 1), ones),
        "a place below 0 is read from the window's end, as a negative index":
            Halves(scores, spans % T, inside | (spans < 0)),
        "a place below 0 is read as 0; it counts for nothing": Halves(scores, spans * inside, inside | (spans < 0)),
        "a place of T and above is read as the last; it counts for nothing":
            Halves(scores, np.minimum(spans, T - 1) * (spans >= 0), inside | (spans >= T)),
        "a place T is read as the last token; it is outside":
            Halves(scores, np.minimum(spans, T - 1) * (spans >= 0), inside | (spans == T)),
        "a start counts only where its end is in the window, too; each counts for itself":
            Halves(scores, spans * both, both),
        "place 0 is left out; it is a token like others": Halves(scores, spans * inside, inside & (spans > 0)),
        "the span (0, 0) is left out; it is a span like others":
            Halves(scores, spans * inside, inside & spans.any(axis=1, keepdims=True)),
        "the last token is left out": Halves(scores, spans * inside, inside & (spans < T - 1)),
        "starts and ends have changed places": Halves(scores, spans * inside, inside, (1, 0)),
        "an end is taken to be the place after the answer": Halves(scores, (spans - [0, 1]) * inside % T, inside),
    }  # fmt: skip


def span_losses(scores, spans):
    T = scores.shape[1]
    inside = (spans >= 0) & (spans < T)
    right = Halves(scores, spans * inside, inside)
    (starts, ends), counts = right.values, inside.sum(axis=0)
    found = {says: sum(halves.values) / 2 for says, halves in treated(scores, spans).items()}
    if not counts.all():                             # the sum is the other mean alone
        found["where no start, or no end, is inside, the other mean is taken whole; it counts half"] = starts + ends
    found |= {
        "a sum of the two; it must be their mean": starts + ends,
        "the ends are missing": starts / 2,
        "the starts are missing": ends / 2,
        "this is the loss of the starts alone": starts,
        "this is the loss of the ends alone": ends,
        "the divisor is the number of windows; it must be that of the places inside": (starts * counts[0]
            + ends * counts[1]) / 2 / len(spans),
        "starts and ends are averaged together; each must have a mean of its own": (starts * counts[0]
            + ends * counts[1]) / max(1, counts.sum()),
        "the sums over the batch are not divided by the number of windows": (starts * counts[0] + ends * counts[1]) / 2,
        "the sign is wrong": -(starts + ends) / 2,
        "the product of the two losses": starts * ends,
    }  # fmt: skip
    for says, axis in (("softmax is over start and end; it must be over the tokens", -1),
                       ("softmax is over the windows; it must be over the tokens", 0)):  # fmt: skip
        log_p = log_softmax(scores.swapaxes(axis, -1)).swapaxes(axis, -1)
        picked = np.take_along_axis(log_p, (spans * inside)[:, None], axis=1)[:, 0] * inside
        found[says] = -(picked.sum(axis=0) / np.maximum(1, counts)).sum() / 2
    return {says: np.atleast_1d(value) for says, value in found.items()}


def span_gradients(scores, spans, dloss):
    T = scores.shape[1]
    inside = (spans >= 0) & (spans < T)
    right = Halves(scores, spans * inside, inside)
    half = dloss / 2
    found = {says: halves.gradient(half, half) for says, halves in treated(scores, spans).items()}
    if dloss < 0:
        found[NO_SIGN] = right.gradient(-half, -half)
    return found | {
        "the half of each loss is missing: twice what it must be": right.gradient(dloss, dloss),
        "the half comes twice": right.gradient(half / 2, half / 2),
        "the ends have no gradient": right.gradient(half, 0.0),
        "the starts have no gradient": right.gradient(0.0, half),
        "starts and ends have changed places": right.gradient(half, half)[..., ::-1],
        "dloss is not used": right.gradient(0.5, 0.5),
        "dloss is used twice": right.gradient(dloss * half, dloss * half),
        "the sums over the batch are not divided by the number of windows":
            right.gradient(half, half) * inside.sum(axis=0),
        "divided by the number of windows; it must be by that of the places inside":
            right.gradient(half, half) * inside.sum(axis=0) / len(spans),
    }  # fmt: skip


def made_of_all(cases):
    """The mistake that makes all the answers, or None. cases: [(answer, {mistake: what it makes})]"""
    known = [says for says in cases[0][1] if all(ways.get(says, answer) == answer for answer, ways in cases)]
    return next((says for says in known if any(says in ways for _, ways in cases[1:])), None)


def among(pairs, scores, n):
    """Those of the n best starts and the n best ends."""
    starts, ends = (set(np.argsort(-scores[:, column])[:n].tolist()) for column in (0, 1))
    return [(i, j) for i, j in pairs if i in starts and j in ends]


def other_spans(scores, longest):
    """{mistake: (start, end)}"""
    T = len(scores)
    every = [(i, j) for i in range(T) for j in range(T)]

    def best(pairs, score=lambda i, j: scores[i, 0] + scores[j, 1]):
        return max(pairs, key=lambda pair: score(*pair), default=(0, 0))

    ordered = [(i, j) for i, j in every if i <= j]
    start, end = (int(scores[:, column].argmax()) for column in (0, 1))
    p = np.exp(scores - scores.max(axis=0))
    fits = [(i, j) for i, j in ordered if j - i < longest]
    return {
        "the best start and the best end, each alone: they must make a span": (start, end),
        "there is no limit to the answer's length": best(ordered),
        "the end may come before the start": best([(i, j) for i, j in every if j - i < longest]),
        "one token too long: first and last token count, so end - start is below longest":
            best([(i, j) for i, j in ordered if j - i <= longest]),
        "one token too short: an answer may have longest tokens":
            best([(i, j) for i, j in fits if j - i < longest - 1]),
        "an answer of one token is left out: the end may be the start": best([(i, j) for i, j in fits if i < j]),
        "the best start, then the best end for it; another start may have a better sum":
            best([(i, j) for i, j in fits if i == start]),
        "the best end, then the best start for it; another end may have a better sum":
            best([(i, j) for i, j in fits if j == end]),
        "start and end scores have changed places": best(fits, lambda i, j: scores[i, 1] + scores[j, 0]),
        "probabilities are multiplied, which are 0 far below the best score; the scores are added":
            best(fits, lambda i, j: p[i, 0] * p[j, 1]),
        "the scores are multiplied; their sum counts": best(fits, lambda i, j: scores[i, 0] * scores[j, 1]),
        "what is no span counts as a sum of 0, which is more than a sum below 0":
            best(every, lambda i, j: (0 <= j - i < longest) * (scores[i, 0] + scores[j, 1])),
        "the larger of the two scores counts; it must be their sum":
            best(fits, lambda i, j: max(scores[i, 0], scores[j, 1])),
        "the end is the place after the answer; it must be the last token": (best(fits)[0], best(fits)[1] + 1),
        **{f"only the best starts and ends are looked at, {n} of each, say": best(among(fits, scores, n))
           for n in (3, 5, 10, 20)},
        "a sum below 0 is never the best; all may be below":
            best(fits) if scores[best(fits), [0, 1]].sum() > 0 else (0, 0),
    }  # fmt: skip


def made_one(text, places):
    """The tokens, and one space for what is between two of them."""
    for i, (begin, past) in enumerate(places):
        yield (" " if i and begin > places[i - 1][1] else "") + text[begin:past]


def other_texts(text, places, first, start, end):
    def piece(begin, past):
        return text[begin:past]

    def cover(i, j):
        return piece(places[i][0], places[j][1]) if -len(places) <= i < len(places) > j >= -len(places) else None

    ways = {
        "places are counted from the text's first token, start and end from [CLS]: `first` is not subtracted":
            cover(start, end),
        "one token too early": cover(start - first - 1, end - first - 1),
        "one token too late": cover(start - first + 1, end - first + 1),
        "a span that begins before `first` is no answer, and an index below 0 counts from the back":
            cover(start - first, end - first),
        "only a span that begins at [CLS] is taken for no answer; one that begins before `first` is none, either":
            cover(start - first, end - first) if start else "",
        "what is before `first` is cut off; a span that begins there is no answer": cover(0, max(end - first, 0)),
    }  # fmt: skip
    if start >= first:
        begin, past = places[start - first][0], places[end - first][1]
        tokens = [piece(*place) for place in places[start - first : end - first + 1]]
        ways |= {
            "one letter too many: `past` is behind the last one": piece(begin, past + 1),
            "one letter too few: `past` is behind the last one": piece(begin, past - 1),
            "this ends where the last token begins": piece(begin, places[end - first][0]),
            "the first token alone": piece(begin, places[start - first][1]),
            "the last token alone": piece(places[end - first][0], past),
            "the last token is left out: end is the last one, not the one after it":
                cover(start - first, end - first - 1),
            "spaces at its ends are taken off; the tokens have them": piece(begin, past).strip(),
            "the ends of lines are made spaces; the text's own are wanted": piece(begin, past).replace("\n", " "),
            "letters are written in another way, as by unicodedata.normalize; the text's own are wanted":
                unicodedata.normalize("NFC", piece(begin, past)),
            "signs at its ends are taken off; the tokens have them": piece(begin, past).strip(" .,;:!?-\"'()"),
            "full stops and spaces at its ends are taken off; the tokens have them": piece(begin, past).strip(" ."),
            "in small letters; the text's own are wanted": piece(begin, past).lower(),
            "the tokens, with one space between them; the text's own spaces are wanted":
                " ".join(tokens),
            "the tokens without the text's spaces": "".join(tokens),
            "what stands between two tokens is made one space; the text's own spaces are wanted":
                "".join(made_one(text, places[start - first : end - first + 1])),
        }  # fmt: skip
    return ways
