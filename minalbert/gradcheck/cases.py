"""The cases of the gradient check, at points chosen so that mistakes show.

All sizes differ, so that nothing fits transposed. Gains are not one and biases not zero. The norm's eps is 0.1,
because at 1e-12 forgetting it would not show. Activations are of size one, where GELU bends. Ids repeat, one
sequence is padded, both segments occur, a position is predicted twice, weights differ, and a shared layer is
passed at least three times.
"""

from dataclasses import dataclass, replace

import numpy as np

from .. import layers
from ..backend import DropoutKey
from ..batch import Batch
from ..config import AlbertConfig
from ..fused import fused_pairs
from ..model import PLAIN
from ..params import HEADS, Params, shapes
from .checks import check_model
from .pair_case import PairCase
from .task_cases import task_cases

B, T, P, V, E, H, F, N = 2, 5, 3, 11, 4, 6, 7, 2
KEY = DropoutKey(seed=7, step=3, layer=1, site=2)


@dataclass
class ModelCase:
    name: str
    config: AlbertConfig
    heads: tuple = HEADS
    key: DropoutKey | None = None
    recompute: bool = False
    pairs: object = PLAIN

    def check(self, entries=True, method="complex", seed=0):
        params, batch = hard_params(self.config, self.heads, seed), hard_batch(self.config)
        model = self.config, batch, params, self.key, self.recompute
        return check_model(*model, self.name, entries, method, seed, self.pairs)


def pair_cases(seed=0):
    """A case for every pair of `layers`; a test sees that none is missing."""
    rng = np.random.default_rng(seed)

    def normal(*shape):
        return rng.standard_normal(shape)

    def matrix(i, o):
        return normal(i, o) / np.sqrt(i)

    def pair(name, args, static=None, constants=(), function=None):
        function = function or name
        forward, backward = getattr(layers, f"{function}_forward"), getattr(layers, f"{function}_backward")
        return PairCase(name, forward, backward, args, static or {}, constants)

    norm = {"x": normal(B, T, H), "gain": 1 + normal(H), "bias": normal(H)}
    ids, types = np.array([[3, 1, 3, 9, 3], [0, 3, 1, 0, 0]]), np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0]])
    positions = np.array([[4, 2, 4], [1, 0, 0]])
    tables = {"word": normal(V, E), "position": normal(T + 2, E), "token_type": normal(2, E)}
    heads = {key: normal(B, N, T, H // N) for key in ("q", "k", "v")} | {"mask": -3 * rng.random((B, 1, 1, T))}
    local, block, strided = (layers.Pattern(kind, w, 2, g, queries=2)
                             for kind, w, g in (("local", 2, 0), ("block", 3, 1), ("strided", 2, 1)))  # fmt: skip
    square = {f"{kind}{key}": matrix(H, H) if kind == "w" else normal(H) for key in "qkvo" for kind in "wb"}
    logits = {"logits": normal(B, P, V), "labels": rng.integers(0, V, (B, P)), "weights": rng.random((B, P))}
    orders = {"logits": normal(B, 2), "labels": np.array([1, 0]), "weights": np.ones(B)}
    return [
        pair("linear", {"x": normal(B, T, H), "w": matrix(H, F), "b": normal(F)}),
        pair("projection", {"x": normal(B, T, E), "w": matrix(E, H), "b": normal(H)}, function="linear"),
        pair("gelu", {"x": 1.5 * normal(B, T, F)}),
        pair("gelu_erf", {"x": 1.5 * normal(B, T, F)}),
        pair("tanh", {"x": normal(B, H)}),
        pair("softmax", {"x": 2 * normal(B, T, H)}),
        pair("layer_norm", norm, {"eps": 0.1}),
        pair("dropout", {"x": normal(B, T, H)}, {"rate": 0.4, "key": KEY}),
        pair("attention", heads, constants=("mask",)),
        pair("attention with dropout", heads, {"rate": 0.3, "key": KEY}, ("mask",), "attention"),
        pair("sparse_attention", heads, {"pattern": local}, ("mask",)),
        pair("sparse attention, blocks", heads, {"pattern": block}, ("mask",), "sparse_attention"),
        pair("sparse attention with dropout", heads, {"pattern": strided, "rate": 0.3, "key": KEY}, ("mask",),
             "sparse_attention"),
        pair("multi_head", {"x": normal(B, T, H)} | square | {"mask": heads["mask"]}, {"heads": N}, ("mask",)),
        pair("multi_head at positions", {"x": normal(B, T, H)} | square | {"mask": heads["mask"]},
             {"heads": N, "positions": positions}, ("mask",), "multi_head"),
        pair("embedding", {"ids": ids, "types": types} | tables),
        pair("gather", {"x": normal(B, T, H), "positions": positions}),
        pair("decoder", {"x": normal(B, P, E), "table": normal(V, E), "bias": normal(V)}),
        pair("masked cross-entropy", logits, constants=("weights",), function="cross_entropy"),
        pair("two-way cross-entropy", orders, constants=("weights",), function="cross_entropy"),
        pair("squared_error", {"y": normal(B), "targets": normal(B)}, constants=("targets",)),
        pair("binary_cross_entropy", {"z": 2 * normal(B, T), "labels": rng.integers(0, 2, (B, T))}),
    ]


TINY = AlbertConfig(
    vocab_size=V, embedding_size=E, hidden_size=H, num_hidden_layers=3, num_attention_heads=N,
    intermediate_size=F, max_position_embeddings=T + 2, layer_norm_eps=0.1,
)  # fmt: skip


def model_cases():
    deep = TINY.replace(num_hidden_layers=6)
    dropped = TINY.replace(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.3)
    return [
        ModelCase("model, all shared", TINY),
        ModelCase("model, attention shared", TINY.replace(sharing="attention")),
        ModelCase("model, ffn shared", TINY.replace(sharing="ffn")),
        ModelCase("model, nothing shared", TINY.replace(sharing="none")),
        ModelCase("model, 2 groups of 3 layers", deep.replace(num_hidden_groups=2)),
        ModelCase("model, erf GELU", TINY.replace(hidden_act="gelu")),
        ModelCase("model, E = H (BERT)", TINY.replace(embedding_size=H, sharing="none")),
        ModelCase("model, dropout, recomputed", dropped, key=KEY, recompute=True),
        ModelCase("model, local attention", TINY.replace(attention="local", attention_window=2)),
        ModelCase("model, strided attention, dropout", dropped.replace(
            attention="strided", attention_window=1, attention_stride=3, attention_global=0), key=KEY),
        ModelCase("model, MLM alone", TINY, heads=("mlm",)),
        ModelCase("model, recomputed 4 layers at a time", deep.replace(hidden_dropout_prob=0.2), key=KEY, recompute=4),
        ModelCase("model, reversible", deep.replace(reversible=True)),
        ModelCase("model, reversible, groups, dropout", dropped.replace(reversible=True, num_hidden_groups=2), key=KEY),
    ]


def hard_params(config, heads=HEADS, seed=0):
    """Weights that keep activations near one; gains off one and biases off zero, but not so far that all
    tokens become alike, because then the gradient of queries and keys would vanish."""
    rng = np.random.default_rng(seed)
    params = Params.zeros(shapes(config, heads), np.float64)
    for name, tensor in params.items():
        tensor[...] = rng.standard_normal(tensor.shape)
        if name.endswith(".w"):
            tensor *= 1.5 / np.sqrt(tensor.shape[0])
        elif tensor.ndim == 1:
            tensor *= 0.3
        if name.endswith(".gain"):
            tensor += 1.0
    return params


def hard_batch(config):
    """Three sequences, one padded to a single token, with repeated ids and a position predicted twice."""
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0], [1, 0, 0, 0, 0]])
    ids = np.array([[2, 7, 3, 7, 3], [2, 3, 5, 3, 0], [7, 0, 0, 0, 0]])
    types = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]])
    return Batch(
        input_ids=ids % config.vocab_size,
        attention_mask=mask,
        token_type_ids=types,
        mlm_positions=np.array([[1, 3, 0], [2, 2, 3], [0, 0, 0]]),
        mlm_labels=np.array([[4, 7, 0], [5, 9, 1], [0, 0, 0]]) % config.vocab_size,
        mlm_weights=np.array([[1.0, 0.5, 0.0], [2.0, 1.0, 1.0], [0.0, 0.0, 0.0]]),
        sop_labels=np.array([1, 0, 1]),
    )


def all_cases():
    """The pairs, tasks' heads, the models, and the same models by the fused pairs, which have no reversible layers."""
    models = model_cases()
    fused = [replace(case, name=f"{case.name}, fused", pairs=fused_pairs()) for case in models]
    return pair_cases() + task_cases(TINY, B, T) + models + [case for case in fused if not case.config.reversible]
