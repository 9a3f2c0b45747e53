"""Hidden states with a way back, for losses and heads of one's own; and features of many texts.

    encoding = model.forward(input_ids, attention_mask)
    loss, dpooled = my_loss(encoding.pooled)                 # whatever you like
    grads = encoding.backward(dpooled=dpooled)               # every gradient of the model, by hand-written passes
"""

from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from .arguments import array, of_kind, one_of, whole
from .backend import array_module, to_device, to_host
from .batch import Batch, Inputs, lists_of_ids
from .errors import InputError
from .model.encoder import encoder_backward, encoder_forward, encoder_states
from .model.heads import pooler_backward, pooler_forward
from .parallel import TreeSum, blas_threads, lengths_of
from .params import Params

POOLS = ("first", "mean", "pooler", None)


class Kept(NamedTuple):
    """What backward needs of a part."""

    batch: Inputs
    place: Any                                       # of its states among those of the whole batch
    ctx: Any
    memory: Any
    embeddings: Any
    encoder: Any


class FrozenEncoding:
    """`hidden` (B, T, H), 0 behind an example's last token, and `pooled` (B, H), None without a pooler.

    Of an encoder that does not learn: it drops and keeps nothing. `backward` may be called once, before the weights are
    changed, and ends at the pooler.
    """

    def __init__(self, workers, inputs, read):
        """read: (B, 1 + Q), [CLS] and the positions of `hidden`; None: hidden is that of all tokens."""
        self._workers = workers
        params, (B, T) = workers.params, inputs.input_ids.shape
        shape = B, T if read is None else read.shape[1], workers.config.hidden_size
        self._states = array_module(params.flat).empty(shape, params.dtype)
        self.hidden = self._states if read is None else self._states[:, 1:]
        self._read, self._padding = places_read(inputs, read, params.device)

        slices = workers.slices(inputs)
        kept = iter(workers.each(self._forward_of, slices))
        self._slices = [list(islice(kept, len(parts))) for parts in slices]
        self._states[self._padding] = 0
        self.pooled, self._pooler = None, None
        if "pooler.b" in params:
            with blas_threads(1):
                pooled, self._pooler = pooler_forward(self._states[:, 0].copy(), params)
            self.pooled = pooled.copy()              # so that backward's cache is nobody else's

    def _forward_of(self, part):
        """Write the last states of a part. Returns what backward needs of it."""
        workers = self._workers
        examples, inputs = workers.examples(part), part.batch.to(workers.params.device)
        with workers.memory() as memory:
            for x in states_of(workers, inputs, memory, self._positions(examples)):
                last = x
            self._states[examples, : last.shape[1]] = last

    def _positions(self, examples):
        return None if self._read is None else self._read[examples]

    def backward(self, dhidden=None, dpooled=None, into=None):
        """The gradient of the pooler's parameters; the encoder's are 0. Arguments as of `Encoding.backward`."""
        grads = gradients_like(self._workers.params, into)
        self._total(dhidden, dpooled, grads)
        self._slices = None
        return grads

    def _total(self, dhidden, dpooled, grads):
        """The gradient of the encoder's output by both ways; a copy, which the fused pairs may destroy."""
        if self._slices is None:
            raise InputError("backward was called already; call forward again")
        if dhidden is None and dpooled is None:
            raise InputError("backward needs dhidden, dpooled or both: the gradients of your loss")
        if dpooled is not None and self.pooled is None:
            raise InputError("dpooled is given, but this model has no pooler")
        for name, gradient, value in (("dhidden", dhidden, self.hidden), ("dpooled", dpooled, self.pooled)):
            if gradient is not None:
                array(name, gradient, value.shape, finite=False)
        xp, dtype = array_module(self.hidden), self.hidden.dtype
        total = xp.zeros_like(self._states)
        if dhidden is not None:
            total[:, total.shape[1] - self.hidden.shape[1] :] = xp.asarray(dhidden, dtype)
        if dpooled is not None:
            with blas_threads(1):
                total[:, 0] += pooler_backward(xp.asarray(dpooled, dtype), self._pooler, grads)
        total[self._padding] = 0
        return total


class Encoding(FrozenEncoding):
    """The same with a way back through the encoder: `backward` gives the gradient of every parameter."""

    def __init__(self, workers, inputs, read, dropout, recompute):
        """dropout, recompute: as in `Albert.loss_and_grads`"""
        self._dropout, self._recompute = dropout, recompute
        super().__init__(workers, inputs, read)

    def _forward_of(self, part):
        workers, memory = self._workers, self._workers.take_memory()             # until backward is done with it
        inputs, ctx = workers.begin(part, self._dropout, memory)
        x, embeddings = workers.pairs.embeddings.forward(inputs.input_ids, inputs.token_type_ids, ctx)
        examples = workers.examples(part)
        x, encoder = encoder_forward(x, ctx, self._recompute, self._positions(examples))
        self._states[examples, : x.shape[1]] = ctx.to_params_dtype(x)
        return Kept(inputs, (examples, slice(x.shape[1])), ctx, memory, embeddings, encoder)

    def backward(self, dhidden=None, dpooled=None, into=None):
        """The gradient of every parameter, from that of hidden, of pooled, or of both; added to `into`, if given."""
        workers = self._workers
        grads = gradients_like(workers.params, into)
        dstates = self._total(dhidden, dpooled, grads)

        def backward_of(number, parts):
            own = workers.gradients(number, grads)
            for part in parts:
                dx = part.ctx.from_params_dtype(dstates[part.place])
                dx = encoder_backward(dx, part.encoder, part.ctx, own)
                part.ctx.pairs.embeddings.backward(dx, part.embeddings, part.ctx, own)
                workers.free_memory(part.memory)
            return own

        tree, slices, self._slices = TreeSum(workers.add_gradients), self._slices, None
        for gradient in workers.run(backward_of, list(enumerate(slices))):
            tree.push(gradient)
        return tree.total()


def states_of(model, inputs, memory, positions=None):
    """`encoder_states` in the dtype of the params: use each before asking for the next.

    model    has config, params and pairs
    inputs   on the device of the params
    """
    ctx = model.pairs.context(model.pairs, model.config, model.params, inputs.attention_mask, None, memory)
    x, _ = model.pairs.embeddings.forward(inputs.input_ids, inputs.token_type_ids, ctx)
    return map(ctx.to_params_dtype, encoder_states(x, ctx, positions))


def places_read(inputs, read, device):
    """The positions of `read` that there are, and which lie behind an example's last token, where hidden is 0."""
    lengths = to_device(lengths_of(inputs), device)[:, None]
    if read is None:
        return None, array_module(lengths).arange(inputs.input_ids.shape[1]) >= lengths
    return read * (read < lengths), read >= lengths


def gradients_like(params, into=None):
    """`into`, if it is like the params, or zeros."""
    grads = params.zeros_like() if into is None else of_kind("into", into, Params)
    kinds = [(list(one.shapes.items()), one.dtype, one.device) for one in (grads, params)]
    if kinds[0] != kinds[1] or array_module(grads.flat).may_share_memory(grads.flat, params.flat):
        raise InputError(f"into is {into!r}; it must be like the model's own {params!r}, and not those themselves")
    return grads


def encode_many(model, sequences, batch_size=32, layers=-1, pool="first", token_type_ids=None):
    """Features of n lists of ids: (n, H) on the host, in the order given.

    The texts are sorted by length and padded only to the longest of their batch.

    layers  which of `hidden_states`: a number, or several, which give (n, layers, H); -1 is the last
    pool    "first": the hidden state of [CLS]; "mean": over the text's tokens; "pooler": `encode`'s pooled;
            None: all tokens' hidden states, a list of n arrays (T, H), or (layers, T, H)
    """
    one_of("pool", pool, POOLS)
    if pool == "pooler" and ("pooler.b" not in model.params or layers != -1):
        raise InputError("pool is 'pooler', which needs a model with a pooler and reads its last layer: layers=-1")
    batch_size, sequences = whole("batch_size", batch_size, 1), lists_of_ids("sequences", sequences)
    if not sequences or not all(ids.ndim for ids in sequences):
        raise InputError("sequences must be a list of lists of ids, at least one")
    types = [np.zeros(len(ids), int) for ids in sequences]
    types = types if token_type_ids is None else lists_of_ids("token_type_ids", token_type_ids)
    if len(types) != len(sequences):
        raise InputError(f"token_type_ids has {len(types)} lists; sequences has {len(sequences)}")
    by_length = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))      # the longest needs most memory
    features = [None] * len(sequences)
    for start in range(0, len(by_length), batch_size):
        chosen = by_length[start : start + batch_size]
        inputs = Batch.pad([sequences[i] for i in chosen], [types[i] for i in chosen])
        for i, feature in zip(chosen, _features(model, inputs, layers, pool), strict=True):
            features[i] = feature
    return features if pool is None else np.stack(features)


def _features(model, inputs, layers, pool):
    if pool == "pooler" or (pool == "first" and layers == -1):
        hidden, pooled = model.encode(*inputs, positions=np.zeros((len(inputs.input_ids), 1), int))
        return to_host(pooled if pool == "pooler" else hidden[:, 0])
    states = model.encode(*inputs)[:1] if layers == -1 else model.hidden_states(*inputs, layers=layers)
    states = np.stack([to_host(x) for x in states], axis=1)          # (B, layers, T, H)
    states = states[:, 0] if np.ndim(layers) == 0 else states
    lengths = inputs.attention_mask.sum(axis=1)
    if pool == "first":
        return states[..., 0, :]
    texts = [x[..., :length, :] for x, length in zip(states, lengths, strict=True)]
    return texts if pool is None else [text.mean(axis=-2) for text in texts]
