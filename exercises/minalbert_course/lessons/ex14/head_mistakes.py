"""What known mistakes make of exercise 14's head: its scores, and its gradients."""

import numpy as np


class Inside:
    """The steps of a head, at a point (layers, pooler_w, pooler_b, w, b, kept, rate)."""

    def __init__(self, point):
        self.layers, self.pooler_w, self.pooler_b, self.w, self.b, self.kept, self.rate = point
        self.first = self.layers[-1, :, 0]
        self.before = self.dense(self.first)
        self.pooled = np.tanh(self.before)
        self.kept = np.ones_like(self.pooled) if self.kept is None else self.kept
        self.scale = np.ones_like(self.pooled) if point[5] is None else self.kept / (1 - self.rate)

    def dense(self, first):
        return first @ self.pooler_w + self.pooler_b

    def scores(self, x):
        return x @ self.w + self.b


def other_states(layers):
    """States that are read where that of [CLS] after the last layer is meant."""
    found = {
        "[CLS] is read after the first layer, where the last one is meant": layers[0, :, 0],
        "[CLS] is read after the last layer but one, where the last one is meant":
            layers[max(len(layers) - 2, 0), :, 0],
        "[CLS] is read after the second layer, where the last one is meant": layers[min(1, len(layers) - 1), :, 0],
        "this is the mean of all layers' [CLS]; the last layer alone is meant": layers[:, :, 0].mean(axis=0),
        "the last token is read; [CLS] is the first": layers[-1, :, -1],
        "the second token is read; [CLS] is the first, counted from 0": layers[-1, :, min(1, layers.shape[2] - 1)],
        "the mean over all tokens is read, where [CLS] alone is meant": layers[-1].mean(axis=1),
        "the largest over all tokens is read, where [CLS] alone is meant": layers[-1].max(axis=1),
    }  # fmt: skip
    return {says: state for says, state in found.items() if not np.array_equal(state, layers[-1, :, 0])}


def wrong_scores(point):
    i = Inside(point)
    once, factor = i.scale, 1 / (1 - i.rate)
    pooled = {
        "dropout is done twice: what is kept is divided by 1 - rate twice": i.pooled * once * once,
        "dropout is done twice: before the pooler, and after it": np.tanh(i.dense(i.first * once)) * once,
        "dropout is done before the pooler; it must be after it": np.tanh(i.dense(i.first * once)),
        "dropout is done before tanh; it must be after it": np.tanh(i.before * once),
        "what is kept is not divided by 1 - rate": i.pooled * i.kept,
        "what is kept is multiplied by 1 - rate, where it must be divided": i.pooled * i.kept * (1 - i.rate),
        "what is kept is divided by rate; it must be by 1 - rate": i.pooled * i.kept / i.rate,
        "what is kept is divided by the share that is kept; it must be by 1 - rate":
            i.pooled * i.kept / (i.kept.mean() or 1.0),
        "nothing is dropped, but all is divided by 1 - rate": i.pooled * factor,
        "nothing is dropped": i.pooled,
        "what must be kept is dropped, and what must be dropped is kept": i.pooled * (1 - i.kept) * factor,
        "tanh is missing": i.before * once,
        "tanh is taken twice": np.tanh(i.pooled) * once,
        "the pooler is left out: [CLS] itself is classified": i.first * once,
        "tanh is there, but not the pooler's matrix and bias": np.tanh(i.first) * once,
        "pooler_w is transposed": np.tanh(i.first @ i.pooler_w.T + i.pooler_b) * once,
        "pooler_b is not added": np.tanh(i.first @ i.pooler_w) * once,
        "a sigmoid stands where tanh must": once / (1 + np.exp(-i.before)),
        "negative numbers are cut to 0, where tanh must be taken": once * np.maximum(i.before, 0),
    }  # fmt: skip
    read = {says: np.tanh(i.dense(state)) * once for says, state in other_states(i.layers).items()}
    found = {says: i.scores(x) for says, x in (read | pooled).items()}
    right = i.scores(i.pooled * once)
    return found | {"b is not added": right - i.b, "tanh is taken of the scores, too": np.tanh(right)}


def wrong_gradients(point, dscores):
    """{name of a gradient: {mistake: what it makes}}"""
    i = Inside(point)
    B = len(dscores)
    x = i.pooled * i.scale
    ways = ways_back(i, dscores @ i.w.T, x)
    right = ways.pop("")
    mean = "the mean over the batch is taken, where the sum is meant"
    wrong = {
        "dlayers": {says: placed(i, da @ i.pooler_w.T) for says, da in ways.items()} | misplaced(i, right),
        "dpooler_w": {says: i.first.T @ da for says, da in ways.items()} | {
            "pooled stands where [CLS], which the pooler was given, must": i.pooled.T @ right,
            mean: i.first.T @ right / B},
        "dpooler_b": {says: da.sum(axis=0) for says, da in ways.items()} | {mean: right.mean(axis=0)},
        "dw": {
            "this is of pooled itself; it must be of what dropout left of it": i.pooled.T @ dscores,
            "what was kept is not divided by 1 - rate here": (i.pooled * i.kept).T @ dscores,
            "dropout is done twice": (x * i.scale).T @ dscores,
            "[CLS] stands where what dropout left of pooled must": i.first.T @ dscores,
            mean: x.T @ dscores / B},
        "db": {mean: dscores.mean(axis=0), "only the first sequence's part": dscores[0],
               "only the last sequence's part": dscores[-1]},
    }  # fmt: skip
    for state_says, state in other_states(i.layers).items():
        wrong["dpooler_w"][state_says] = state.T @ right
    return wrong


def ways_back(i, dx, x):
    """{mistake: the gradient of what tanh is taken of}, "" for the right one. dx: the gradient of what dropout left"""
    slope = 1 - i.pooled**2
    return {
        "": dx * i.scale * slope,
        "tanh's derivative, 1 - pooled², is missing": dx * i.scale,
        "what is 0 before dropout, too, counts as dropped: ask `kept`": dx * i.scale * slope * (x != 0),
        "dropout is forgotten on the way back": dx * slope,
        "on the way back what is kept is not divided by 1 - rate": dx * i.kept * slope,
        "dropout is done twice on the way back": dx * i.scale**2 * slope,
        "dropout and tanh's derivative are both missing": dx,
        "tanh's derivative is 1 - pooled²; here it is 1 - (what tanh was taken of)²": dx * i.scale * (1 - i.before**2),
        "tanh's derivative is 1 - pooled², of pooled before dropout": dx * i.scale * (1 - x**2),
        "tanh's derivative is 1 - pooled², not 1 - pooled": dx * i.scale * (1 - i.pooled),
        "tanh's derivative is 1 - pooled², not pooled (1 - pooled), which is a sigmoid's":
            dx * i.scale * i.pooled * (1 - i.pooled),
    }  # fmt: skip


def placed(i, dfirst, layer=-1, token=0):
    dlayers = np.zeros(i.layers.shape)
    dlayers[layer, :, token] = dfirst
    return dlayers


def misplaced(i, da):
    dfirst = da @ i.pooler_w.T
    return {
        "pooler_w is not transposed": placed(i, da @ i.pooler_w),
        "the pooler's matrix is left out": placed(i, da),
        "it stands in the first layer; the head reads the last one": placed(i, dfirst, layer=0),
        "it stands in every layer; the head reads the last one alone": placed(i, dfirst, layer=slice(None)),
        "it stands at the last token; the head reads [CLS], the first": placed(i, dfirst, token=-1),
        "it stands at every token; the head reads [CLS] alone": placed(i, dfirst[:, None], token=slice(None)),
        "it is divided among the layers; the head reads the last one alone":
            placed(i, dfirst / len(i.layers), layer=slice(None)),
        "it is divided among the tokens; the head reads [CLS] alone":
            placed(i, dfirst[:, None] / i.layers.shape[2], token=slice(None)),
    }  # fmt: skip
