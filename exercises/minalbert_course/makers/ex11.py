"""A small model and batches, and the same ones again."""

import dataclasses
import functools

import numpy as np

from minalbert.albert import Albert
from minalbert.batch import Batch
from minalbert.config import AlbertConfig
from minalbert.model.pretraining import Totals, pretraining_backward, pretraining_forward
from minalbert.parallel import Gradient, Trimmed, Workers, blas_threads
from minalbert.params import Params, shapes

from ..given import maker
from ..outside import ramp

CONFIG = AlbertConfig(
    vocab_size=40, embedding_size=8, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
    max_position_embeddings=16, initializer_range=0.25,
)  # fmt: skip


class OfOneBatch(Workers):
    """Workers that take one batch, in one piece, and add up nothing: a student does."""

    def slices(self, batch):
        return [[Trimmed(batch, slice(None), 0)]]

    def gradient(
        self, slices, dropout=None, totals=Totals(), into=None, scale=1.0, recompute=False, weights=(1.0, 1.0)
    ):
        part, grads = only_part(slices), self.gradients(0, into)
        with self.memory() as memory, blas_threads(1):
            batch, ctx = self.begin(part, dropout, memory)
            losses, cache = pretraining_forward(batch, ctx, totals, recompute, weights)
            pretraining_backward(cache, ctx, grads, scale)
        return Gradient(losses, grads, 0.0, 0.0)

    def losses(self, slices, totals=Totals(), weights=(1.0, 1.0)):
        part = only_part(slices)
        with self.memory() as memory, blas_threads(1):
            batch, ctx = self.begin(part, None, memory)
            return pretraining_forward(batch, ctx, totals, recompute=True, weights=weights)[0]


def only_part(slices):
    found = [part for parts in slices for part in parts]
    if len(found) != 1:
        raise RuntimeError("adding up several batches is the answer to this exercise; write your own")
    return found[0]


@maker("a small model")
def small_model(seed, spread=0.25, columns=16):
    """A seed, or "ramp": weights that nobody drew. `spread` of 0.05: gradients of SOP alone are shorter than 1."""
    if seed == "ramp":
        return ramps()
    one = drawn(seed, spread, columns)
    model = Albert(one.config, one.params.copy())
    model.__dict__["_workers"] = OfOneBatch(model)
    return model


@functools.lru_cache(64)
def drawn(seed, spread, columns):
    """Whose weights `small_model` copies: to draw them takes longer than a step."""
    config = dataclasses.replace(CONFIG, initializer_range=spread, num_hidden_layers=1, hidden_size=columns)
    return Albert.init(config, seed, dtype="float64")


def ramps():
    params = Params.zeros(shapes(CONFIG), "float64")
    for start, (name, tensor) in enumerate(params.items()):
        tensor[...] = 1.0 if name.endswith(".gain") else 0.0
        if tensor.ndim == 2:
            tensor[...] = ramp(*tensor.shape, start=100.0 * start, scale=0.3)
    return Albert(CONFIG, params)


@maker("a batch")
def batch(seed, size, length, predictions, targets=True, zeros=False):
    """zeros: is the label of each sequence's first masked word 0?"""
    made = Batch.random(CONFIG, size, length, predictions, seed)
    if zeros:
        made.mlm_labels[:, 0] = 0
    return made if targets else made._replace(mlm_weights=0 * made.mlm_weights)


@maker("a batch that nobody drew")
def plain_batch(number):
    """4 sequences of 6 tokens; the last is padded; 2 targets each, of the last 1."""
    i = np.arange(24).reshape(4, 6) + 24 * number
    mask = np.ones((4, 6), int)
    mask[3, 4:] = 0
    used = np.array([[1, 1], [1, 1], [1, 1], [1, 0]])
    return Batch(
        input_ids=(5 + (7 * i + 3 * i * i) % 35) * mask,
        attention_mask=mask,
        token_type_ids=mask * (np.arange(6) > 2),
        mlm_positions=np.array([[1, 4], [2, 5], [0, 3], [1, 0]]) * used,
        mlm_labels=(5 + (11 * i[:, :2] + number) % 35) * used,
        mlm_weights=used.astype(float),
        sop_labels=np.array([0, 1, 1, 0]),
    )


kept, lists = {}, {}                                 # lists: of what is kept under such names


@maker("to keep")
def to_keep(name, given):
    """Make what is described, and keep it under that name. Lists with what was kept there before are no longer kept."""
    for names in [names for names in lists if name in names]:
        del lists[names]
    kept[name] = given.make()
    return kept[name]


@maker("kept")
def kept_one(name):
    """The same object again, as an earlier call left it."""
    return kept[name]


@maker("the same list")
def same_list(*names):
    """A list of what is kept, and no new one when it is asked for again."""
    return lists.setdefault(names, [kept[name] for name in names])


@maker("weights of the kept")
def weights_of_the_kept(name):
    """The weights that a model has by now, (n,)."""
    return kept[name].params.flat.copy()


@maker("the weights of the kept themselves")
def own_weights_of_the_kept(name):
    """The memory that a model has them in."""
    return kept[name].params.flat


@maker("trained on")
def trained_on(name):
    """The same object, a model, with other weights, as training leaves it."""
    weights = kept[name].params.flat
    weights *= 0.8
    return kept[name]


def warm_up():
    """Opens the libraries that a model needs, which a submission may not open. Workers forget how to add up batches."""
    for name in ("slices", "gradient", "losses"):
        setattr(Workers, name, vars(OfOneBatch)[name])
    del Workers.sum_of, Workers._add
    model = small_model(0)
    model.loss_and_grads(batch(0, 1, 4, 1))
    model.release()
