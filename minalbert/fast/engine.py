"""Forward and backward of a part of a batch, over the buffers of one workspace."""

import numpy as np

from ..backend import DeviceError, array_module
from ..config import ConfigError
from ..kernels import cpu, cpu_bf16
from ..kernels.bf16 import bf16_missing
from ..layers import key_mask
from ..model.pretraining import Losses
from ..params import Params
from .encoder import block_forward, encoder_backward, encoder_forward, layer_input
from .ends import (
    Targets,
    embeddings_backward,
    embeddings_forward,
    order_backward,
    order_forward,
    words_backward,
    words_forward,
)
from .part import Part
from .plain import PlainEngine
from .workspace import Workspace

KERNELS = {"full": cpu, "bf16": cpu_bf16}
FLOATS = (np.float32, np.float64)                    # what BLAS multiplies


def check_precision(precision, params):
    if precision not in KERNELS:
        raise ConfigError(f"precision is {precision!r}; it must be one of: {', '.join(KERNELS)}")
    if precision == "bf16":
        if params.dtype != np.float32 or params.device != "cpu":
            kind = f"{params.dtype} on {params.device}"
            raise ConfigError(f"precision 'bf16' needs float32 weights on the CPU, not {kind}")
        if reason := bf16_missing():
            raise DeviceError(f"precision 'bf16' cannot be used: {reason}")


def engine_for(config, params, precision="full"):
    """With kernels where there are some for these arrays, else plain."""
    if params.device == "cpu" and params.dtype in FLOATS:
        return Engine(config, params, KERNELS[precision])
    return PlainEngine(config, params)


class Engine:
    """One thread's way through the model. Between `forward` and `backward` the workspace holds a part's cache."""

    def __init__(self, config, params, kernels=cpu):
        self.config, self.params, self.kernels = config, params, kernels
        self.xp = array_module(params.flat)
        self.workspace = Workspace(self.xp, params.dtype)
        self._pending = None

    def states(self, batch):
        """What enters each layer, and what leaves the last: (B, T, H), buffers that are soon written over."""
        part = self._part(batch, None, "nothing")
        shape = (*batch.input_ids.shape, self.config.hidden_size)
        embeddings_forward(batch, part, layer_input(0, part))
        yield layer_input(0, part).reshape(shape)
        for layer in range(self.config.num_hidden_layers):
            block_forward(layer, part)
            yield layer_input(layer + 1, part).reshape(shape)

    def forward(self, batch, stream, totals, keep):
        """The losses. `keep`: "all" or the "inputs" of layers for `backward`, or "nothing"."""
        part = self._part(batch, stream, keep)
        embeddings_forward(batch, part, layer_input(0, part))
        hidden = encoder_forward(part)
        mlm = sop = targets = order = None
        if "mlm.bias" in self.params:
            targets = self._targets(batch, totals.targets)
            mlm = words_forward(hidden, targets, part)
        if "sop.b" in self.params:
            first = self.workspace("first", (len(batch.sop_labels), self.config.hidden_size), self.params.dtype)
            part.kernels.take(hidden, self._first_rows(batch), first)
            sop, order = order_forward(first, batch.sop_labels, totals.sequences, part)
        self._pending = batch, part, targets, order
        return Losses(mlm, sop, sum(loss for loss in (mlm, sop) if loss is not None))

    def backward(self, grads):
        """Adds into grads."""
        (batch, part, targets, order), self._pending = self._pending, None
        d = part.rows("d", self.config.hidden_size)
        d.fill(0)
        if order is not None:
            part.kernels.add_rows(d, self._first_rows(batch), order_backward(order, grads))
        if targets is not None:
            words_backward(d, targets, part, grads)
        encoder_backward(d, part, grads)
        embeddings_backward(d, batch, part, grads)

    def _part(self, batch, stream, keep):
        mask = key_mask(batch.attention_mask, self.params.dtype)[:, 0, 0]
        return Part(self.kernels, self.params, self._operands(), self.config, self.workspace, mask, stream, keep)

    def _operands(self):
        kernels, params = self.kernels, self.params
        if kernels.WEIGHTS is None:
            return params
        narrow = self.workspace("weights", params.flat.shape, kernels.WEIGHTS)
        kernels.narrow(params.flat, narrow)
        return Params(narrow, params.shapes)

    def _first_rows(self, batch):
        B, T = batch.input_ids.shape
        return self.xp.arange(0, B * T, T)

    def _targets(self, batch, total):
        xp, (B, T), weights = self.xp, batch.input_ids.shape, batch.mlm_weights
        rows = (batch.mlm_positions + T * xp.arange(B)[:, None]).ravel()
        total = weights.sum(dtype=xp.float64) if total is None else total
        shares = (weights / xp.where(total == 0, 1.0, total)).astype(self.params.dtype)
        (used,) = xp.nonzero(weights.ravel())
        return Targets(rows[used], batch.mlm_labels.ravel()[used], shares.ravel()[used])
