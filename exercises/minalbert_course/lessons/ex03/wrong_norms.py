"""What mistakes make of layer norm, of RMS norm, and of their gradients."""

import numpy as np

from .norms import mean, normalised


def other_eps(x, squares, eps):
    """Where eps is 0: {mistake: (x, r)}"""
    others = () if eps else (1e-3, 1e-5, 1e-6, 1e-8, 1e-12)
    return {f"an eps of 0 is taken for none, and {other:g} stands in its place": (x, 1 / np.sqrt(squares + other))
            for other in others}  # fmt: skip


def wrong_rows(x, eps):
    """Wrong ways to normalise: {mistake: (what stands in the place of x - mean, of r)}"""
    centred, H = x - mean(x), x.shape[-1]
    variance = mean(centred**2)
    early, middle = x - x.mean(), x - np.median(x, axis=-1, keepdims=True)
    first, second = x - x.mean(axis=0, keepdims=True), x - x.mean(axis=-2, keepdims=True)

    def root(squares):
        return 1 / np.sqrt(squares)

    return other_eps(centred, variance, eps) | {
        "eps is not added to the variance, or taken to be 1e-12 whatever is given": (centred, root(variance)),
        "eps is added to the root, where it belongs under it": (centred, 1 / (np.sqrt(variance) + eps)),
        "eps is squared": (centred, root(variance + eps**2)),
        "eps is subtracted from the variance": (centred, root(variance - eps)),
        "the larger of variance and eps is taken, not their sum": (centred, root(np.maximum(variance, eps))),
        "the variance is divided by H - 1, where it must be by H": (centred, root(variance * H / max(H - 1, 1) + eps)),
        "the variance is a sum, where the mean is meant": (centred, root(variance * H + eps)),
        "divided by the variance, where it must be by its root": (centred, 1 / (variance + eps)),
        "multiplied by the root of the variance, where it must be divided": (centred, np.sqrt(variance + eps)),
        "not divided by the root of the variance": (centred, np.ones_like(variance)),
        "divided by the mean distance from the mean, not by the root of the variance":
            (centred, 1 / (mean(np.abs(centred)) + eps)),
        "the mean is not subtracted": (x, root(variance + eps)),
        "the mean is not subtracted, from the squares' mean neither": (x, root(mean(x * x) + eps)),
        "the mean is subtracted from x, but not from the numbers that are squared": (centred, root(mean(x * x) + eps)),
        "the mean is added, where it must be subtracted": (x + mean(x), root(variance + eps)),
        "the mean of all rows is subtracted from each": (early, root(variance + eps)),
        "the mean of all rows is subtracted from each, in the variance, too": (early, root(mean(early**2) + eps)),
        "one variance for all rows": (centred, root((centred**2).mean(keepdims=True) + eps)),
        "mean and variance are those of all rows together": (early, root(x.var(keepdims=True) + eps)),
        "the median is subtracted, not the mean": (middle, root(mean(middle**2) + eps)),
        "normalised over the first axis, where it must be the last":
            (first, root((first**2).mean(axis=0, keepdims=True) + eps)),
    } | ({
        "normalised over the last axis but one, where it must be the last":
            (second, root((second**2).mean(axis=-2, keepdims=True) + eps)),
    } if x.shape[-2] > 1 else {})  # fmt: skip


def wrong_values(x, gain, bias, eps):
    xhat, _ = normalised(x, eps)
    return {says: c * r * gain + bias for says, (c, r) in wrong_rows(x, eps).items()} | {
        "the bias is added before the gain is multiplied": (xhat + bias) * gain,
        "gain and bias are exchanged": xhat * bias + gain,
        "the gain is not multiplied with": xhat + bias,
        "1 + gain is used, where the gain is meant": xhat * (1 + gain) + bias,
        "the bias is not added": xhat * gain,
        "the bias is multiplied, where it must be added": xhat * gain * bias,
        "divided by the gain": xhat / gain + bias,
    }


def followed(x, gain, eps, dy):
    """What a right way back makes of rows normalised wrongly: {mistake: (dx, dgain)}"""
    g, result = dy * gain, {}
    for says, (centred, r) in wrong_rows(x, eps).items():
        xhat = centred * r
        dx = r * (g - mean(g) - xhat * mean(g * xhat))
        result[says] = dx, (dy * xhat).reshape(-1, dy.shape[-1]).sum(axis=0)
    return result


def eps_found(x, gain, bias, eps, centre=True):
    """A function of y: does it follow from another multiple of eps? None for an eps of 0"""
    if not eps:
        return None

    def found(y):
        centred = x - mean(x) if centre else x
        squares = (centred * gain / (y - bias)) ** 2
        shares = (squares - mean(centred**2)) / eps
        share = float(np.median(shares))
        if not np.isfinite(share) or abs(share - 1) < 1e-3:
            return None
        made = centred / np.sqrt(mean(centred**2) + share * eps) * gain + bias
        says = f"eps comes in {share:.4g} times" if share < 100 else f"eps is {share * eps:.3g}, where {eps:g} is given"
        return says if np.abs(made - y).max() < 1e-5 * np.abs(y - bias).max() else None

    return found


def wrong_gradients(expected, x, gain, eps, dy):
    (xhat, r), g, H = normalised(x, eps), dy * gain, x.shape[-1]

    def back(g, first=None, second=None):
        first, second = mean(g) if first is None else first, mean(g * xhat) if second is None else second
        return r * (g - first - xhat * second)

    return {
        "the gain is missing: g is dy gain": back(dy),
        "g is divided by the gain, where dy gain is meant": back(dy / gain),
        "1 + gain is used, where the gain is meant": back(dy * (1 + gain)),
        "dy comes in twice": back(dy * g),
        "the gain comes in twice": back(gain * g),
        "the factor r is missing": expected / r,
        "r² is used where r is meant": expected * r,
        "r³ is used where r is meant": expected * r * r,
        "divided by r, where it must be multiplied": expected / r / r,
        "multiplied by the gain at the end, where g = dy gain is meant at the beginning": gain * back(dy),
        "mean(dy), where mean(g) is meant": back(g, mean(dy)),
        "mean(dy xhat), where mean(g xhat) is meant": back(g, None, mean(dy * xhat)),
        "both means are of dy, not of g": back(g, mean(dy), mean(dy * xhat)),
        "both means are sums": back(g, H * mean(g), H * mean(g * xhat)),
        "mean(g) is a sum": back(g, H * mean(g)),
        "mean(g xhat) is a sum": back(g, None, H * mean(g * xhat)),
        "mean(g) is divided by H - 1, not by H": back(g, mean(g) * H / max(H - 1, 1)),
        "mean(g xhat) is divided by H - 1, not by H": back(g, None, mean(g * xhat) * H / max(H - 1, 1)),
        "mean(g) is a mean over the first axis": back(g, g.mean(axis=0)),
        "mean(g xhat) is a mean over the wrong axis": back(g, None, (g * xhat).mean(axis=0)),
        "mean(g) is a mean over all rows": back(g, g.mean()),
        "mean(g xhat) is a mean over all rows": back(g, None, (g * xhat).mean()),
        "mean(g x), where mean(g xhat) is meant": back(g, None, mean(g * x)),
        "mean(g (x - mean)), where mean(g xhat) is meant": back(g, None, mean(g * xhat / r)),
        "xhat stands within the mean, xhat² g, where xhat mean(g xhat) is meant": r * (g - mean(g) - mean(g * xhat**2)),
        "mean(g xhat) is not multiplied by xhat": r * (g - mean(g) - mean(g * xhat)),
        "x stands in the place of xhat": r * (g - mean(g) - x * mean(g * x)),
        "mean(g xhat) is multiplied by x, where it must be by xhat": r * (g - mean(g) - x * mean(g * xhat)),
        "this is g, dy gain": g,
        "this is dy": dy,
    }


def wrong_rms_rows(x, eps):
    """{mistake: (what stands in the place of x, of r)}"""
    square, centred, H = mean(x * x), x - mean(x), x.shape[-1]

    def root(squares):
        return 1 / np.sqrt(squares)

    return other_eps(x, square, eps) | {
        "eps is not added to the mean of squares": (x, root(square)),
        "eps is added to the root, where it belongs under it": (x, 1 / (np.sqrt(square) + eps)),
        "eps is squared": (x, root(square + eps**2)),
        "eps is subtracted": (x, root(square - eps)),
        "the mean is subtracted, which is layer norm": (centred, root(mean(centred**2) + eps)),
        "divided by the standard deviation: squares are taken of x itself here": (x, root(mean(centred**2) + eps)),
        "a sum of squares, where their mean is meant": (x, root(square * H + eps)),
        "divided by the length of the row, with eps added to that": (x, 1 / (np.sqrt(square * H) + eps)),
        "eps is added to the sum of squares, not to their mean": (x, root(square + eps / H)),
        "the squares are divided by H - 1, not by H": (x, root(square * H / max(H - 1, 1) + eps)),
        "divided by the mean of squares, where it must be by its root": (x, 1 / (square + eps)),
        "multiplied by the root, where it must be divided": (x, np.sqrt(square + eps)),
        "divided by the mean of absolute values": (x, 1 / (mean(np.abs(x)) + eps)),
        "not divided at all": (x, np.ones_like(square)),
        "squares are averaged over the first axis, where it must be the last":
            (x, root((x * x).mean(axis=0, keepdims=True) + eps)),
        "squares are averaged over the last axis but one, where it must be the last":
            (x, root((x * x).mean(axis=-2, keepdims=True) + eps)),
        "one mean of squares for all rows": (x, root((x * x).mean(keepdims=True) + eps)),
    }  # fmt: skip


def wrong_rms_values(x, gain, eps):
    xhat, _ = normalised(x, eps, centre=False)
    return {says: c * r * gain for says, (c, r) in wrong_rms_rows(x, eps).items()} | {
        "the gain is not multiplied with": xhat,
        "1 + gain is used, where the gain is meant": xhat * (1 + gain),
        "divided by the gain": xhat / gain,
        "the gain is added, where it must be multiplied": xhat + gain,
        "the gain comes in twice": xhat * gain**2,
    }


def followed_rms(x, gain, eps, dy):
    """What a right way back makes of rows normalised wrongly: {mistake: (dx, dgain)}"""
    g, result = dy * gain, {}
    for says, (centred, r) in wrong_rms_rows(x, eps).items():
        xhat = centred * r
        result[says] = r * (g - xhat * mean(g * xhat)), (dy * xhat).reshape(-1, dy.shape[-1]).sum(axis=0)
    return result


def wrong_rms_gradients(expected, x, gain, eps, dy):
    (xhat, r), g, H = normalised(x, eps, centre=False), dy * gain, x.shape[-1]

    def back(g, inner=None):
        return r * (g - xhat * (mean(g * xhat) if inner is None else inner))

    return {
        "the gain is missing: g is dy gain": back(dy),
        "g is divided by the gain, where dy gain is meant": back(dy / gain),
        "1 + gain is used, where the gain is meant": back(dy * (1 + gain)),
        "a factor r is missing": expected / r,
        "r² is used where r is meant": expected * r,
        "r³ is used where r is meant": expected * r * r,
        "divided by r, where it must be multiplied": expected / r / r,
        "the way back of layer norm: no mean was subtracted here, so none comes back": expected - r * mean(g),
        "only the direct path: x_j also changes r, and with it every entry of its row": g * r,
        "mean(dy xhat), where mean(g xhat) is meant": back(g, mean(dy * xhat)),
        "mean(g xhat) is a sum": back(g, H * mean(g * xhat)),
        "mean(g xhat) is divided by H - 1, not by H": back(g, mean(g * xhat) * H / max(H - 1, 1)),
        "mean(g xhat) is a mean over the first axis": back(g, (g * xhat).mean(axis=0)),
        "mean(g xhat) is a mean over all rows": back(g, (g * xhat).mean()),
        "mean(g x), where mean(g xhat) is meant": back(g, mean(g * x)),
        "mean(g), where mean(g xhat) is meant": back(g, mean(g)),
        "xhat stands within the mean, xhat² g, where xhat mean(g xhat) is meant": r * (g - mean(g * xhat**2)),
        "mean(g xhat) is not multiplied by xhat": r * (g - mean(g * xhat)),
        "the mean is missing: xhat² g, where xhat mean(g xhat) is meant": r * (g - g * xhat**2),
        "x stands in the place of xhat": r * (g - x * mean(g * x)),
        "mean(g xhat) is multiplied by x, where it must be by xhat": r * (g - x * mean(g * xhat)),
        "r is missing in the second term, r³ x mean(g x)": r * g - r * r * x * mean(g * x),
        "multiplied by the gain at the end, where g = dy gain is meant at the beginning": gain * back(dy),
        "this is g, dy gain": g,
        "this is dy": dy,
    }
