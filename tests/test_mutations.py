"""Every check has been seen to fail: a table of planted mistakes, each of which must turn one red.

A mistake is a line of the library, replaced. The mutated package is written to a folder of its own and a
fresh interpreter runs its gradient checks; where forward and backward are wrong together, which no gradient
check can see, it runs the tests of values.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import minalbert

pytestmark = pytest.mark.slow  # `make check` runs it, `make test` does not

PACKAGE = Path(minalbert.__file__).parent
TESTS = Path(__file__).parent


class Mutation(NamedTuple):
    name: str
    file: str
    right: str
    wrong: str
    # "values": forward and backward are wrong together; "steps": of optimisers; "fused": of kernels, and of what runs
    # slices of a batch; "reversible", "sparse": of what only such layers do; "compiled": of numba's loops, where there
    # is numba; "speed": of what tells how fast this machine is
    seen_by: str = "gradcheck"


MUTATIONS = [
    Mutation("linear: dx not transposed back", "layers/linear.py", "drows @ w.T", "drows @ w"),
    Mutation("linear: bias gradient a mean", "layers/linear.py", "drows.sum(axis=0)", "drows.mean(axis=0)"),
    Mutation("gelu: factor 3 lost", "layers/gelu.py", "du *= 3 * C * A", "du *= C * A"),
    Mutation("gelu: x times tanh' lost", "layers/gelu.py", "    dx *= x   ", "    dx *= 1   "),
    Mutation("block: erf's slope for tanh's", "model/block.py", "(gelu_forward, gelu_backward)",
             "(gelu_forward, gelu_erf_backward)"),
    Mutation("gelu_erf: density without ½ in the exponent", "layers/gelu.py", "exp(-0.5 * x * x)", "exp(-x * x)"),
    Mutation("gelu: another constant, in both directions", "layers/gelu.py", "A = 0.044715", "A = 0.4715",
             "values"),
    Mutation("softmax: the sum left out", "layers/softmax.py", "dx -= y * dx.sum(axis=-1, keepdims=True)", "dx -= 0"),
    Mutation("softmax: sum over the wrong axis", "layers/softmax.py", "dx.sum(axis=-1,", "dx.sum(axis=-2,"),
    Mutation("layer_norm: mean term dropped", "layers/layer_norm.py",
             "dx = g - g.mean(axis=-1, keepdims=True)", "dx = g - 0.0"),
    Mutation("layer_norm: variance term dropped", "layers/layer_norm.py",
             "dx -= xhat * g_xhat.mean(axis=-1, keepdims=True)", "dx -= 0.0"),
    Mutation("layer_norm: no gain in the variance term", "layers/layer_norm.py", "g_xhat *= gain", "g_xhat *= 1"),
    Mutation("layer_norm: gain gradient without xhat", "layers/layer_norm.py", "dgain = g_xhat.sum", "dgain = dy.sum"),
    Mutation("layer_norm: eps forgotten, in both directions", "layers/layer_norm.py",
             "keepdims=True) + eps)", "keepdims=True))", "values"),
    Mutation("dropout: not scaled on the way back", "layers/dropout.py", "    dx *= scale", "    dx *= 1.0"),
    Mutation("attention: 1/√D missing on the way back", "layers/attention.py",
             "dscores *= 1 / math.sqrt(q.shape[-1])", "dscores *= 1.0"),
    Mutation("attention: dK from untransposed scores", "layers/attention.py",
             "dk = dscores.swapaxes(-1, -2) @ q", "dk = dscores @ q"),
    Mutation("attention: dV from probabilities before dropout", "layers/attention.py",
             "dv = kept.swapaxes(-1, -2)", "dv = probs.swapaxes(-1, -2)"),
    Mutation("attention: dropout's mask not applied", "layers/attention.py",
             "(dprobs,) = dropout_backward(dkept, dropout)", "dprobs = dkept"),
    Mutation("attention: mask before scaling, in both directions", "layers/attention.py",
             "    scores *= 1 / math.sqrt(q.shape[-1])\n    scores += mask",
             "    scores += mask\n    scores *= 1 / math.sqrt(q.shape[-1])", "values"),
    Mutation("attention: heads not merged back", "layers/attention.py",
             "return x.swapaxes(1, 2).reshape(B, T, N * D)", "return x.reshape(B, T, N * D)", "values"),
    Mutation("multi_head: the path through K forgotten", "layers/attention.py", "    dx += dx_k", "    dx += 0.0"),
    Mutation("sparse attention: a window one token short, in tiles alone", "layers/sparse_attention.py",
             "if block else end - 1 - w // 2 + w", "if block else end - 2 - w // 2 + w", "sparse"),
    Mutation("sparse attention: a window one token short, everywhere", "layers/sparse_attention.py",
             "(j < i - w // 2 + w)", "(j < i - w // 2 + w - 1)", "sparse"),
    Mutation("sparse attention: the mask shifted by one", "layers/sparse_attention.py",
             "xp.arange(start, end)[:, None], keys)", "xp.arange(start, end)[:, None] + 1, keys)", "sparse"),
    Mutation("sparse attention: [CLS] does not see all", "layers/sparse_attention.py",
             "near | (i < self.first) | (j < self.first)", "near | (j < self.first)", "sparse"),
    Mutation("sparse attention: [CLS] forgotten as a key", "layers/sparse_attention.py",
             "keys = {*range(g), *range(first, last)", "keys = {*range(first, last)", "sparse"),
    Mutation("sparse attention: no tile of the first tokens", "layers/sparse_attention.py",
             "made = [(0, min(g, length), range(length))]", "made = []", "sparse"),
    Mutation("sparse attention: every s-th token not gathered", "layers/sparse_attention.py",
             "*(range(0, length, s) if strided else ())", "", "sparse"),
    Mutation("sparse attention: tiles without their masks", "layers/sparse_attention.py",
             "hidden.astype(mask.dtype) * HIDDEN", "hidden.astype(mask.dtype) * 0", "sparse"),
    Mutation("sparse attention: padding not masked", "layers/sparse_attention.py",
             "tile_mask = mask[..., keys] + hidden", "tile_mask = 0 * mask[..., keys] + hidden", "sparse"),
    Mutation("sparse attention: what is hidden counts as much as padding", "layers/sparse_attention.py",
             "HIDDEN = 2 * MASKED", "HIDDEN = MASKED", "sparse"),
    Mutation("sparse attention: one dropout mask for all tiles", "layers/sparse_attention.py",
             "key and key.at(tile=number)", "key", "sparse"),
    Mutation("dropout: the tile not counted", "backend.py", "key.site + (key.tile << 32)", "key.site", "sparse"),
    Mutation("sparse attention: a key's last tile alone", "layers/sparse_attention.py",
             "dk[:, :, keys] += dk_tile", "dk[:, :, keys] = dk_tile"),
    Mutation("sparse attention: dv brought home one row off", "layers/sparse_attention.py",
             "dv[:, :, keys] += dv_tile", "dv[:, :, keys - 1] += dv_tile"),
    Mutation("sparse attention: maps in the wrong place", "layers/sparse_attention.py",
             "probs[:, :, tile.queries][..., tile.keys] = cache.probs",
             "probs[:, :, tile.queries][..., tile.keys - 1] = cache.probs", "sparse"),
    Mutation("multi_head: sparse contexts of other positions, in both directions", "layers/attention.py",
             "positions if sparse else None)\n    y",
             "positions[:, ::-1] if sparse and positions is not None else None)\n    y", "sparse"),
    Mutation("multi_head: sparse contexts' gradient not sent home", "layers/attention.py",
             "dcontext, _ = gather_backward(dcontext, cache.taken)",
             "dcontext = dcontext if cache.taken is None else gather_backward(0 * dcontext, cache.taken)[0]"),
    Mutation("fused block: sparse contexts of all tokens, in both directions", "fused/block.py",
             'taken(ctx, "context.read", context, rows)', "context[: len(residual)]", "sparse"),
    Mutation("kernel sparse attention: keys of another tile", "kernels/cpu/sparse_attention.py",
             "        attend(q[:, queries], k[:, keys]", "        attend(q[:, queries], k[:, keys - 1]", "sparse"),
    Mutation("kernel sparse attention: rows brought home to the wrong place", "kernels/cpu/sparse_attention.py",
             "dk[:, keys] += dk_tile", "dk[:, keys - 1] += dk_tile", "sparse"),
    Mutation("kernel sparse attention: a key's last tile alone", "kernels/cpu/sparse_attention.py",
             "dv[:, keys] += dv_tile", "dv[:, keys] = dv_tile", "sparse"),
    Mutation("kernel sparse attention: begins with what was there", "kernels/cpu/sparse_attention.py",
             "    dv.fill(0)\n", "", "sparse"),
    Mutation("kernel sparse attention: what is hidden is seen", "kernels/cpu/sparse_attention.py",
             "hidden.T.astype(mask.dtype) * HIDDEN", "hidden.T.astype(mask.dtype) * 0", "sparse"),
    Mutation("kernel sparse attention: one dropout mask for all tiles", "kernels/cpu/sparse_attention.py",
             "dropout and dropout._replace(key=dropout.key.at(tile=number))", "dropout", "sparse"),
    Mutation("kernel attention: a tile's mask of another example", "kernels/cpu/attention.py",
             "return mask.reshape(len(mask), 1", "return mask[::-1].reshape(len(mask), 1", "sparse"),
    Mutation("embedding: = for += over repeated ids", "backend.py",
             "xp.add.at(table, rows, updates)", "table[rows] = updates"),
    Mutation("embedding: position gradient of one sequence", "layers/embedding.py", "dy.sum(axis=0)", "dy[0]"),
    Mutation("cross-entropy: the label's one forgotten", "layers/losses.py", "labels.ravel()] -= 1.0",
             "labels.ravel()] -= 0.0"),
    Mutation("cross-entropy: mean over all slots, in both directions", "layers/losses.py",
             "weights.sum(dtype=xp.float64) if total", "xp.asarray(weights.size) if total", "values"),
    Mutation("cross-entropy: weights forgotten on the way back", "layers/losses.py",
             "drows *= (dloss * share).reshape(-1, 1)", "drows *= dloss / share.size"),
    Mutation("gradients: = for += over shared passes", "model/gradients.py",
             'grads[f"{prefix}.{name}"] += dparam', 'grads[f"{prefix}.{name}"][...] = dparam'),
    Mutation("block: the residual's path forgotten", "model/block.py",
             "    dx, *dup = linear_backward(dy, cache.up)\n    dx += dresidual",
             "    dx, *dup = linear_backward(dy, cache.up)"),
    Mutation("encoder: every pass with the last cache", "model/encoder.py", "kept.append(cache)",
             "kept[:] = [cache] * (len(kept) + 1)"),
    Mutation("encoder: recomputed with another layer's dropout masks", "model/encoder.py",
             "block_forward(x, layer, ctx, positions)", "block_forward(x, layer + 1, ctx, positions)"),
    Mutation("encoder: recomputation begins one layer off", "model/encoder.py",
             "first = len(kept) * recompute", "first = len(kept) * recompute + 1"),
    Mutation("encoder: recomputation one layer short", "model/encoder.py",
             "wanted[first : first + recompute]", "wanted[first : first + max(recompute - 1, 1)]"),
    Mutation("encoder: a layer's place for its number where every k-th is kept", "model/encoder.py",
             "first = len(kept) * recompute", "first = len(kept)"),
    Mutation("encoder: the first layers' memory released with the last's", "model/encoder.py",
             "            mark = ctx.mark()\n", "            mark = 0 if kept else ctx.mark()\n", "fused"),
    Mutation("reversible: reconstruction subtracts from the wrong stream", "model/reversible.py",
             "x2 = y2 - f ", "x2 = y1 - f ", "reversible"),
    Mutation("reversible: reconstruction adds", "model/reversible.py", "x1 = y1 - a ", "x1 = y1 + a ", "reversible"),
    Mutation("reversible: the second half undone from the output", "model/reversible.py",
             "attention_branch_forward(x2, layer, ctx)\n    x1", "attention_branch_forward(y2, layer, ctx)\n    x1",
             "reversible"),
    Mutation("reversible: layers undone from the first", "model/reversible.py",
             "in reversed(range(last + 1)):", "in [last, *range(last)]:", "reversible"),
    Mutation("reversible: the last layer computed again at all positions", "model/reversible.py",
             "*_, cache = reversible_block_forward(x1, x2, layer, ctx, positions)",
             "*_, cache = reversible_block_forward(x1, x2, layer, ctx)"),
    Mutation("reversible: the second stream of the first tokens, in both directions", "model/reversible.py",
             "x2, _ = gather_forward(x2, positions)", "x2 = x2[:, : y1.shape[1]]", "reversible"),
    Mutation("reversible: the first stream's gradient not sent home", "model/reversible.py",
             "dx1, _ = gather_backward(dy1, gather)", "dx1 = dy1"),
    Mutation("reversible: the path through the other stream forgotten", "model/reversible.py",
             "dy1 = dy1 + ffn_branch_backward(dy2, ffn, ctx, grads)",
             "dy1 = dy1 + 0 * ffn_branch_backward(dy2, ffn, ctx, grads)"),
    Mutation("reversible: attention's gradient from the other stream", "model/reversible.py",
             "attention_branch_backward(dy1, attention", "attention_branch_backward(dy2, attention"),
    Mutation("reversible: one stream's gradient lost", "model/reversible.py", "return dx1 + dx2", "return 2 * dx1"),
    Mutation("reversible: the mean of the streams a sum, on the way back", "model/reversible.py",
             "dx1 = dx2 = dx / 2", "dx1 = dx2 = dx"),
    Mutation("reversible: both halves read one stream, in both directions", "model/reversible.py",
             "attention_branch_forward(x2, layer, ctx, positions)",
             "attention_branch_forward(x1, layer, ctx, positions)", "reversible"),
    Mutation("reversible: the norm left out before the FFN, in both directions", "model/reversible.py",
             "    y, up = linear_forward(y, w_up, b_up)", "    y, up = linear_forward(x, w_up, b_up)", "reversible"),
    Mutation("reversible: one dropout mask for both halves, in both directions", "model/reversible.py",
             "site=FFN_SITE))", "site=ATTENTION_SITE))", "reversible"),
    Mutation("reversible: no warning", "model/reversible.py", "if streams_apart(x1, x2) > LARGEST_ERROR:", "if False:",
             "reversible"),
    Mutation("reversible: the error of one stream with itself", "model/reversible.py", "norm(x1 - x2) /",
             "norm(x1 - x1) /", "reversible"),
    Mutation("heads: the tied table's second part missing", "model/heads.py",
             '["word"], [dtable])', '["word"], [0.0])'),
    Mutation("heads: pooler without tanh's slope", "model/heads.py",
             "(dx,) = tanh_backward(dpooled, tanh)", "dx = dpooled"),
    Mutation("heads: gradients of the masked positions one row up", "model/heads.py",
             "dhidden[:, 1:] += mlm_backward", "dhidden[:, :-1] += mlm_backward"),
    Mutation("heads: the pooler's gradient at another position", "model/heads.py",
             "dhidden[:, 0] += pooler_backward", "dhidden[:, 1] += pooler_backward"),
    Mutation("pretraining: the losses' weights exchanged, in both directions", "model/pretraining.py",
             "zip(weights, (mlm_loss, sop_loss), strict=True)", "zip(weights[::-1], (mlm_loss, sop_loss), strict=True)",
             "fused"),
    Mutation("embeddings: gradient without the lookup's part", "model/embeddings.py",
             "TABLES, dtables)", "TABLES[1:], dtables[1:])"),
    Mutation("dropout: one mask for all layers", "model/block.py",
             "ctx.key_at(layer=layer, site=PROBS_SITE)", "ctx.key_at(site=PROBS_SITE)", "fused"),
    Mutation("dropout: one mask for all sites and layers", "model/context.py",
             "self.key and self.key.at(**place)", "self.key", "fused"),
    Mutation("dropout: one mask for two sites", "model/block.py",
             "FFN_SITE = 1, 2, 3", "FFN_SITE = 1, 2, 2", "fused"),
    Mutation("config: groups dealt out in turn", "config.py",
             "layer * self.groups(half) // self.num_hidden_layers", "layer % self.groups(half)", "values"),
    Mutation("optimisers: biases decayed and adapted", "optim/blocks.py",
             "return tensor.ndim == 1", "return False", "steps"),
    Mutation("adam: ε inside the root, on the second rung", "optim/adamw.py", "    xp.sqrt(v, out=s) ",
             "    xp.sqrt(v + settings.eps, out=s) ", "steps"),
    Mutation("adam: v without the square", "optim/adamw.py", "xp.multiply(g, g, out=s)", "xp.abs(g, out=s)", "steps"),
    Mutation("adam: bias correction of v without its root, on both rungs", "optim/adamw.py",
             "1 / math.sqrt(1 - beta2**t)", "1 / (1 - beta2**t)", "steps"),
    Mutation("lamb: bias correction where ALBERT has none", "optim/lamb.py",
             "bias_correction: bool = False", "bias_correction: bool = True", "steps"),
    Mutation("lamb: decay forgotten", "optim/lamb.py", "self.weight_decay if adapted else 0.0", "0.0", "steps"),
    Mutation("lamb: a limit nobody asked for", "optim/lamb.py",
             "clamp: float | None = None", "clamp: float | None = 10.0", "steps"),
    Mutation("lamb: zero norm, ratio zero", "optim/lamb.py", "xp.where(both, u_norm, 1.0), 1.0)",
             "xp.where(both, u_norm, 1.0), 0.0)", "steps"),
    Mutation("lamb: the ratio of the last block alone", "optim/lamb.py",
             "sum_of_squares(x) + before", "sum_of_squares(x) + 0 * before", "steps"),
    Mutation("clip: what is short made long", "optim/clip.py",
             ".maximum(norm, limit)", ".minimum(norm, limit)", "steps"),
    Mutation("schedule: the fall counted from the end of warm-up", "optim/schedule.py",
             "self.peak * (1 - step / self.steps)",
             "self.peak * (1 - (step - self.warmup) / (self.steps - self.warmup))", "steps"),
    Mutation("kernel gelu: bias forgotten on the way back", "kernels/cpu/gelu.py", "    u += bias\n    x, t =",
             "    x, t =", "fused"),
    Mutation("kernel gelu: u' without its 3", "kernels/cpu/gelu.py", "slope *= 3 * C * A", "slope *= C * A", "fused"),
    Mutation("kernel gelu: the bias gradient of one row alone", "kernels/cpu/gelu.py",
             "column_sums(dy[rows], out=dbias)", "column_sums(dy[:1], out=dbias)", "fused"),
    Mutation("kernel norm: the residual left out", "kernels/cpu/norm.py", "z += residual[rows]", "pass", "fused"),
    Mutation("kernel norm: bias gradient before dropout", "kernels/cpu/norm.py", "            g = dh[rows]\n", "",
             "fused"),
    Mutation("kernel norm: no mean taken out", "kernels/cpu/norm.py", "g -= row_means(g)", "g -= 0", "fused"),
    Mutation("kernel tiles: the last one lost", "kernels/cpu/tiles.py", "for start in range(0, len(x), rows)]",
             "for start in range(0, max(1, len(x) - rows), rows)]", "fused"),
    Mutation("kernel dropout: the first example's mask for all", "kernels/dropout.py",
             "dropout_mask(x, self.rate, self.key, first)", "dropout_mask(x, self.rate, self.key)", "fused"),
    Mutation("dropout: slices share a counter", "backend.py", "[first * blocks, key.example,", "[first * blocks, 0,",
             "fused"),
    Mutation("kernel attention: mask of another example", "kernels/cpu/attention.py",
             "scores_of += keys_down(mask)", "scores_of += keys_down(mask[::-1])", "fused"),
    Mutation("kernel attention: not scaled on the way back", "kernels/cpu/attention.py",
             "dq[tile] /= math.sqrt(q.shape[-1])", "dq[tile] /= 1", "fused"),
    Mutation("kernel attention: delta left out", "kernels/cpu/attention.py",
             "dprobs -= np.vecdot(dcontext[tile], context[tile]).reshape(-1)", "dprobs -= 0", "fused"),
    Mutation("kernel attention: dropout mask of the wrong heads", "kernels/cpu/attention.py",
             "mask[:, n].swapaxes(-1, -2)", "mask[:, :n.stop - n.start].swapaxes(-1, -2)", "fused"),
    Mutation("kernel cross-entropy: old sums not made smaller", "kernels/cpu/cross_entropy.py",
             "total *= np.exp(top - higher)", "total *= 1", "fused"),
    Mutation("kernel cross-entropy: labels of other tiles too", "kernels/cpu/cross_entropy.py",
             "(labels < words.stop)", "(labels <= words.stop)", "fused"),
    Mutation("kernel embeddings: a word's last row alone", "kernels/cpu/embedding.py",
             "out[rows[starts]] += np.add.reduceat(updates[order], starts, axis=0)",
             "out[rows] = updates[order]", "fused"),
    Mutation("kernel gemm: added to nothing", "kernels/cpu/gemm.py",
             "out[rows] += a[rows] @ b", "out[rows] = a[rows] @ b", "fused"),
    Mutation("fused block: the FFN's dropout mask at attention's site, in both directions", "fused/block.py",
             "import ATTENTION_SITE, FFN_SITE, PROBS_SITE",
             "import ATTENTION_SITE, PROBS_SITE\nfrom ..model.block import ATTENTION_SITE as FFN_SITE", "fused"),
    Mutation("fused block: another dropout mask on the way back", "fused/block.py",
             "site=FFN_SITE)\n    dh =", "site=ATTENTION_SITE)\n    dh =", "fused"),
    Mutation("fused block: attention's residual lost", "fused/block.py", "linear_bias=bo, residual=residual",
             "linear_bias=bo, residual=None", "fused"),
    Mutation("fused block: the residual's path forgotten", "fused/block.py",
             "do.gemm(du, w_up.T, out=d, add=True)", "do.gemm(du, w_up.T, out=d)", "fused"),
    Mutation("fused block: d for dh into the FFN", "fused/block.py", "do.gemm(dh, w_down.T, out=du)",
             "do.gemm(d, w_down.T, out=du)", "fused"),
    Mutation("fused block: d for dh in a weight's gradient", "fused/block.py",
             "do.gemm(read.T, dh, out=dwo, add=True)", "do.gemm(read.T, d, out=dwo, add=True)", "fused"),
    Mutation("fused block: a weight's gradient replaced", "fused/block.py",
             "do.gemm(x.T, du, out=dw_up, add=True)", "do.gemm(x.T, du, out=dw_up)", "fused"),
    Mutation("fused block: u for gelu(u)", "fused/block.py",
             "    do.gelu_backward(du, u, b_up, config.gelu_form, dbias=db_up)\n"
             "    do.gemm(u.T, dh, out=dw_down, add=True)",
             "    do.gemm(u.T, dh, out=dw_down, add=True)\n"
             "    do.gelu_backward(du, u, b_up, config.gelu_form, dbias=db_up)", "fused"),
    Mutation("fused block: released too early", "fused/block.py",
             'dcontext = ctx.temporary("dcontext", d.shape)\n',
             'dcontext = ctx.temporary("dcontext", d.shape)\n    ctx.scratch.release(mark)\n', "fused"),
    Mutation("fused block: never released", "fused/block.py",
             "out=dx, add=True)\n    ctx.scratch.release(mark)\n", "out=dx, add=True)\n", "fused"),
    Mutation("fused block: queries and keys exchanged on the way back", "fused/block.py",
             "((dq, xq, dwq, dbq), (dk, x, dwk, dbk)", "((dk, x, dwq, dbq), (dq, xq, dwk, dbk)", "fused"),
    Mutation("fused block: keys and values exchanged, in both directions", "fused/block.py",
             "do.attention_forward(q, k, v,", "do.attention_forward(q, v, k,", "fused"),
    Mutation("fused block: residual of the first tokens, not of those asked for", "fused/block.py",
             "residual=residual, dropout", "residual=x[: len(residual)], dropout", "fused"),
    Mutation("fused block: rows of the first example, in both directions", "fused/block.py",
             "(positions + firsts[:, None])", "positions", "fused"),
    Mutation("fused block: the last layer's queries send nothing back", "fused/block.py",
             "        send_home(do, d, rows, out=dx)\n", "        dx.fill(0)\n", "fused"),
    Mutation("fused block: the last layer's gradient not emptied", "fused/block.py",
             "    out.fill(0)\n", "", "fused"),
    Mutation("encoder: every layer asked for few positions, in both directions", "model/encoder.py",
             "[None] * (ctx.config.num_hidden_layers - 1)", "[positions] * (ctx.config.num_hidden_layers - 1)"),
    Mutation("encoder: the last layer recomputed at all positions", "model/encoder.py",
             "block_forward(x, layer, ctx, positions)", "block_forward(x, layer, ctx)"),
    Mutation("multi_head: queries of all tokens' gradient not sent home", "layers/attention.py",
             "dx, _ = gather_backward(dxq, cache.asked)", "dx = linear_backward(merge_heads(dv) * 0.0, cache.v)[0]"),
    Mutation("block: the residual's gradient not sent home", "model/block.py",
             "dx += gather_backward(dresidual, cache.gather)[0]", "dx[:, : dresidual.shape[1]] += dresidual"),
    Mutation("heads: [CLS] is the last token, in both directions", "model/heads.py",
             "xp.pad(batch.mlm_positions, ((0, 0), (1, 0)))",
             "xp.pad(batch.mlm_positions, ((0, 0), (1, 0)), constant_values=batch.input_ids.shape[1] - 1)", "values"),
    Mutation("fused heads: SOP reads other rows, in both directions", "fused/heads.py",
             "xp.arange(0, B * width, width)", "xp.arange(B)", "fused"),
    Mutation("fused heads: SOP's path into the encoder lost", "fused/heads.py",
             "do.add_rows(dfirst, cache.rows, out=dhidden.reshape(-1, first.shape[1]))", "pass", "fused"),
    Mutation("fused heads: shares not scaled by the loss's gradient", "fused/heads.py",
             "cache.shares if dloss == 1.0 else cache.shares * dloss", "cache.shares", "fused"),
    Mutation("fused heads: given totals ignored", "fused/heads.py",
             "weights.sum(dtype=xp.float64) if total is None else xp.asarray(total)",
             "weights.sum(dtype=xp.float64)", "fused"),
    Mutation("fused heads: the row before each masked one, in both directions", "fused/heads.py",
             "reshape(B, 1 + P)[:, 1:]", "reshape(B, 1 + P)[:, :-1]", "fused"),
    Mutation("fused heads: the tied table's second part missing", "fused/heads.py",
             'dtable=grads["embeddings.word"]', 'dtable=grads["embeddings.word"].copy()', "fused"),
    Mutation("fused embeddings: no gradient of the projection's bias", "fused/embeddings.py",
             'do.column_sums(dx, out=grads["embeddings.projection.b"])', "pass", "fused"),
    Mutation("fused embeddings: dropout not undone", "fused/embeddings.py",
             "    do.drop(dy, ctx.dropout(config.hidden_dropout_prob, cache.ids.shape[1], site=DROPOUT_SITE))\n", "",
             "fused"),
    Mutation("fused context: one dropout mask for all sites and layers", "fused/context.py",
             "self.key.at(**place)", "self.key", "fused"),
    Mutation("fused context: dhidden not emptied", "fused/context.py", "zeros.fill(0)", "pass", "fused"),
    Mutation("fused context: a layer's input not moved before its memory is free", "fused/context.py",
             "        return moved\n", "        return keep\n", "fused"),
    Mutation("fused context: the arena not emptied", "fused/context.py", "    arena.release(0)\n", "", "fused"),
    Mutation("fused context: the scratch stack not emptied", "fused/context.py", "    scratch.release(0)\n", "",
             "fused"),
    Mutation("arena: two arrays in one place", "fused/arena.py", "nbytes, block, start + nbytes)",
             "nbytes, block, start)", "fused"),
    Mutation("arena: nothing released", "fused/arena.py", "del self.stack[mark:]", "pass", "fused"),
    Mutation("arena: a block for each array for ever", "fused/arena.py",
             "if not self.stack and len(self.blocks) > 1:", "if False:", "fused"),
    Mutation("tree: summed from left to right", "parallel/tree.py", "while height % 2 == 0:", "while self.waiting:",
             "fused"),
    Mutation("workers: each part begins with the first example", "parallel/workers.py",
             "dropout.at(example=dropout.example + part.first)", "dropout", "fused"),
    Mutation("slices: each slice begins with the first example", "parallel/slices.py",
             "examples[i:j], first + i)", "examples[i:j], i)", "fused"),
    Mutation("workers: each part its own totals", "parallel/workers.py", "    if len(batches) == 1:\n",
             "    if batches:\n", "fused"),
    Mutation("workers: every slice adds into what was given", "parallel/workers.py",
             "if into is not None and number == 0:", "if into is not None:", "fused"),
    Mutation("workers: a gradient used again is not emptied", "parallel/workers.py", "        grads.flat.fill(0)\n", "",
             "fused"),
    Mutation("workers: one memory for two slices", "parallel/workers.py", "self._free_memory.pop()",
             "self._free_memory[-1]", "fused"),
    Mutation("workers: BLAS not limited to one thread", "parallel/workers.py",
             "            with blas_threads(limit):\n                return",
             "            with blas_threads(None):\n                return", "fused"),
    Mutation("workers: jobs left running", "parallel/workers.py", "            wait(running)", "            pass",
             "fused"),
    Mutation("workers: a forked process waits for its parent's threads", "parallel/workers.py",
             "            self._begin()\n", "            pass\n", "fused"),
    Mutation("slices: a part one token short", "parallel/slices.py", "int(size[examples[i]])",
             "int(size[examples[i]]) - 1", "fused"),
    Mutation("slices: as long as the shortest example", "parallel/slices.py", "np.argsort(-size,",
             "np.argsort(size,", "fused"),
    Mutation("slices: an example without a token trimmed", "parallel/slices.py",
             "xp.where(last == 0, mask.shape[1], last)", "xp.maximum(last, 1)", "fused"),
    Mutation("slices: as many places as tokens, though there are holes", "parallel/slices.py",
             "(mask * xp.arange(1, mask.shape[1] + 1)).max(axis=1)", "mask.sum(axis=1)", "fused"),
    Mutation("slices: a prediction of padding forgotten", "parallel/slices.py",
             "size = xp.maximum(size, used.max(axis=1, initial=0))", "pass", "fused"),
    Mutation("slices: unused slots counted", "parallel/slices.py", "used = batch.mlm_weights[examples] > 0",
             "used = batch.mlm_weights[examples] >= 0", "fused"),
    Mutation("slices: the last used slot lost", "parallel/slices.py", "slots = 1 + max(", "slots = max(", "fused"),
    Mutation("slices: an unused slot reads what was cut off", "parallel/slices.py", "positions * used[:, :slots]",
             "positions * 1", "fused"),
    Mutation("slices: an empty slice", "parallel/slices.py", "max(end, ends[-1] + 1)", "end", "fused"),
    Mutation("slices: cut by the number of workers' threads alone", "parallel/slices.py",
             "min(worth, SLICES, len(size))", "min(1, SLICES, len(size))", "fused"),
    Mutation("threads: the first who leaves lifts everybody's limit", "parallel/threads.py",
             "elif not self.users:", "else:", "fused"),
    Mutation("threads: the first thread alone limits BLAS", "parallel/threads.py",
             'getattr(library, "_real_set_num_threads", library.set_num_threads)(count)',
             "library.set_num_threads(count)", "fused"),
    Mutation("threads: a thread's own number not given back", "parallel/threads.py", "if is_each_threads(library):",
             "if False:", "fused"),
    Mutation("threads: a lock that nobody in a forked process gives back", "parallel/threads.py",
             "os.register_at_fork(after_in_child=_limit.forked)", "pass", "fused"),
    Mutation("encode: results in the sorted order", "albert.py", "hidden[examples, : last.shape[1]] = last",
             "hidden[part.first : part.first + len(last), : last.shape[1]] = last", "fused"),
    Mutation("encode: something at padding", "albert.py", "hidden[padding] = 0", "pass", "fused"),
    Mutation("encoding: results in the sorted order", "encoding.py", "self._states[examples, : x.shape[1]]",
             "self._states[part.first : part.first + len(x), : x.shape[1]]", "fused"),
    Mutation("encoding: a gradient at padding", "encoding.py", "total[self._padding] = 0", "pass", "fused"),
    Mutation("encoding: a position that was cut off", "encoding.py", "read * (read < size)", "read", "fused"),
    Mutation("compiled adam: v without the square", "kernels/compiled/optimisers.py",
             "            vs[j] = beta2 * vs[j] + rest2 * (x * x)\n            ws[j]",
             "            vs[j] = beta2 * vs[j] + rest2 * abs(x)\n            ws[j]", "compiled"),
    Mutation("compiled lamb: unscaled gradients", "kernels/compiled/optimisers.py",
             "            x = gs[j] * scale\n            ms[j] = beta1 * ms[j] + rest1 * x\n"
             "            vs[j] = beta2 * vs[j] + rest2 * (x * x)\n            wide_w",
             "            x = gs[j]\n            ms[j] = beta1 * ms[j] + rest1 * x\n"
             "            vs[j] = beta2 * vs[j] + rest2 * (x * x)\n            wide_w", "compiled"),
    Mutation("compiled: ε inside the root", "kernels/compiled/optimisers.py", "np.sqrt(v) * c2 + eps",
             "np.sqrt(v + eps) * c2", "compiled"),
    Mutation("compiled: biases decayed", "kernels/compiled/optimisers.py", "np.where(chunks.adapted, real(",
             "np.where(chunks.adapted | True, real(", "compiled"),
    Mutation("compiled lamb: the ratio of a tensor's first chunk", "kernels/compiled/optimisers.py",
             "np.add.reduceat(squares, chunks.first, axis=0)", "squares[chunks.first]", "compiled"),
    Mutation("compiled lamb: biases adapted", "kernels/compiled/optimisers.py",
             "np.where(chunks.adapted, self.settings.ratio(*norms.T), 1.0)", "self.settings.ratio(*norms.T)",
             "compiled"),
    Mutation("compiled: a thread's last chunk left out", "kernels/compiled/optimisers.py",
             "others = [pool(threads - 1, os.getpid()).submit(loop, *arguments, *part)",
             "others = [pool(threads - 1, os.getpid()).submit(loop, *arguments, part[0], part[1] - 1)", "compiled"),
    Mutation("compiled: another tensor's places", "kernels/compiled/optimisers.py",
             "names = list(params) if only is None else chosen(params, only)",
             "names = list(params) if only is None else list(params)[: len(chosen(params, only))]", "compiled"),
    Mutation("compiled: threads of the parent in a forked process", "kernels/compiled/optimisers.py",
             "pool(threads - 1, os.getpid())", "pool(threads - 1, 0)", "compiled"),
    Mutation("compiled: a run steps with NumPy's", "fused/__init__.py", 'if kernels != "compiled":',
             'if kernels != "Compiled":', "compiled"),
    Mutation("rates: the first product counted", "kernels/cpu/rates.py", "min(taken[1:])", "taken[0]", "speed"),
    Mutation("rates: operations without their additions", "kernels/cpu/rates.py",
             "return 2 * size**3", "return size**3", "speed"),
    Mutation("rates: float32 told to be the slower one", "kernels/cpu/rates.py", "half > FASTER * full",
             "full > FASTER * half", "speed"),
    Mutation("rates: measured for every model", "compute.py", "@functools.cache\ndef warn", "def warn", "speed"),
    Mutation("bench: the first turn counted", "commands/bench.py",
             "seconds[1:] or seconds for", "seconds for", "speed"),
    Mutation("bench: turns without end", "commands/bench.py", "now + (now - begin) > end", "now > 2 * end", "speed"),
    Mutation("bench: the last of those that are as good", "commands/bench.py",
             "next(item for item in steps.items() if", "next(item for item in [*steps.items()][::-1] if", "speed"),
]  # fmt: skip

GRADCHECK = """
import sys
from minalbert.gradcheck.cases import all_cases

def wrong(case):
    try:
        return not case.check(entries=False).passed
    except (ValueError, TypeError):                  # arrays that no longer fit
        return True

sys.exit(any([wrong(case) for case in all_cases()]))
"""


def tests(*names):
    return ["-m", "pytest", "-qx", "-p", "no:cacheprovider", *(f"test_{name}.py" for name in names)]


JUDGES = {
    "gradcheck": ["-c", GRADCHECK],
    "values": tests("values", "golden", "model"),
    "fused": tests("slices", "threads", "parallel", "implementations", "arena", "backend"),
    "sparse": tests("sparse_attention"),
    "steps": tests("optim", "schedule"),
    "reversible": tests("reversible"),
    "compiled": tests("compiled_optimisers"),
    "speed": tests("rates", "bench"),
}


def caught(package, by):
    """Does this judge find a mistake in the package that lies in a folder?"""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, *JUDGES[by]]
    result = subprocess.run(
        command, cwd=TESTS, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=900
    )
    assert not result.stderr, result.stderr  # a judge that cannot run has judged nothing
    assert result.returncode in (0, 1), result.stdout
    return result.returncode == 1


def needs(judge):
    if judge == "compiled":
        pytest.importorskip("numba", reason="numba is not installed (pip install 'minalbert[fast]')")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_mistake_is_caught(mutation, tmp_path):
    needs(mutation.seen_by)
    package = tmp_path / "minalbert"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.right) == 1, "the line to break must stand there once"
    path.write_text(source.replace(mutation.right, mutation.wrong), encoding="utf-8")

    assert caught(package, mutation.seen_by)


@pytest.mark.parametrize("by", JUDGES)
def test_the_library_as_it_is_passes_each_judge(by):
    needs(by)
    assert not caught(PACKAGE, by)
