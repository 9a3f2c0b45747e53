"""Forward and backward of a part of a batch, over the buffers of one workspace."""

import numpy as np

from ..backend import array_module
from ..kernels import cpu
from ..layers import key_mask
from ..model.pretraining import Losses
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

FLOATS = (np.float32, np.float64)                    # what BLAS multiplies


def engine_for(config, params):
    """With kernels where there are some for these arrays, else plain."""
    on_cpu = array_module(params.flat) is np
    return Engine(config, params) if on_cpu and params.dtype in FLOATS else PlainEngine(config, params)


class Engine:
    """One thread's way through the model. Between `forward` and `backward` the workspace holds a part's cache."""

    def __init__(self, config, params):
        self.config, self.params = config, params
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
        return Part(cpu, self.params, self.config, self.workspace, mask, stream, keep)

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
