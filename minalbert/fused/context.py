"""What the fused pairs are given: a context with kernels, and memory to write into.

    arena       what a backward pass needs: caches, pushed going forward; and one array for the layers' states
    scratch     what is needed for a moment, and gradients of activations on their way back

Both belong to one pass at a time. A context begins with both empty, so an earlier pass's arrays are written over.
"""

from typing import Any, NamedTuple

from ..backend import DropoutKey, array_module, device_of
from ..kernels import Dropout
from ..layers import key_mask
from ..params import Params, half_name
from .arena import Arena


class Memory(NamedTuple):
    """What one worker keeps from pass to pass."""

    kernels: Any
    arena: Arena
    scratch: Arena


class NormOutput(NamedTuple):
    """xhat gain + bias: what is kept of a layer's input, because its norm's backward pass needs xhat anyway."""

    xhat: Any
    gain: Any
    bias: Any


class States:
    """The array in which each half of a block finds its input, and leaves its output in its place."""

    def __init__(self, array):
        self.array, self.norm = array, None          # the norm whose output lies there


class FusedContext(NamedTuple):
    """What `model.Context` is to the plain pairs; R = B·T rows, one for each token."""

    config: Any
    params: Any
    mask: Any                                        # (B, T), added to the attention scores
    key: DropoutKey | None
    pairs: Any
    kernels: Any
    matrices: Any                                    # the weights as `gemm` reads them: params, or half as wide
    arena: Arena
    scratch: Arena
    states: States                                   # (R, H)

    def weights(self, half, layer, names):
        prefix = half_name(self.config, half, layer)
        return [self.tensor(f"{prefix}.{name}") for name in names]

    def tensor(self, name):
        return self.matrices[name] if name.endswith(".w") else self.params[name]

    def gradients(self, grads, half, layer, names):
        prefix = half_name(self.config, half, layer)
        return [grads[f"{prefix}.{name}"] for name in names]

    def dropout(self, rate, length, **place):
        """The dropout of one site, where `length` rows make an example; None where nothing is dropped."""
        if self.key is None or rate == 0.0:
            return None
        return Dropout(rate, self.key.at(**place), length)

    def integers(self, array):
        """As they are, or int64 on a GPU, whose kernels read nothing else."""
        return array.astype("int64", copy=False) if device_of(array) == "cuda" else array

    def kept(self, label, shape, dtype=None):
        """An array for the backward pass; statistics of rows are never in half precision."""
        return self.arena.empty(label, shape, dtype or self.storage)

    def output(self, *norm):
        """Where a half writes its norm's output: over its input, if that lies there, too. norm: xhat, gain, bias"""
        shape = norm[0].shape
        if shape > self.states.array.shape:          # more positions are asked for than there are tokens
            return self.kept("y", shape)
        self.states.norm = NormOutput(*norm)
        return self.states.array[: shape[0]]

    def to_keep(self, x):
        """What backward needs of a half's input: x itself, or the norm of which it is the output."""
        return self.states.norm if array_module(x).may_share_memory(x, self.states.array) else x

    def again(self, kept, *, out):
        """The input that `to_keep` was given; out is for a norm's output."""
        if isinstance(kept, NormOutput):
            self.kernels.norm_output(*kept, out=out)
            return out
        return kept

    def temporary(self, label, shape, dtype=None):
        return self.scratch.empty(label, shape, dtype or self.storage)

    @property
    def storage(self):
        """The dtype of activations."""
        return self.kernels.STORAGE or self.params.dtype

    def zeros_like(self, x):
        zeros = self.temporary("dhidden", x.shape, x.dtype)
        zeros.fill(0)
        return zeros

    def to_params_dtype(self, x):
        if x.dtype == self.params.dtype:
            return x
        wide = array_module(x).empty(x.shape, self.params.dtype)
        self.kernels.cast(x, out=wide)
        return wide

    def from_params_dtype(self, x):
        stored = self.temporary("dhidden", x.shape)
        if stored.dtype == x.dtype:
            stored[...] = x
        else:
            self.kernels.cast(x, out=stored)
        return stored

    def mark(self):
        return self.arena.mark()

    def release(self, mark, keep=None):
        self.arena.release(mark)
        if keep is None:
            return None
        moved = self.kept("x", keep.shape, keep.dtype)
        moved[...] = keep
        return moved


def fused_context(pairs, config, params, attention_mask, key=None, memory=None):
    kernels, arena, scratch = memory
    arena.release(0)
    scratch.release(0)
    mask = array_module(params.flat).ascontiguousarray(key_mask(attention_mask, params.dtype)[:, 0, 0])
    matrices = params
    if kernels.WEIGHTS is not None:
        rounded = arena.empty("weights", params.flat.shape, kernels.WEIGHTS)
        kernels.cast(params.flat, out=rounded)
        matrices = Params(rounded, params.shapes)
    states = arena.empty("y", (mask.size, config.hidden_size), kernels.STORAGE or params.dtype)
    return FusedContext(config, params, mask, key, pairs, kernels, matrices, arena, scratch, States(states))
