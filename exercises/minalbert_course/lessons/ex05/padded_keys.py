"""Keys that are padding, for both forms of exercise 5: masks, keys with far scores, and what must not show."""

import math

import numpy as np

from minalbert.layers import key_mask

from ...compare import Wrong, agrees, same
from ..corners import Corner, guessing, something
from .wrong_attention import transposed

PADDED = -10000.0                                    # the largest that the sheet allows for padding
HIDDEN = 9000.0                                      # a score that PADDED hides, and half of PADDED does not


def drawn_mask(draw, B, T):
    mask = key_mask(draw.padding(B, T), np.float64)
    return mask if draw.first or kind(draw) == "large" else np.maximum(mask, PADDED)


def kind(draw):
    return getattr(draw, "corner", Corner()).kind


def far_keys(draw, given):
    """The point with other keys for padding, whose scores are far above all others, and yet the mask hides them."""
    q, k, v, mask, dcontext = given
    return given if draw.first or kind(draw) != "usual" else (q, meeting(q, k, mask), v, mask, dcontext)


def meeting(q, k, mask):
    """k with keys for padding that have the score HIDDEN with the longest query they meet, and less with others"""
    B, G, _, D = k.shape
    queries = q.reshape(B, G, -1, D)
    longest = np.take_along_axis(queries, (queries**2).sum(axis=-1, keepdims=True).argmax(axis=2, keepdims=True), 2)
    met = HIDDEN * math.sqrt(D) * longest / (longest**2).sum(axis=-1, keepdims=True)
    return np.where(transposed(mask) < 0, met, k)


def compare_far_mask(forward, right, q, k, v, of):
    """The last token has the largest score, far above 10000, and is padding. right: what the context should be"""
    B, _, T, _ = k.shape
    last = np.arange(T) == T - 1
    mask = np.tile(np.where(last, -1e9, 0.0), (B, 1, 1, 1))
    given = np.full_like(q, 128.0), np.where(last[:, None], 256.0, np.full_like(k, 128.0)), v, mask
    with guessing("perhaps: the mask is cut off, or another number stands in its place; it is far below all scores"):
        agrees("context where scores are above 10000", forward(*given)[0], right(*given), of)


def compare_with_holes(forward, right, q, k, v, mask):
    """Padding may stand anywhere."""
    holes = np.where(np.arange(mask.shape[-1]) % 2, 0.0, np.full_like(mask, PADDED))
    mask = np.stack([np.roll(row, b, axis=-1) for b, row in enumerate(holes)])
    k = meeting(q, k, mask)
    with guessing("perhaps: padding is looked for at the end alone, or is counted; it may stand anywhere"):
        same("context where every second token is padding, others in the next sequence,", forward(q, k, v, mask)[0],
             right(q, k, v, mask), "bntd")  # fmt: skip


def compare_padded(forward, backward, given, of):
    q, k, v, mask, dcontext = given
    mask = mask.copy()
    mask[-1, :, :, 0] = PADDED                       # the first key of many, which other sequences have
    _, cache = forward(q, k, v, mask)
    _, dk, dv, _ = backward(dcontext, cache)
    for name, gradient in (("dk", dk), ("dv", dv)):
        something(**{name: gradient})
        same(f"{name} of a padded key", np.asarray(gradient, float)[-1, :, 0], np.zeros_like(k[-1, :, 0]))
    mask = np.where(mask < 0, np.minimum(mask, -1e9), mask)          # far below these scores, too
    context, _ = forward(100 * q, 100 * k, v, mask)
    if not np.isfinite(np.asarray(context, float)).all():
        raise Wrong("context is not finite where scores are above 1000", "exp of a large number overflows: subtract "
                    "each row's largest first, here as in softmax", of)  # fmt: skip


def compare_beside_padding(forward, backward, given, of):
    """The others have the same answers where the last sequence is padding alone as where it has no padding."""
    q, k, v, mask, dcontext = given
    usual, padded = np.zeros_like(mask), np.zeros_like(mask)
    usual[:-1, ..., -1:] = padded[:-1, ..., -1:] = padded[-1] = PADDED

    def answers(mask):
        context, cache = forward(q, k, v, mask)
        return [np.asarray(array, float)[:-1] for array in (context, *backward(dcontext, cache)[:3])]

    with guessing("perhaps: one rule is taken for all sequences where one of them is padding alone", few=np.inf):
        for name, mine, before in zip(("context", "dq", "dk", "dv"), answers(padded), answers(usual), strict=True):
            if not np.isfinite(before).all():        # other checks say what is wrong
                return
            try:
                same(f"{name} beside a sequence that is padding alone", mine, before)
            except Wrong as error:
                error.of = of if name == "context" else None
                raise


def compare_all_padded(backward, dcontext, cache):
    """Check that dv, summed over keys, is dcontext summed over queries: each query's weights add up to 1."""
    _, _, dv, _ = backward(dcontext, cache)
    with guessing("perhaps: where keys are padding dv is made 0; it has forward's weights, whatever the mask"):
        same("the sum of dv over keys, where all are padding,", np.asarray(dv, float).sum(axis=-2),
             dcontext.sum(axis=-2))  # fmt: skip


def compare_padded_later(forward, right, given, of):
    """Padding after a call of the same shapes without any. right: what `forward` should be"""
    q, k, v = (np.concatenate([array, -array, 2 * array], axis=-2) for array in given[:3])
    mask = np.concatenate([np.zeros_like(given[3])] * 3, axis=-1)
    forward(q, k, v, mask)
    padded = mask.copy()
    padded[..., k.shape[-2] // 3 :] = PADDED
    context = np.asarray(forward(q, k, v + 1, padded)[0], float)
    unpadded = right(q, k, v + 1, mask)[0]
    if context.shape == unpadded.shape and np.abs(context - unpadded).max() < 1e-3:
        raise Wrong("context of padding is as if there were none, after a call of these shapes without any",
                    "whether there is padding is kept from an earlier call", of)  # fmt: skip
