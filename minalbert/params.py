"""Parameters are one vector, read through names.

`shapes(config)` is the table of everything an ALBERT learns. `Params` is one contiguous buffer with a
named view into it for each row of the table, so that zeroing, norms, copies to a GPU and checkpoints are
one operation each. Gradients and moments are `Params` of the same shapes.
"""

import math
from collections.abc import Iterable, Mapping

import numpy as np

from .arguments import array, flag, of_kind, refusal, text, whole
from .backend import array_module, device_of, to_device
from .capacity import check_memory
from .config import AlbertConfig
from .errors import ConfigError, UnknownNameError, nearest

HEADS = ("pooler", "mlm", "sop")                     # of pretraining
TASK_HEADS = ("classifier", "span", "answer")
DTYPES = ("float16", "float32", "float64")
SAMPLES = 2**16                                      # numbers

ATTENTION = ("query.w", "query.b", "key.w", "key.b", "value.w", "value.b", "output.w", "output.b")
FFN = ("up.w", "up.b", "down.w", "down.b")
NORM = ("norm.gain", "norm.bias")
LINEAR = ("w", "b")


def half_name(config, half, layer):
    """The prefix of the weights of a layer's "attention" or "ffn" half: `encoder.ffn`, or `encoder.ffn.3` of many."""
    if config.groups(half) == 1:
        return f"encoder.{half}"
    return f"encoder.{half}.{config.group_of(half, layer)}"


def shapes(config, heads=HEADS, outputs=2):
    """name -> shape, in the order of the forward pass. Weights are (in, out). outputs: those of a classifier."""
    of_kind("config", config, AlbertConfig, ConfigError)
    if isinstance(heads, str) or not isinstance(heads, Iterable):
        raise refusal("heads", heads, "a tuple of names, such as ('pooler', 'mlm', 'sop')", ConfigError)
    heads = [*heads]
    for head in heads:
        if head not in HEADS + TASK_HEADS:
            raise ConfigError(f"heads names {head!r}; {nearest(head, HEADS + TASK_HEADS)}")
    if len({*heads}) < len(heads):
        raise refusal("heads", heads, "each head once", ConfigError)
    if "sop" in heads and "pooler" not in heads:
        raise ConfigError("the sop head reads the pooler: heads must name 'pooler' beside 'sop'")
    whole("outputs", outputs, 1, error=ConfigError)
    V, E, H, F = config.vocab_size, config.embedding_size, config.hidden_size, config.intermediate_size

    table = {
        "embeddings.word": (V, E),
        "embeddings.position": (config.max_position_embeddings, E),
        "embeddings.token_type": (config.type_vocab_size, E),
        "embeddings.norm.gain": (E,),
        "embeddings.norm.bias": (E,),
    }
    if config.has_projection:
        table |= {"embeddings.projection.w": (E, H), "embeddings.projection.b": (H,)}

    square = {"w": (H, H), "b": (H,)}
    norm = {"norm.gain": (H,), "norm.bias": (H,)}
    attention = {name: square[name[-1]] for name in ATTENTION} | norm
    ffn = {"up.w": (H, F), "up.b": (F,), "down.w": (F, H), "down.b": (H,)} | norm
    for layer in range(config.num_hidden_layers):    # a second layer of a group writes the same rows
        for half, tensors in (("attention", attention), ("ffn", ffn)):
            prefix = half_name(config, half, layer)
            table |= {f"{prefix}.{name}": shape for name, shape in tensors.items()}

    if "pooler" in heads:
        table |= {"pooler.w": (H, H), "pooler.b": (H,)}
    if "mlm" in heads:
        table |= {
            "mlm.dense.w": (H, E), "mlm.dense.b": (E,),
            "mlm.norm.gain": (E,), "mlm.norm.bias": (E,),
            "mlm.bias": (V,),                        # the output matrix is embeddings.word, used again
        }  # fmt: skip
    if "sop" in heads:
        table |= {"sop.w": (H, 2), "sop.b": (2,)}
    if "classifier" in heads:
        table |= {"classifier.w": (H, outputs), "classifier.b": (outputs,)}
    if "span" in heads:
        table |= {"span.w": (H, 2), "span.b": (2,)}
    if "answer" in heads:
        table |= {
            "answer.start.w": (H, 1), "answer.start.b": (1,),
            "answer.end.w": (2 * H, H), "answer.end.b": (H,),
            "answer.end.norm.gain": (H,), "answer.end.norm.bias": (H,),
            "answer.end.score.w": (H, 1), "answer.end.score.b": (1,),
            "answer.unanswerable.w": (2 * H, H), "answer.unanswerable.b": (H,),
            "answer.unanswerable.score.w": (H, 1),   # released without a bias
        }  # fmt: skip
    return table


def heads_of(names):
    """The heads, and the outputs of a classifier, of tensors: {name: array}."""
    heads = [head for head in HEADS + TASK_HEADS if any(name.startswith(f"{head}.") for name in names)]
    return heads, len(names["classifier.b"]) if "classifier" in heads else 2


def size_of(shapes):
    """The number of weights that a table of shapes describes."""
    return sum(math.prod(shape) for shape in shapes.values())


def dtype_of(dtype):
    """NumPy's dtype of a name or a type. None is no name, though NumPy takes it for float64."""
    try:
        found = np.dtype(dtype) if dtype is not None else None
    except TypeError:
        found = None
    if found is None or found.name not in DTYPES or not found.isnative:
        raise refusal("dtype", dtype, f"one of: {', '.join(DTYPES)}", ConfigError)
    return found


def count(config, heads=HEADS):
    """The number of parameters of a model."""
    return size_of(shapes(config, heads))


class Views(Mapping):
    """name -> an array that is never replaced: `views[name] += x` adds to it in place."""

    where = ""

    def __init__(self, views):
        self._views = views

    @property
    def names(self):
        return tuple(self._views)

    def __getitem__(self, name):
        try:
            return self._views[name]
        except KeyError:
            raise UnknownNameError(f"there is no tensor {name!r}{self.where}; {nearest(name, self._views)}") from None

    def __setitem__(self, name, value):
        """Python calls this after `views[name] += x`, with the view itself; anything else is an error."""
        if value is not self._views.get(name):
            raise TypeError(f"params[{name!r}] = ... would break the view; write params[{name!r}][...] = ...")

    def __contains__(self, name):
        return name in self._views

    def __iter__(self):
        return iter(self._views)

    def __len__(self):
        return len(self._views)


class Params(Views):
    """name -> a view into one vector. Add with `params[name] += x`; a view is never replaced.

    flat             the vector: params.flat *= 0.5 changes every tensor
    shapes           name -> shape
    dtype, device    of the vector: float32, "cpu"
    names            the names, in the order of the vector
    """

    def __init__(self, flat, shapes):
        if flat.shape != (size_of(shapes),):
            raise ValueError(f"the vector has shape {flat.shape}; the tensors need ({size_of(shapes)},)")
        self._flat, self.shapes, start, views = flat, dict(shapes), 0, {}
        for name, shape in shapes.items():
            end = start + math.prod(shape)
            views[name] = flat[start:end].reshape(shape)
            start = end
        super().__init__(views)

    def select(self, *prefixes):
        """The tensors whose names begin with one of the prefixes: params.select("encoder.", "pooler.")."""
        for prefix in prefixes:
            text("prefix", prefix)
        return Selection(self, prefixes)

    @classmethod
    def zeros(cls, shapes, dtype="float32", device="cpu"):
        for shape in of_kind("shapes", shapes, Mapping).values():
            of_kind("a shape", shape, tuple)
        dtype, size = dtype_of(dtype), size_of(shapes)
        check_memory(f"{size:,} weights", size * dtype.itemsize)
        return cls(to_device(np.zeros(size, dtype), device), shapes)

    @classmethod
    def from_arrays(cls, arrays, shapes, dtype, device="cpu"):
        """Copy a dict of arrays, one for each name, into a fresh vector."""
        params = cls.zeros(shapes, dtype)
        for name, shape in shapes.items():
            if name not in of_kind("arrays", arrays, Mapping):
                raise UnknownNameError(f"arrays has no {name!r}; {nearest(name, arrays)}")
            params[name][...] = array(f"arrays[{name!r}]", arrays[name], shape, finite=False)
        return params.to(device, copy=False)

    def zeros_like(self):
        return Params(array_module(self.flat).zeros_like(self.flat), self.shapes)

    def copy(self):
        return Params(self.flat.copy(), self.shapes)

    def astype(self, dtype, copy=True):
        """A copy in another dtype. With copy=False and the dtype it has already, the same vector, as in NumPy."""
        return Params(self.flat.astype(dtype_of(dtype), copy=flag("copy", copy)), self.shapes)

    def to(self, device, copy=True):
        """A copy on "cpu" or "cuda". With copy=False and the device it is on already, the same vector."""
        flat = to_device(self.flat, device)
        return Params(flat.copy() if flag("copy", copy) and device == self.device else flat, self.shapes)

    def __reduce__(self):
        """Build copies and unpickled objects from the vector, so that their names are views into their own vector."""
        return Params, (self.flat, self.shapes)

    @property
    def flat(self):
        return self._flat

    @flat.setter
    def flat(self, value):
        """Python calls this after `params.flat += x`, with the vector itself; anything else is an error."""
        if value is not self._flat:
            raise TypeError("params.flat = ... would not change the named tensors; write params.flat[...] = ...")

    @property
    def dtype(self):
        return self.flat.dtype

    @property
    def device(self):
        return device_of(self.flat)

    def __repr__(self):
        return f"Params({len(self)} tensors, {self.flat.size:,} numbers, {self.dtype}, {self.device})"


class Selection(Views):
    """Some tensors of a Params: name -> the same view. Made by `Params.select`."""

    where = " in the selection"

    def __init__(self, params, prefixes):
        super().__init__({name: view for name, view in params.items() if name.startswith(prefixes)})
        self._count = len(params)
        begins = dict.fromkeys(".".join(name.split(".")[:depth]) for name in params for depth in (1, 2, 3))
        for prefix in prefixes:
            if not any(name.startswith(prefix) for name in params):
                raise UnknownNameError(f"no tensor's name begins with {prefix!r}; {nearest(prefix, begins)}")

    def __repr__(self):
        return f"Selection({len(self)} of {self._count} tensors: {', '.join(self)})"


def initialise(config, seed=0, heads=HEADS, dtype="float32", device="cpu", outputs=2):
    """Sample tables and matrices from a normal distribution cut off at ±2σ; gains are one, biases zero.

    They are sampled on the host in float64, so that a seed means one model, whatever its device and dtype.
    """
    rng = np.random.default_rng(whole("seed", seed, error=ConfigError))
    params = Params.zeros(shapes(config, heads, outputs), dtype)
    for name, tensor in params.items():
        if name.endswith(".gain"):
            tensor[...] = 1.0
        elif tensor.ndim == 2:
            sample_normal(rng, config.initializer_range, out=tensor.reshape(-1))
    return params.to(device, copy=False)


def sample_normal(rng, sigma, *, out):
    """Sample normally, and again what is outside ±2σ. The standard deviation becomes 0.8796 σ.

    Some numbers at a time, so that float64 needs little memory. out: (n,)
    """
    places = [sample(rng, sigma, out, np.arange(i, min(i + SAMPLES, len(out)))) for i in range(0, len(out), SAMPLES)]
    places = np.concatenate(places)
    while len(places):
        places = sample(rng, sigma, out, places)


def sample(rng, sigma, out, places):
    """Fill out[places]; returns those that are outside ±2σ."""
    draws = rng.standard_normal(len(places))
    out[places] = draws * sigma
    return places[np.abs(draws) > 2]
