"""The encoder over buffers; `model.encoder` has it in pairs.

    x = norm(x + attention(x))
    x = norm(x + down(gelu(up(x))))

Backward walks with one array, d: (R, H), the gradient of whatever stage it has reached. A residual connection
is the line `gemm(..., d, add=True)`: d holds what came by the straight way, and the product is added to it.
"""

from typing import Any, NamedTuple

from ..model.encoder import ATTENTION_SITE, FFN_SITE, PROBS_SITE
from ..params import ATTENTION, FFN, NORM


class Kept(NamedTuple):
    """What a layer's backward needs, one buffer each."""

    x: Any                                           # (R, H)    what the layer is given
    qkv: Any                                         # (R, 3H)
    lse: Any                                         # (B, N, T) log Σ exp of each row of scores
    context: Any                                     # (R, H)
    xhat_attention: Any                              # (R, H)
    rstd_attention: Any                              # (R,)
    y: Any                                           # (R, H)    what the FFN is given
    u: Any                                           # (R, F)    before bias and GELU
    xhat_ffn: Any                                    # (R, H)
    rstd_ffn: Any                                    # (R,)


def layer_input(layer, part):
    """Two buffers that take turns, unless a backward pass will want them all."""
    slot = layer % 2 if part.keep == "nothing" else layer
    return part.rows(f"x.{slot}", part.config.hidden_size)


def kept(layer, part):
    config, (B, T) = part.config, part.mask.shape
    H, F, N = config.hidden_size, config.intermediate_size, config.num_attention_heads
    slot = layer if part.keep == "all" else "all layers"
    return Kept(
        x=layer_input(layer, part),
        qkv=part.rows(f"qkv.{slot}", 3 * H),
        lse=part.workspace(f"lse.{slot}", (B, N, T), part.params.dtype),
        context=part.rows(f"context.{slot}", H),
        xhat_attention=part.rows(f"xhat_attention.{slot}", H),
        rstd_attention=part.row_numbers(f"rstd_attention.{slot}"),
        y=part.rows(f"y.{slot}", H),
        u=part.rows(f"u.{slot}", F),
        xhat_ffn=part.rows(f"xhat_ffn.{slot}", H),
        rstd_ffn=part.row_numbers(f"rstd_ffn.{slot}"),
    )


def attention_part_forward(buffers, layer, part):
    do, config = part.kernels, part.config
    x, qkv, lse, context, h, rstd, y, *_ = buffers
    wq, bq, wk, bk, wv, bv, wo, bo = part.tensors("attention", layer, ATTENTION)
    for third, w, b in zip(thirds(qkv), (wq, wk, wv), (bq, bk, bv), strict=True):
        do.gemm(x, w, out=third)
        do.add_bias(third, b)
    coins = part.coins(config.attention_probs_dropout_prob, layer=layer, site=PROBS_SITE)
    do.attention_forward(qkv, part.mask, config.num_attention_heads, coins, context=context, lse=lse)
    do.gemm(context, wo, out=h)
    coins = part.coins(config.hidden_dropout_prob, layer=layer, site=ATTENTION_SITE)
    gain, beta = part.tensors("attention", layer, NORM)
    eps = config.layer_norm_eps
    do.norm_forward(h, gain, beta, eps, linear_bias=bo, residual=x, dropout=coins, out=y, rstd=rstd)


def attention_part_backward(d, buffers, layer, part, grads):
    do, config, H = part.kernels, part.config, part.config.hidden_size
    x, qkv, lse, context, xhat, rstd, *_ = buffers
    wq, _, wk, _, wv, _, wo, _ = part.tensors("attention", layer, ATTENTION)
    dwq, dbq, dwk, dbk, dwv, dbv, dwo, dbo = part.gradients(grads, "attention", layer, ATTENTION)
    gain, _ = part.tensors("attention", layer, NORM)
    dgain, dbeta = part.gradients(grads, "attention", layer, NORM)

    coins = part.coins(config.hidden_dropout_prob, layer=layer, site=ATTENTION_SITE)
    dh = d if coins is None else part.rows("dh", H)
    do.norm_backward(d, xhat, rstd, gain, dropout=coins, dgain=dgain, dbias=dbeta, dlinear_bias=dbo, dh=dh)
    dcontext, dqkv = part.rows("dcontext", H), part.rows("dqkv", 3 * H)
    do.gemm(context.T, dh, out=dwo, add=True)
    do.gemm(dh, wo.T, out=dcontext)
    coins = part.coins(config.attention_probs_dropout_prob, layer=layer, site=PROBS_SITE)
    do.attention_backward(dcontext, qkv, part.mask, config.num_attention_heads, coins, context, lse, dqkv=dqkv)
    for third, w, dw, db in zip(thirds(dqkv), (wq, wk, wv), (dwq, dwk, dwv), (dbq, dbk, dbv), strict=True):
        do.column_sums(third, out=db)
        do.gemm(x.T, third, out=dw, add=True)
        do.gemm(third, w.T, out=d, add=True)


def ffn_part_forward(buffers, layer, part, x_next):
    do, config = part.kernels, part.config
    *_, y, u, h, rstd = buffers
    w_up, b_up, w_down, b_down = part.tensors("ffn", layer, FFN)
    g = part.rows("g", config.intermediate_size)
    do.gemm(y, w_up, out=u)
    do.gelu_forward(u, b_up, config.gelu_form, out=g)
    do.gemm(g, w_down, out=h)
    coins = part.coins(config.hidden_dropout_prob, layer=layer, site=FFN_SITE)
    gain, beta = part.tensors("ffn", layer, NORM)
    eps = config.layer_norm_eps
    do.norm_forward(h, gain, beta, eps, linear_bias=b_down, residual=y, dropout=coins, out=x_next, rstd=rstd)


def ffn_part_backward(d, buffers, layer, part, grads):
    do, config = part.kernels, part.config
    *_, y, u, xhat, rstd = buffers
    w_up, b_up, w_down, _ = part.tensors("ffn", layer, FFN)
    dw_up, db_up, dw_down, db_down = part.gradients(grads, "ffn", layer, FFN)
    gain, _ = part.tensors("ffn", layer, NORM)
    dgain, dbeta = part.gradients(grads, "ffn", layer, NORM)

    coins = part.coins(config.hidden_dropout_prob, layer=layer, site=FFN_SITE)
    dh = d if coins is None else part.rows("dh", config.hidden_size)
    du = part.rows("g", config.intermediate_size)    # forward is done with it
    do.norm_backward(d, xhat, rstd, gain, dropout=coins, dgain=dgain, dbias=dbeta, dlinear_bias=db_down, dh=dh)
    do.gemm(dh, w_down.T, out=du)
    do.gelu_backward(du, u, b_up, config.gelu_form, dbias=db_up)
    do.gemm(u.T, dh, out=dw_down, add=True)              # u has become g
    do.gemm(y.T, du, out=dw_up, add=True)
    do.gemm(du, w_up.T, out=d, add=True)


def thirds(qkv):
    """q, k and v: three views (R, H) of (R, 3H)."""
    H = qkv.shape[1] // 3
    return [qkv[:, i * H : (i + 1) * H] for i in range(3)]


def block_forward(layer, part):
    buffers = kept(layer, part)
    attention_part_forward(buffers, layer, part)
    ffn_part_forward(buffers, layer, part, layer_input(layer + 1, part))
    return buffers


def encoder_forward(part):
    """From layer_input(0), which the embeddings filled, to the hidden states (R, H)."""
    for layer in range(part.config.num_hidden_layers):
        block_forward(layer, part)
    return layer_input(part.config.num_hidden_layers, part)


def encoder_backward(d, part, grads):
    """d becomes the gradient of layer_input(0)."""
    for layer in reversed(range(part.config.num_hidden_layers)):
        buffers = kept(layer, part) if part.keep == "all" else block_forward(layer, part)
        ffn_part_backward(d, buffers, layer, part, grads)
        attention_part_backward(d, buffers, layer, part, grads)
