"""`Albert`: a configuration and its parameters, with the doors a user walks through.

It holds no cache and no state of training; the work is done by the functions of `pretraining`.
"""

import numpy as np

from .. import params as parameters
from ..backend import array_module, to_device
from ..batch import InputError, check_inputs
from .heads import mlm_forward, pooler_forward, sop_forward
from .pretraining import Totals, hidden_forward, pretraining_backward, pretraining_forward


class Albert:
    def __init__(self, config, params):
        self.config, self.params = config, params

    @classmethod
    def init(cls, config, seed=0, heads=parameters.HEADS, dtype="float32", device="cpu"):
        """A model with fresh weights. `heads`: any of "pooler", "mlm", "sop" (which needs the pooler)."""
        return cls(config, parameters.initialise(config, seed, heads, dtype, device))

    @classmethod
    def from_pretrained(cls, directory, dtype=None, device="cpu", strict=True):
        """Read a Hugging Face directory, in the dtype of its file unless told otherwise.

        The model has the heads the file has. With `strict`, a tensor that has no place in it is an error.
        """
        from ..interop import huggingface

        config, params = huggingface.load(directory, dtype, strict)
        return cls(config, params.to(device))

    def save_pretrained(self, directory):
        """Write config.json and model.safetensors, which `transformers` and `from_pretrained` read."""
        from ..interop import huggingface

        huggingface.save(directory, self.config, self.params)

    def to(self, device):
        return Albert(self.config, self.params.to(device))

    def encode(self, input_ids, attention_mask=None, token_type_ids=None):
        """ids (B, T) -> hidden (B, T, H) and pooled (B, H), or None without a pooler."""
        hidden, _ = self._hidden(input_ids, attention_mask, token_type_ids)
        pooled = pooler_forward(hidden, self.params)[0] if "pooler.b" in self.params else None
        return hidden, pooled

    def hidden_states(self, input_ids, attention_mask=None, token_type_ids=None):
        """What enters each layer, and what leaves the last: L + 1 arrays (B, T, H)."""
        hidden, (_, (inputs, _, _)) = self._hidden(input_ids, attention_mask, token_type_ids)
        return [*inputs, hidden]

    def mlm_logits(self, hidden, positions=None):
        """hidden (B, T, H) -> scores over words at `positions` (B, P), or at every position."""
        self._require("mlm")
        xp = array_module(hidden)
        if positions is None:
            positions = xp.broadcast_to(xp.arange(hidden.shape[1]), hidden.shape[:2])
        return mlm_forward(hidden, self._ids(positions), self.params, self.config)[0]

    def sop_logits(self, pooled):
        """pooled (B, H) -> (B, 2): scores for "in order" and "swapped"."""
        self._require("sop")
        return sop_forward(pooled, self.params)[0]

    def loss(self, batch, totals=Totals()):
        """The losses alone, without dropout and without keeping what a gradient would need."""
        losses, _ = pretraining_forward(
            self.params, self._ready(batch), self.config, recompute=True, totals=totals
        )
        return losses

    def loss_and_grads(self, batch, stream=None, into=None, recompute=False, totals=Totals()):
        """Losses, and a gradient for every parameter.

        stream     a `Stream` switches dropout on and says which coins; without one nothing is dropped
        into       gradients to add to, instead of starting from zero
        recompute  trade a second forward pass for the memory of all caches but one layer's
        totals     what to divide the losses by, where the batch is one part of a larger one
        """
        grads = self.params.zeros_like() if into is None else into
        losses, cache = pretraining_forward(
            self.params, self._ready(batch), self.config, stream, recompute, totals
        )
        pretraining_backward(cache, grads)
        return losses, grads

    def _hidden(self, input_ids, attention_mask, token_type_ids):
        input_ids = self._ids(input_ids)
        xp = array_module(input_ids)
        attention_mask = xp.ones_like(input_ids) if attention_mask is None else self._ids(attention_mask)
        token_type_ids = xp.zeros_like(input_ids) if token_type_ids is None else self._ids(token_type_ids)
        check_inputs(self.config, input_ids, attention_mask, token_type_ids)
        return hidden_forward(
            input_ids, attention_mask, token_type_ids, self.params, self.config, recompute=True
        )

    def _ids(self, array):
        array = array if hasattr(array, "dtype") else np.asarray(array)
        return to_device(array, self.params.device)

    def _ready(self, batch):
        if not {"mlm.bias", "sop.b"} & set(self.params):
            raise InputError("this model has neither an mlm nor a sop head, so a batch has no loss")
        batch = batch.to(self.params.device)
        batch.check(self.config)
        return batch

    def _require(self, head):
        if not any(name.startswith(head + ".") for name in self.params):
            raise InputError(f"this model has no {head} head: it was made, or its file was written, without")

    def __repr__(self):
        return f"Albert({self.params!r})"
