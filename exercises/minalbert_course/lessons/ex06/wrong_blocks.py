"""What a mistake in exercise 6's block makes of its output and its gradients."""

import numpy as np

from minalbert.layers import (
    gelu_backward,
    gelu_erf_forward,
    gelu_forward,
    layer_norm_backward,
    layer_norm_forward,
    linear_backward,
    linear_forward,
    multi_head_backward,
    multi_head_forward,
)
from minalbert.params import ATTENTION

from ...block import ATTENTION_NAMES, FFN_NAMES, block_forward
from .passes import PROJECTIONS


def forms(p):
    """What a mistake makes of a block's output: {mistake: array}"""
    x, w = p.x, p.sets[0]

    def attend(x, mask=p.mask):
        return multi_head_forward(x, *[w[f"attention.{name}"] for name in ATTENTION], mask, p.heads)[0]

    def norm(x, half, eps=p.eps):
        return layer_norm_forward(x, w[f"{half}.norm.gain"], w[f"{half}.norm.bias"], eps)[0]

    def mix(x, gate=gelu_forward):
        return linear_forward(gate(linear_forward(x, w["ffn.up.w"], w["ffn.up.b"])[0])[0],
                              w["ffn.down.w"], w["ffn.down.b"])[0]  # fmt: skip

    def second(x):
        return norm(x + mix(x), "ffn")

    a, bare, early = norm(x + attend(x), "attention"), norm(attend(x), "attention"), norm(x, "attention")
    first = x + attend(early)
    blind, tiny = norm(x + attend(x, 0 * p.mask), "attention"), norm(x + attend(x), "attention", 1e-12)

    def swapped(first, second):
        names = [f"attention.{name}" for name in ATTENTION]
        moved = {f"attention.{first}.{kind}": w[f"attention.{second}.{kind}"] for kind in "wb"}
        moved |= {f"attention.{second}.{kind}": w[f"attention.{first}.{kind}"] for kind in "wb"}
        return second_half(multi_head_forward(x, *[(w | moved)[name] for name in names], p.mask, p.heads)[0])

    def second_half(out):
        return second(norm(x + out, "attention"))

    def without(name):
        return block_forward(x, w | {name: 0 * w[name]}, p.mask, p.heads, p.eps)[0]
    out = attend(x)
    more = {
        "weights are taken by their places in the dict, where their names are meant": by_place(p),
        "query and key are exchanged": swapped("query", "key"),
        "query and value are exchanged": swapped("query", "value"),
        "key and value are exchanged": swapped("key", "value"),
        "value and output are exchanged": swapped("value", "output"),
        "heads is taken to be 1": block_forward(x, w, p.mask, 1, p.eps)[0],
        f"heads is taken to be {x.shape[-1] // p.heads}": block_forward(x, w, p.mask, x.shape[-1] // p.heads, p.eps)[0],
        "all sequences get the mask of the first": second_half(attend(x, p.mask[:1] + 0 * p.mask)),
        "max(u, 0) is used where GELU is meant": norm(a + mix(a, lambda u: (np.maximum(u, 0), None)), "ffn"),
        "tanh is used where GELU is meant": norm(a + mix(a, lambda u: (np.tanh(u), None)), "ffn"),
        "the FFN's output comes in twice": norm(a + 2 * mix(a), "ffn"),
        "the attention's output comes in twice": second_half(2 * out),
        "x comes in twice beside the attention": second_half(x + out),
        "x comes in twice beside the FFN": norm(2 * a + mix(a), "ffn"),
        "the attention's output is subtracted": second_half(-out),
        "the FFN's output is subtracted": norm(a - mix(a), "ffn"),
        "the FFN is missing": norm(a, "ffn"),
        "the attention is missing": second(norm(x, "attention")),
        "this is the state after the attention's half": a,
        "the FFN is asked at x, not at the first norm's output": norm(a + mix(x), "ffn"),
        "both norms have the attention's weights": norm(a + mix(a), "attention"),
        "both norms have the FFN's weights": second(norm(x + out, "ffn")),
        "eps is taken to be 0.1": block_forward(x, w, p.mask, p.heads, 0.1)[0],
        "eps does not reach the second norm": norm(a + mix(a), "ffn", 1e-12),
        "eps does not reach the first norm": second(norm(x + out, "attention", 1e-12)),
    }
    more |= {f"{name!r} is not used": without(name) for name in w if name.endswith((".b", ".bias"))}
    more |= {f"{half}.norm's gain and bias are exchanged": block_forward(
        x, w | {f"{half}.norm.gain": w[f"{half}.norm.bias"], f"{half}.norm.bias": w[f"{half}.norm.gain"]}, p.mask,
        p.heads, p.eps)[0] for half in ("attention", "ffn")}  # fmt: skip
    return more | {
        "the norm comes before attention and FFN (pre-norm); here it comes after the sum":
            first + mix(norm(first, "ffn")),
        "the residual path around the attention is missing": second(bare),
        "the residual path around the FFN is missing": norm(mix(a), "ffn"),
        "both residual paths are missing": norm(mix(bare), "ffn"),
        "the residual path around the FFN must begin at the first norm's output, not at x": norm(x + mix(a), "ffn"),
        "the norm after the attention is missing": second(x + attend(x)),
        "the norm after the FFN is missing": a + mix(a),
        "the norms of attention and FFN are exchanged": norm(
            norm(x + attend(x), "ffn") + mix(norm(x + attend(x), "ffn")), "attention"),
        "GELU between up and down is missing": norm(a + mix(a, lambda u: (u, None)), "ffn"),
        "GELU is in its erf form; ALBERT's is the tanh form": norm(a + mix(a, gelu_erf_forward), "ffn"),
        "the mask does not reach the attention": second(blind),
        "eps does not reach the norms": norm(tiny + mix(tiny), "ffn", 1e-12),
    }  # fmt: skip


def by_place(p):
    """y, where the dict's first arrays are taken for the projections."""
    names = [name for name in p.sets[0] if name in PROJECTIONS]
    moved = dict(zip(PROJECTIONS, (p.sets[0][name] for name in names), strict=True))
    return block_forward(p.x, p.sets[0] | moved, p.mask, p.heads, p.eps)[0]


def gone_back(p, around_ffn=1, around_attention=1, past_norms=(False, False), gelu=True, own=False, through=(1, 1)):
    """block_backward with a residual path counted so many times; a path may get dy, which did not pass the norm.

    through: how often the FFN's and the attention's own parts are counted
    """
    (attention, ffn), _ = block_forward(p.x, p.sets[0], p.mask, p.heads, p.eps)[1]
    dy, *dnorm = layer_norm_backward(p.dy, ffn.norm)
    dh, *ddown = linear_backward(p.dy if own else dy, ffn.down)
    dx, *dup = linear_backward(gelu_backward(dh, ffn.gelu)[0] if gelu else dh, ffn.up)
    gradients = dict(zip(FFN_NAMES, dup + ddown + dnorm, strict=True))
    above = through[0] * dx + around_ffn * (p.dy if past_norms[0] else dy)
    dy, *dnorm = layer_norm_backward(above, attention.norm)
    dx, *dattention, _ = multi_head_backward(dy, attention.attention)
    gradients = dict(zip(ATTENTION_NAMES, dattention + dnorm, strict=True)) | gradients
    return through[1] * dx + around_attention * (above if past_norms[1] else dy), gradients


def left_out(p):
    return {
        "the residual path around the FFN is missing on the way back: dx gets both parts": gone_back(p, 0, 1),
        "the residual path around the attention is missing on the way back: dx gets both parts": gone_back(p, 1, 0),
        "both residual paths are missing on the way back: each dx gets two parts": gone_back(p, 0, 0),
        "the FFN's own part is missing on the way back: dx gets both parts": gone_back(p, through=(0, 1)),
        "the attention's own part is missing on the way back: dx gets both parts": gone_back(p, through=(1, 0)),
        "the residual path around the FFN comes in twice on the way back": gone_back(p, 2, 1),
        "the residual path around the attention comes in twice on the way back": gone_back(p, 1, 2),
        "the residual path around the FFN has the wrong sign on the way back": gone_back(p, -1, 1),
        "the residual path around the attention has the wrong sign on the way back": gone_back(p, 1, -1),
        "the residual path around the FFN is handed dy, which did not pass the norm":
            gone_back(p, past_norms=(True, False)),
        "the residual path around the attention is handed what did not pass the norm":
            gone_back(p, past_norms=(False, True)),
        "both residual paths are handed what did not pass the norm": gone_back(p, past_norms=(True, True)),
        "GELU is left out on the way back": gone_back(p, gelu=False),
        "the FFN is handed dy, which did not pass the norm": gone_back(p, own=True),
    }  # fmt: skip
