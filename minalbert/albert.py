"""`Albert`: a configuration and its parameters, with the doors a user walks through.

It holds no state of training. The work is done by `fast`, whose buffers it keeps from one call to the next.
"""

import functools
from collections import deque

import numpy as np

from . import params as parameters
from .backend import DropoutKey, array_module, to_device
from .batch import Batch, Inputs, as_whole_numbers, check_inputs, check_range, check_shape
from .config import AlbertConfig
from .errors import ConfigError, InputError
from .fast.accumulate import Accumulator
from .fast.crew import Crew
from .fast.precision import How, engine_for
from .layers import key_mask
from .model.embeddings import embeddings_forward
from .model.encoder import Context, encoder_attention
from .model.heads import mlm_forward, pooler_forward, sop_forward
from .model.pretraining import Totals


class Albert:
    """how: `precision` of matrix products and which `kernels`; see `fast.precision.How`."""

    def __init__(self, config, params, **how):
        heads = {name.split(".")[0] for name in params} & set(parameters.HEADS)
        if params.shapes != parameters.shapes(config, heads):
            raise ConfigError("params has other names or shapes than this config: was it made from another?")
        self._config, self._params, self._how = config, params, How(**how)
        self.how.check(params)

    config = property(lambda self: self._config)
    params = property(lambda self: self._params)     # write into them; another vector is another model
    how = property(lambda self: self._how)

    def __reduce__(self):
        """Copies and pickles are made anew, with buffers of their own."""
        return functools.partial(type(self), **self.how._asdict()), (self.config, self.params)

    def release(self):
        """Let go of the buffers that are kept for the next call, as large as the largest batch so far."""
        self.__dict__.pop("_crew", None)

    @classmethod
    def init(cls, config, seed=0, heads=parameters.HEADS, dtype="float32", device="cpu", **how):
        """A model with fresh weights. `heads`: any of "pooler", "mlm", "sop" (which needs the pooler)."""
        if not isinstance(config, AlbertConfig):
            raise ConfigError(f"config is {config!r}; it must be an AlbertConfig, such as PRESETS['tiny']")
        return cls(config, parameters.initialise(config, seed, heads, dtype, device), **how)

    @classmethod
    def from_pretrained(cls, directory, dtype=None, device="cpu", strict=True, **how):
        """Read a Hugging Face directory, in the dtype of its file unless told otherwise.

        The model has the heads the file has. With `strict`, a tensor that has no place in it is an error.
        """
        from .interop import huggingface

        config, params = huggingface.load(directory, dtype, strict)
        return cls(config, params.to(device), **how)

    def save_pretrained(self, directory):
        """Write config.json and model.safetensors, which `transformers` and `from_pretrained` read."""
        from .interop import huggingface

        huggingface.save(directory, self.config, self.params)

    def to(self, device, **how):
        """The same model there; `how` as before, but for what is said."""
        return type(self)(self.config, self.params.to(device), **self.how._asdict() | how)

    def encode(self, input_ids, attention_mask=None, token_type_ids=None):
        """ids (B, T) -> hidden (B, T, H) and pooled (B, H), or None without a pooler."""
        inputs = self._inputs(input_ids, attention_mask, token_type_ids)
        shape = *inputs.input_ids.shape, self.config.hidden_size
        hidden = array_module(self.params.flat).empty(shape, self.params.dtype)

        def work(engine, part, first):
            (last,) = deque(engine.states(part), maxlen=1)
            hidden[first : first + len(last)] = last

        with self._crew.cut(inputs) as parts:
            deque(self._crew.map(work, parts), maxlen=0)
        pooled = pooler_forward(hidden, self.params)[0] if "pooler.b" in self.params else None
        return hidden, pooled

    def hidden_states(self, input_ids, attention_mask=None, token_type_ids=None):
        """What enters each layer, and what leaves the last: L + 1 arrays (B, T, H)."""
        inputs = self._inputs(input_ids, attention_mask, token_type_ids)
        engine = engine_for(self.config, self.params, self.how)
        return [state.copy() for state in engine.states(inputs)]

    def attention_maps(self, input_ids, attention_mask=None, token_type_ids=None):
        """How much of token j token i takes, at [b, n, i, j]: L arrays (B, N, T, T), their rows summing to 1."""
        inputs = self._inputs(input_ids, attention_mask, token_type_ids)
        x, _ = embeddings_forward(inputs.input_ids, inputs.token_type_ids, self.params, self.config)
        context = Context(self.params, key_mask(inputs.attention_mask, x.dtype), self.config)
        return list(encoder_attention(x, context))

    def mlm_logits(self, hidden, positions=None):
        """hidden (B, T, H) -> scores over words at `positions` (B, P), or at every position."""
        self._require("mlm")
        xp, (B, T, _) = array_module(hidden), hidden.shape
        positions = xp.broadcast_to(xp.arange(T), (B, T)) if positions is None else self._ids(positions)
        check_shape("positions", positions, (B, positions.shape[-1]))
        check_range("positions", positions, T, "the sequences' length")
        return mlm_forward(hidden, positions, self.params, self.config)[0]

    def sop_logits(self, pooled):
        """pooled (B, H) -> (B, 2): scores for "in order" and "swapped"."""
        self._require("sop")
        check_shape("pooled", pooled, (len(pooled), self.config.hidden_size))
        return sop_forward(pooled, self.params)[0]

    def loss(self, batch, totals=Totals()):
        """The losses alone, without dropout."""
        batch = self._ready(batch, None, totals)

        with self._crew.cut(batch) as parts:
            return Accumulator(self._crew).losses(parts, totals)

    def loss_and_grads(self, batch, stream=None, into=None, recompute=False, totals=Totals()):
        """Losses, and a gradient for every parameter.

        stream     a `DropoutKey` switches dropout on and says which coins; without one nothing is dropped
        into       gradients to add to, instead of starting from zero
        recompute  trade a second forward pass for the memory of all caches but one layer's
        totals     what to divide the losses by, where the batch is one part of a larger one
        """
        batch = self._ready(batch, stream, totals)
        grads = self.params.zeros_like() if into is None else into
        if (grads.shapes, grads.dtype, grads.device) != (self.params.shapes, self.params.dtype, self.params.device):
            raise InputError(f"into is {into!r}; it must be like the model's own {self.params!r}")
        with self._crew.cut(batch) as parts:
            sums = Accumulator(self._crew, recompute)(parts, stream, totals, into=grads)
        return sums.losses, grads

    @functools.cached_property
    def _crew(self):
        return Crew(self)

    def _inputs(self, input_ids, attention_mask, token_type_ids):
        input_ids = self._ids(input_ids)
        xp = array_module(input_ids)
        attention_mask = xp.ones_like(input_ids) if attention_mask is None else self._ids(attention_mask)
        token_type_ids = xp.zeros_like(input_ids) if token_type_ids is None else self._ids(token_type_ids)
        check_inputs(self.config, input_ids, attention_mask, token_type_ids)
        return Inputs(input_ids, attention_mask, token_type_ids)

    def _ids(self, array):
        if not hasattr(array, "dtype"):
            try:
                array = np.asarray(array)
            except ValueError:
                raise InputError("the sequences differ in length; pad them to one, and mask the padding") from None
        return to_device(as_whole_numbers(array), self.params.device)

    def _ready(self, batch, stream, totals):
        if not {"mlm.bias", "sop.b"} & set(self.params):
            raise InputError("this model has neither an mlm nor a sop head, so a batch has no loss")
        for name, value, kind in (("batch", batch, Batch), ("totals", totals, Totals), ("stream", stream, DropoutKey)):
            if not isinstance(value, kind) and not (name == "stream" and value is None):
                raise InputError(f"{name} is a {type(value).__name__}; it must be a minalbert.{kind.__name__}")
        if any(total is not None and not total > 0 for total in totals):
            raise InputError(f"totals are {totals}; what a loss is divided by must be above 0")
        batch = batch.as_whole_numbers().to(self.params.device)
        batch.check(self.config)
        return batch

    def _require(self, head):
        if not any(name.startswith(head + ".") for name in self.params):
            raise InputError(f"this model has no {head} head: it was made, or its file was written, without")

    def __repr__(self):
        return f"Albert({self.params!r})"
