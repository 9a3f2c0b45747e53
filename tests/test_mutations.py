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

PACKAGE = Path(minalbert.__file__).parent
TESTS = Path(__file__).parent


class Mutation(NamedTuple):
    name: str
    file: str
    right: str
    wrong: str
    # "values": forward and backward are wrong together; "steps": of optimisers; "fast": of kernels
    seen_by: str = "gradcheck"


MUTATIONS = [
    Mutation("linear: dx not transposed back", "layers/linear.py", "drows @ w.T", "drows @ w"),
    Mutation("linear: bias gradient a mean", "layers/linear.py", "drows.sum(axis=0)", "drows.mean(axis=0)"),
    Mutation("gelu: factor 3 lost", "layers/gelu.py", "du *= 3 * C * A", "du *= C * A"),
    Mutation("gelu: x times tanh' lost", "layers/gelu.py", "    dx *= x   ", "    dx *= 1   "),
    Mutation("gelu: erf's slope for tanh's", "layers/gelu.py", "(gelu_forward, gelu_backward)",
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
    Mutation("attention: coins of dropout not applied", "layers/attention.py",
             "(dprobs,) = dropout_backward(dkept, coins)", "dprobs = dkept"),
    Mutation("attention: mask before scaling, in both directions", "layers/attention.py",
             "    scores *= 1 / math.sqrt(q.shape[-1])\n    scores += mask",
             "    scores += mask\n    scores *= 1 / math.sqrt(q.shape[-1])", "values"),
    Mutation("attention: heads not merged back", "layers/attention.py",
             "return x.swapaxes(1, 2).reshape(B, T, N * D)", "return x.reshape(B, T, N * D)", "values"),
    Mutation("multi_head: the path through K forgotten", "layers/attention.py", "    dx += dx_k", "    dx += 0.0"),
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
    Mutation("encoder: the residual's path forgotten", "model/encoder.py",
             "    dx, *dup = linear_backward(dy, up)\n    dx += dresidual", "    dx, *dup = linear_backward(dy, up)"),
    Mutation("encoder: every pass with the last cache", "model/encoder.py", "kept.append(x if recompute else cache)",
             "kept[:] = [x if recompute else cache] * (len(kept) + 1)"),
    Mutation("encoder: recomputed with other coins", "model/encoder.py",
             "_, block_cache = block_forward(block_cache, layer, context)",
             "_, block_cache = block_forward(block_cache, layer + 1, context)"),
    Mutation("heads: the tied table's second part missing", "model/heads.py",
             '["word"], [dtable])', '["word"], [0.0])'),
    Mutation("heads: pooler without tanh's slope", "model/heads.py",
             "(dx,) = tanh_backward(dpooled, tanh)", "dx = dpooled"),
    Mutation("pretraining: SOP's path into the encoder lost", "model/pretraining.py",
             "dhidden += mlm_backward", "dhidden = mlm_backward"),
    Mutation("embeddings: gradient without the lookup's part", "model/embeddings.py",
             "TABLES, dtables)", "TABLES[1:], dtables[1:])"),
    Mutation("dropout: one coin for all layers", "model/encoder.py",
             "self.stream.at(layer=layer, site=site)", "self.stream.at(site=site)", "values"),
    Mutation("dropout: one coin for two sites", "model/encoder.py",
             "FFN_SITE = 1, 2, 3", "FFN_SITE = 1, 2, 2", "values"),
    Mutation("config: groups dealt out in turn", "config.py",
             "layer * self.groups(part) // self.num_hidden_layers", "layer % self.groups(part)", "values"),
    Mutation("optimisers: biases decayed and adapted", "optim/blocks.py",
             "return tensor.ndim == 1", "return False", "steps"),
    Mutation("adam: ε inside the root, on the second rung", "optim/adamw.py", "    xp.sqrt(v, out=s) ",
             "    xp.sqrt(v + terms.eps, out=s) ", "steps"),
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
             "    x, t =", "fast"),
    Mutation("kernel gelu: u' without its 3", "kernels/cpu/gelu.py", "slope *= 3 * C * A", "slope *= C * A", "fast"),
    Mutation("kernel gelu: the bias gradient of one tile alone", "kernels/cpu/gelu.py",
             "column_sums(dy[rows], out=dbias)", "column_sums(dy[:1], out=dbias)", "fast"),
    Mutation("kernel norm: the residual left out", "kernels/cpu/norm.py", "z += residual[rows]", "pass", "fast"),
    Mutation("kernel norm: bias gradient before dropout", "kernels/cpu/norm.py", "            g = dh[rows]\n", "",
             "fast"),
    Mutation("kernel norm: no mean taken out", "kernels/cpu/norm.py", "g -= row_means(g)", "g -= 0", "fast"),
    Mutation("kernel tiles: the last one lost", "kernels/cpu/tiles.py", "for start in range(0, len(x), rows)]",
             "for start in range(0, max(1, len(x) - rows), rows)]", "fast"),
    Mutation("kernel drop: the first example's mask for all", "kernels/dropout.py",
             "example=self.key.example + first", "example=self.key.example", "fast"),
    Mutation("kernel attention: mask of another example", "kernels/cpu/attention.py",
             "scores_of += mask[:, None, :, None]", "scores_of += mask[::-1, None, :, None]", "fast"),
    Mutation("kernel attention: not scaled on the way back", "kernels/cpu/attention.py",
             "dq[tile] /= math.sqrt(q.shape[-1])", "dq[tile] /= 1", "fast"),
    Mutation("kernel attention: delta left out", "kernels/cpu/attention.py",
             "dprobs -= np.vecdot(dcontext[tile], context[tile]).reshape(-1)", "dprobs -= 0", "fast"),
    Mutation("kernel attention: dropout mask of the wrong heads", "kernels/cpu/attention.py",
             "mask[:, n].swapaxes(-1, -2)", "mask[:, :n.stop - n.start].swapaxes(-1, -2)", "fast"),
    Mutation("kernel words: old sums not made smaller", "kernels/cpu/cross_entropy.py",
             "total *= np.exp(top - higher)", "total *= 1", "fast"),
    Mutation("kernel words: labels of other tiles too", "kernels/cpu/cross_entropy.py",
             "(labels < words.stop)", "(labels <= words.stop)", "fast"),
    Mutation("kernel embeddings: a word's last place alone", "kernels/cpu/embedding.py",
             "out[rows[starts]] += np.add.reduceat(updates[order], starts, axis=0)",
             "out[rows] = updates[order]", "fast"),
    Mutation("kernel gemm: added to nothing", "kernels/cpu/gemm.py",
             "out += a @ b", "out[...] = a @ b", "fast"),
    Mutation("engine: d not emptied", "fast/engine.py", "        d.fill(0)\n", "", "fast"),
    Mutation("engine: one slot for all layers", "fast/encoder.py",
             'slot = layer if part.keep == "all" else "all layers"', 'slot = "all layers"', "fast"),
    Mutation("crew: every part its own first example", "fast/accumulate.py",
             "stream.at(example=stream.example + first)", "stream", "fast"),
    Mutation("crew: BLAS not held to one thread", "fast/crew.py",
             "with blas_threads(1 if len(parts) > 1 else None):", "with blas_threads(None):", "fast"),
    Mutation("crew: the rest left at work", "fast/crew.py", "            wait(begun)", "            pass", "fast"),
    Mutation("crew: each part its own totals", "fast/accumulate.py",
             "    if len(parts) == 1:\n", "    if parts:\n", "fast"),
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
JUDGES = {
    "gradcheck": ["-c", GRADCHECK],
    "values": ["-m", "pytest", "-qx", "-p", "no:cacheprovider", "test_values.py", "test_golden.py", "test_model.py"],
    "fast": ["-m", "pytest", "-qx", "-p", "no:cacheprovider", "test_fast.py"],
    "steps": ["-m", "pytest", "-qx", "-p", "no:cacheprovider", "test_optim.py", "test_schedule.py"],
}


def caught(package, by):
    """What a judge says of the package that lies in a folder."""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, *JUDGES[by]]
    result = subprocess.run(command, cwd=TESTS, env=environment, capture_output=True, encoding="utf-8", check=False)
    assert not result.stderr, result.stderr  # a judge that cannot run has judged nothing
    assert result.returncode in (0, 1), result.stdout
    return result.returncode == 1


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_mistake_is_caught(mutation, tmp_path):
    package = tmp_path / "minalbert"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.right) == 1, "the line to break must stand there once"
    path.write_text(source.replace(mutation.right, mutation.wrong), encoding="utf-8")

    assert caught(package, mutation.seen_by)


@pytest.mark.parametrize("by", JUDGES)
def test_the_library_as_it_is_passes_each_judge(by):
    assert not caught(PACKAGE, by)
