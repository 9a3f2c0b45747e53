"""`Albert`: a configuration and its parameters, with everything a user does with them.

It holds no state of training and no cache. `model` has the mathematics, `parallel` shares a batch among workers.
"""

import functools
from collections.abc import Iterable
from itertools import islice

import numpy as np

from . import params as parameters
from .arguments import array, flag, is_number, is_whole, like, number, of_kind, path_of, refusal, shown, whole
from .backend import DropoutKey, array_module, device_of, to_device
from .batch import Batch, Inputs, as_whole_numbers, check_inputs, check_range, check_shape
from .compute import Compute
from .config import AlbertConfig
from .encoding import Encoding, FrozenEncoding, encode_many, gradients_like, states_of
from .errors import ConfigError, InputError, PretrainedError, nearest
from .interop.unread import NOTHING, with_other_heads, with_tokenizer
from .layers import gather_forward
from .model import PLAIN, Pairs, Totals
from .model.encoder import encoder_attention
from .model.heads import mlm_forward, sop_forward
from .parallel import Workers, add_losses, blas_threads, give_back_freed_memory, totals_of
from .sealed import check_place

OPTIONS = ("kernels", "precision", "pairs", "seed", "heads", "dtype", "device", "strict")    # of any way to a model


class Albert:
    """A model: `config`, `params` and how it computes.

    kernels    "plain" (the default: the files of `layers` and `model`), "fused" or "compiled"; see `compute`
    precision  "full", or fewer bits in matrix products; see `compute`
    pairs      `model.Pairs` of your own: functions that take the places of the plain ones
    """

    def __init__(self, config, params, kernels="plain", precision="full", pairs=None, **unknown):
        for name in unknown:
            others = [option for option in OPTIONS if option != name]
            raise ConfigError(f"a model has no option {name!r}; {nearest(name, others)}")
        of_kind("config", config, AlbertConfig, ConfigError)
        heads = parameters.heads_of(of_kind("params", params, parameters.Params))
        if params.shapes != parameters.shapes(config, *heads):
            raise ConfigError("params has other names or shapes than this config: was it made from another?")
        self._config, self._params, self._compute = config, params, Compute(kernels, precision)
        self._unread = NOTHING                       # of the directory that it comes from
        self.compute.check(config, params)
        own = isinstance(pairs, Pairs) and pairs.memory is PLAIN.memory and kernels == "plain"
        if pairs is not None and not own:
            raise ConfigError("pairs must be PLAIN with some of its pairs replaced, and kernels must be 'plain'")
        self._pairs = pairs or self.compute.pairs()
        halves = self.pairs.attention_half, self.pairs.ffn_half
        if config.reversible and halves != (PLAIN.attention_half, PLAIN.ffn_half):
            raise ConfigError("pairs has an attention_half or an ffn_half of your own; reversible layers call neither")

    config = property(lambda self: self._config)
    params = property(lambda self: self._params)     # write into them; another vector is another model
    compute = property(lambda self: self._compute)
    pairs = property(lambda self: self._pairs)
    tokenizer_digest = property(lambda self: self._unread.digest)    # of its training's tokenizer; None if not known

    @classmethod
    def init(cls, config, seed=0, heads=parameters.HEADS, dtype="float32", device="cpu", outputs=2, **compute):
        """A model with fresh weights.

        heads   any of "pooler", "mlm", "sop" (which needs the pooler), or a task's: "classifier", with so many
                `outputs`, "span", "answer"
        """
        if not isinstance(config, AlbertConfig):
            raise refusal("config", config, "an AlbertConfig, such as PRESETS['tiny']", ConfigError)
        return cls(config, parameters.initialise(config, seed, heads, dtype, device, outputs), **compute)

    @classmethod
    def from_pretrained(cls, directory, dtype=None, device="cpu", strict=True, **compute):
        """Read a Hugging Face directory, in the dtype of its file if none is given, or float32 if that has 16 bits.

        The model has the heads the file has. With `strict`, a tensor that has no place in it is an error; without, it
        is kept for `save_pretrained`, as are settings that a model has no use for, and a tokenizer's files.
        """
        from .interop import huggingface

        check_place(path_of("directory", directory, PretrainedError), huggingface.ADVICE)
        config, params, unread = huggingface.load_all(directory, dtype, flag("strict", strict))
        return cls(config, params.to(device, copy=False), **compute)._with(unread)

    def save_pretrained(self, directory, tokenizer=None):
        """Write config.json and model.safetensors, which `transformers` and `from_pretrained` read.

        Beside them lies what `from_pretrained` found and the model has no use for; or the files of a `tokenizer`, with
        which transformers' AutoTokenizer gives its ids.
        """
        from .interop import huggingface

        unread = self._unread
        if tokenizer is not None:
            like("tokenizer", tokenizer, "a tokenizer", "files", "digest")
            unread = with_tokenizer(unread, tokenizer)
        huggingface.save(directory, self.config, self.params, unread)

    def copy(self, **compute):
        """A model with a copy of the weights; `compute` as in `Albert`, changed where it is given."""
        return self._like(self.params.copy(), compute)

    def with_heads(self, heads, outputs=2, seed=0):
        """A model with a copy of the encoder and these heads: those that it has keep their weights, others are fresh.

        heads   as in `init`: ("pooler", "classifier") for labels of texts, with so many `outputs`

        With others than it has, it keeps no labels' names and no task of the file that it was read from.
        """
        fresh = parameters.initialise(self.config, seed, heads, self.params.dtype, self.params.device, outputs)
        for name in fresh:
            if name in self.params and self.params[name].shape == fresh[name].shape:
                fresh[name][...] = self.params[name]
        same = parameters.heads_of(fresh) == parameters.heads_of(self.params)
        return self._like(fresh, {})._with(self._unread if same else with_other_heads(self._unread))

    def to(self, device, **compute):
        """A model on "cpu" or "cuda" with a copy of the weights; `compute` as in `copy`."""
        return self._like(self.params.to(device), compute)

    def encode(self, input_ids, attention_mask=None, token_type_ids=None, positions=None):
        """ids (B, T) -> hidden (B, T, H), 0 behind a text's last token, and pooled (B, H), or None without a pooler.

        positions   (B, Q), those whose hidden states are wanted: hidden is (B, Q, H), and the last layer does less
        """
        inputs = self._inputs(input_ids, attention_mask, token_type_ids)
        found = FrozenEncoding(self._workers, inputs, self._read(positions, inputs))
        return found.hidden, found.pooled

    def encode_many(self, sequences, batch_size=32, layers=-1, pool="first", token_type_ids=None):
        """Lists of ids, of any lengths -> features (n, H), in the order given; see `encoding.encode_many`."""
        return encode_many(self, sequences, batch_size, layers, pool, token_type_ids)

    def forward(
        self, input_ids, attention_mask=None, token_type_ids=None, dropout=None, recompute=False, positions=None
    ):
        """An `Encoding`: `.hidden` (B, T, H), `.pooled` (B, H) or None, and `.backward(dhidden, dpooled)`.

        For losses and heads of your own: compute them from hidden and pooled, and hand their gradients to backward.
        `positions` as in `encode`: a head that reads pooled alone needs none, positions=[[]] * B.
        """
        inputs = self._inputs(input_ids, attention_mask, token_type_ids)
        self._check_dropout(dropout)
        self._check_recompute(recompute)
        return Encoding(self._workers, inputs, self._read(positions, inputs), dropout, recompute)

    def hidden_states(self, input_ids, attention_mask=None, token_type_ids=None, layers=None):
        """The input of each layer, and the output of the last: L + 1 arrays (B, T, H), or those of `layers`."""
        inputs = self._inputs(input_ids, attention_mask, token_type_ids).to(self.params.device)
        wanted = self._layers(layers, self.config.num_hidden_layers + 1)
        with self._workers.memory() as memory, blas_threads(1):
            states = enumerate(islice(states_of(self, inputs, memory), max(wanted, default=-1) + 1))
            states = {number: x.copy() for number, x in states if number in wanted}
        if any(number not in states for number in wanted):
            raise ConfigError("the encoder in use has no states of single layers")
        return [states[number] for number in wanted]

    def attention_maps(self, input_ids, attention_mask=None, token_type_ids=None, layers=None):
        """How much token i takes of token j, at [b, n, i, j]: L arrays (B, N, T, T), or those of `layers`.

        Their rows sum to 1. The plain pairs compute them, whatever the kernels, because only they keep them.
        """
        if self.compute.kernels == "plain" and self.pairs.attention_half is not PLAIN.attention_half:
            raise ConfigError("attention_maps reads the plain attention half; this model has another")
        inputs = self._inputs(input_ids, attention_mask, token_type_ids).to(self.params.device)
        wanted = self._layers(layers, self.config.num_hidden_layers)
        ctx = PLAIN.context(PLAIN, self.config, self.params, inputs.attention_mask)
        with blas_threads(1):
            x, _ = PLAIN.embeddings.forward(inputs.input_ids, inputs.token_type_ids, ctx)
            maps = enumerate(islice(encoder_attention(x, ctx), max(wanted, default=-1) + 1))
            maps = {number: probs for number, probs in maps if number in wanted}
        return [maps[number] for number in wanted]

    def mlm_logits(self, hidden, positions=None):
        """hidden (B, T, H) -> scores over words at `positions` (B, P), or at every position."""
        self._require("mlm")
        array("hidden", hidden, (None, None, self.config.hidden_size), finite=False)
        ctx = PLAIN.context(PLAIN, self.config, self.params, array_module(hidden).ones(hidden.shape[:2], "int64"))
        positions = None if positions is None else self._positions(positions, hidden.shape)
        hidden, _ = gather_forward(hidden, positions)
        with blas_threads(1):
            return mlm_forward(hidden, ctx)[0]

    def sop_logits(self, pooled):
        """pooled (B, H) -> (B, 2): scores for "in order" and "swapped"."""
        self._require("sop")
        array("pooled", pooled, (None, self.config.hidden_size), finite=False)
        with blas_threads(1):
            return sop_forward(pooled, self.params)[0]

    def loss(self, batch, totals=Totals(), weights=(1.0, 1.0)):
        """The losses alone, without dropout."""
        batch = self._batch(batch, totals)
        return self._workers.losses(self._workers.slices(batch), totals, self._weights(weights))

    def loss_and_grads(self, batch, dropout=None, into=None, recompute=False, totals=Totals(), weights=(1.0, 1.0)):
        """Losses, and a gradient for every parameter.

        dropout    a `DropoutKey` says which dropout masks; without one nothing is dropped
        into       gradients to add to, instead of starting from zero
        recompute  trade a second forward pass for memory: keep the layers' inputs, and one layer's cache at a time;
                   k: the input of every k-th layer, and k layers' caches at a time
        totals     what to divide the losses by, where the batch is a slice of a larger one
        weights    of the MLM and the SOP loss in their sum
        """
        batch = self._batch(batch, totals, dropout)
        self._check_recompute(recompute)
        grads = gradients_like(self.params, into)
        found = self._workers.gradient(
            self._workers.slices(batch), dropout, totals, grads, recompute=recompute, weights=self._weights(weights)
        )
        return found.losses, grads

    def accumulate(self, batches, dropout=None, into=None, recompute=False, totals=Totals(), weights=(1.0, 1.0)):
        """As `loss_and_grads` of one large batch, given as a list of batches of one length, but for dropout masks."""
        batches = [self._batch(batch, totals, dropout) for batch in of_kind("batches", batches, Iterable)]
        if len({batch.input_ids.shape[1] for batch in batches}) != 1:
            raise InputError("batches must be a list of at least one Batch, all with sequences of one length")
        grads, totals, losses, first = gradients_like(self.params, into), totals_of(batches, totals), [], 0
        for batch in batches:
            key = dropout and dropout.at(example=dropout.example + first)
            losses.append(self.loss_and_grads(batch, key, grads, recompute, totals, weights)[0])
            first += len(batch.input_ids)
        return functools.reduce(add_losses, losses), grads

    def release(self):
        """Free the memory that is kept for the next call, as much as the largest batch so far has needed."""
        self.__dict__.pop("_workers", None)
        give_back_freed_memory()

    @functools.cached_property
    def _workers(self):
        return Workers(self)

    def _read(self, positions, inputs):
        """The positions at which the encoder's output is needed: [CLS] for the pooler, and those asked for."""
        if positions is None:
            return None
        positions = self._positions(positions, inputs.input_ids.shape)
        return array_module(positions).pad(positions, ((0, 0), (1, 0)))

    def _positions(self, positions, shape):
        B, T, *_ = shape
        positions = self._ids(positions)
        positions = positions.astype("int64") if positions.shape == (B, 0) else positions
        positions = to_device(positions, self.params.device)
        check_shape("positions", positions, (B, positions.shape[-1] if positions.ndim else 0))
        check_range("positions", positions, T, "the sequences' length")
        return positions

    def _like(self, params, compute):
        plain = compute.get("kernels", "plain") == self.compute.kernels == "plain"
        own = self.pairs if plain else None
        return type(self)(self.config, params, **self.compute._asdict() | {"pairs": own} | compute)._with(self._unread)

    def _with(self, unread):
        self._unread = unread
        return self

    def _inputs(self, input_ids, attention_mask, token_type_ids):
        input_ids = self._ids(input_ids)
        xp = array_module(input_ids)
        attention_mask = xp.ones_like(input_ids) if attention_mask is None else self._ids(attention_mask)
        token_type_ids = xp.zeros_like(input_ids) if token_type_ids is None else self._ids(token_type_ids)
        inputs = Inputs(input_ids, attention_mask, token_type_ids)
        if self.params.device == "cpu" or len(set(map(device_of, inputs))) > 1:
            inputs = inputs.to(self.params.device)   # a GPU gets them trimmed, if they are on the host
        check_inputs(self.config, *inputs)
        return inputs

    def _ids(self, array):
        if not hasattr(array, "dtype"):
            try:
                array = np.asarray(array)
            except ValueError:
                raise InputError("the sequences differ in length; pad them (Batch.pad), or use encode_many") from None
        return as_whole_numbers(array)

    def _batch(self, batch, totals, dropout=None):
        if not {"mlm.bias", "sop.b"} & set(self.params):
            raise InputError("this model has neither an mlm nor a sop head, so a batch has no loss")
        of_kind("batch", batch, Batch)
        self._check_dropout(dropout)
        for name, total in of_kind("totals", totals, Totals)._asdict().items():
            if total is not None:
                number(f"totals.{name}", total, above=0)
        batch = batch.as_whole_numbers()
        batch.check(self.config)
        return batch

    def _weights(self, weights):
        if not (isinstance(weights, Iterable) and len(weights := tuple(weights)) == 2 and all(map(is_number, weights))):
            raise refusal("weights", weights, "two numbers, of the MLM and the SOP loss")
        return weights

    def _check_recompute(self, recompute):
        layers = self.config.num_hidden_layers
        if not isinstance(recompute, bool | np.bool) and not (is_whole(recompute) and 0 <= recompute <= layers):
            raise refusal("recompute", recompute, f"True, False or a whole number of layers from 1 to {layers}")

    def _check_dropout(self, dropout):
        for name, value in (of_kind("dropout", dropout, DropoutKey | None) or DropoutKey(0))._asdict().items():
            whole(f"dropout.{name}", value, 0, 2**64 - 1)

    def _layers(self, layers, count):
        """Numbers from 0; negative ones count from the last."""
        chosen = list(range(count) if layers is None else layers if hasattr(layers, "__iter__") else [layers])
        if any(not is_whole(layer) or not -count <= layer < count for layer in chosen):
            raise InputError(f"layers are {shown(chosen)}; each must be a whole number in {-count}..{count - 1}")
        return [layer % count for layer in chosen]

    def _require(self, head):
        if not any(name.startswith(head + ".") for name in self.params):
            raise InputError(f"this model has no {head} head: it was made, or its file was written, without")

    def __reduce__(self):
        """Build copies and unpickled objects from config and params, with memory of their own."""
        own = self.pairs if self.compute.kernels == "plain" and self.pairs is not PLAIN else None
        made = functools.partial(type(self), **self.compute._asdict(), pairs=own)
        return made, (self.config, self.params), {"_unread": self._unread}

    def __repr__(self):
        return f"Albert({self.params!r})"
