"""Forward and backward of a part of a batch, over the buffers of one workspace."""

from ..backend import array_module
from ..model.pretraining import Losses
from ..params import Params
from .encoder import block_forward, encoder_backward, encoder_forward, layer_input
from .ends import (
    embeddings_backward,
    embeddings_forward,
    order_backward,
    order_forward,
    words_backward,
    words_forward,
)
from .part import Part
from .prepared import Prepared
from .workspace import Workspace


class Engine:
    """One thread's way through the model. Between `forward` and `backward` the workspace holds a part's cache."""

    def __init__(self, config, params, make_kernels, storage):
        """make_kernels() -> `kernels.cpu` or its like; storage: the dtype of activations."""
        self.config, self.params = config, params
        self.workspace = Workspace(array_module(params.flat), storage)
        self.kernels = make_kernels()
        self._pending = None

    def states(self, inputs):
        """What enters each layer, and what leaves the last: (B, T, H), buffers that are soon written over."""
        inputs = Prepared.of(inputs, self.params)
        part = self._part(inputs, None, "nothing")
        embeddings_forward(inputs, part, layer_input(0, part))
        yield self._seen(0, part)
        for layer in range(self.config.num_hidden_layers):
            block_forward(layer, part)
            yield self._seen(layer + 1, part)

    def forward(self, batch, stream, totals, keep):
        """The losses. `keep`: "all" or the "inputs" of layers for `backward`, or "nothing"."""
        return self.forward_prepared(Prepared.of(batch, self.params, totals), stream, keep)

    def forward_prepared(self, inputs, stream, keep):
        part = self._part(inputs, stream, keep)
        embeddings_forward(inputs, part, layer_input(0, part))
        hidden = encoder_forward(part)
        words = order = order_cache = None
        if "mlm.bias" in self.params:
            words = words_forward(hidden, inputs, part)
        if "sop.b" in self.params:
            order, order_cache = order_forward(hidden, inputs, part)
        self._pending = None if keep == "nothing" else (inputs, part, order_cache)
        return Losses(words, order, sum(loss for loss in (words, order) if loss is not None))

    def backward(self, grads, scale=1.0):
        """Adds `scale` times the gradient of the total loss into grads."""
        if self._pending is None:
            raise ValueError("there is nothing to go back through: run forward first, keeping what backward needs")
        (inputs, part, order_cache), self._pending = self._pending, None
        d = part.rows("d", self.config.hidden_size)
        d.fill(0)
        if order_cache is not None:
            order_backward(d, order_cache, inputs, part, grads, scale)
        if "mlm.bias" in self.params:
            words_backward(d, inputs, part, grads, scale)
        encoder_backward(d, part, grads)
        embeddings_backward(d, inputs, part, grads)

    def _part(self, inputs, stream, keep):
        return Part(self.kernels, self.params, self._weights(), self.config, self.workspace, inputs.mask, stream, keep)

    def _weights(self):
        """As matrix products read them."""
        kernels, params = self.kernels, self.params
        if kernels.WEIGHTS is None:
            return params
        rounded = self.workspace("weights", params.flat.shape, kernels.WEIGHTS)
        kernels.cast(params.flat, out=rounded)
        return Params(rounded, params.shapes)

    def _seen(self, layer, part):
        """In the dtype of the parameters."""
        x = layer_input(layer, part)
        if x.dtype != self.params.dtype:
            wide = self.workspace("state", x.shape, self.params.dtype)
            part.kernels.cast(x, out=wide)
            x = wide
        return x.reshape(*part.mask.shape, -1)
