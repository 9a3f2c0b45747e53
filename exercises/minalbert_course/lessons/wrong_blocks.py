"""What a mistake in exercise 6's block makes of its output and its gradients."""

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

from ..block import ATTENTION_NAMES, FFN_NAMES, block_forward


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
    return {
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


def gone_back(p, around_ffn=1, around_attention=1):
    """block_backward with a residual path counted so many times."""
    (attention, ffn), _ = block_forward(p.x, p.sets[0], p.mask, p.heads, p.eps)[1]
    dy, *dnorm = layer_norm_backward(p.dy, ffn.norm)
    dh, *ddown = linear_backward(dy, ffn.down)
    dx, *dup = linear_backward(gelu_backward(dh, ffn.gelu)[0], ffn.up)
    gradients = dict(zip(FFN_NAMES, dup + ddown + dnorm, strict=True))
    dy, *dnorm = layer_norm_backward(dx + around_ffn * dy, attention.norm)
    dx, *dattention, _ = multi_head_backward(dy, attention.attention)
    gradients = dict(zip(ATTENTION_NAMES, dattention + dnorm, strict=True)) | gradients
    return dx + around_attention * dy, gradients


def left_out(p):
    return {
        "the residual path around the FFN is missing on the way back: dx gets both parts": gone_back(p, 0, 1),
        "the residual path around the attention is missing on the way back: dx gets both parts": gone_back(p, 1, 0),
        "both residual paths are missing on the way back: each dx gets two parts": gone_back(p, 0, 0),
    }
