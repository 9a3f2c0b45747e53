"""The sizes and switches of an ALBERT, under the names of the released config files."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from . import arguments
from .errors import ConfigError, UnknownNameError, named_fields, nearest

whole, number, one_of, flag = (
    partial(check, error=ConfigError)
    for check in (arguments.whole, arguments.number, arguments.one_of, arguments.flag)
)
HALVES = ("attention", "ffn")
SHARING = ("all", "attention", "ffn", "none")
ATTENTION = ("full", "local", "block", "strided")
LARGEST = {"num_hidden_layers": 10_000}              # shared layers need no memory, but time; memory limits the rest
ACTIVATIONS = {"gelu_new": "tanh", "gelu_pytorch_tanh": "tanh", "gelu": "erf"}


@named_fields(ConfigError)
@dataclass(frozen=True)
class AlbertConfig:
    """The sizes and switches of a model. `config.replace(hidden_size=128)` returns a changed copy.

    vocab_size                     V: pieces in the vocabulary
    embedding_size                 E: width of an embedding
    hidden_size                    H: width of a hidden state
    num_hidden_layers              L: layers
    num_attention_heads            N: heads, each D = H / N wide
    intermediate_size              F: width inside the FFN, 4 H in every released model
    max_position_embeddings        M: the longest sequence, in tokens
    type_vocab_size                segment types: 2, for the first and the second segment
    hidden_act                     "gelu_new", the tanh form of GELU, or "gelu", the erf form
    hidden_dropout_prob            dropout after the embeddings and after each half of a layer
    attention_probs_dropout_prob   dropout of the attention probabilities
    layer_norm_eps                 is added to the variance in each layer norm
    initializer_range              σ of the initial weights
    num_hidden_groups              G: groups of layers that share weights; layer l is in group l G // L
    sharing                        which halves of a layer are shared within a group: "all", "attention", "ffn", "none"
    embedding_projection           is there a projection E -> H? None: if E ≠ H, as in the released code
    reversible                     layers whose inputs are computed from their outputs: `model.reversible`
    attention                      which tokens a token sees: "full", all; "local", a window around it; "block", its own
                                   block; "strided", a window and every attention_stride-th token
    attention_window               tokens of a window, itself included, or of a block
    attention_stride               every so many tokens one that all see, with "strided"
    attention_global               so many tokens at the beginning see all and are seen by all, except with "full",
                                   where all are: 1 is [CLS]
    """

    vocab_size: int = 30000
    embedding_size: int = 128
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    max_position_embeddings: int = 512
    type_vocab_size: int = 2
    hidden_act: str = "gelu_new"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    layer_norm_eps: float = 1e-12
    initializer_range: float = 0.02
    num_hidden_groups: int = 1
    sharing: str = "all"
    embedding_projection: bool | None = None
    reversible: bool = False
    attention: str = "full"
    attention_window: int = 256
    attention_stride: int = 64
    attention_global: int = 1

    def __post_init__(self):
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if field.type is int:
                least = 0 if name == "attention_global" else 1
                whole(name, value, least, LARGEST.get(name, 2**31 - 1))
            elif field.type is float:
                number(name, value, least=0, below=1 if name.endswith("dropout_prob") else None)
        if self.hidden_size % self.num_attention_heads:
            raise ConfigError(
                f"hidden_size {self.hidden_size} cannot be split evenly over {self.num_attention_heads} heads"
            )
        if self.num_hidden_groups > self.num_hidden_layers:
            raise ConfigError(
                f"num_hidden_groups is {self.num_hidden_groups}, more than the {self.num_hidden_layers} layers"
            )
        one_of("sharing", self.sharing, SHARING)
        one_of("attention", self.attention, ATTENTION)
        one_of("hidden_act", self.hidden_act, ACTIVATIONS)
        one_of("embedding_projection", self.embedding_projection, (True, False, None))
        flag("reversible", self.reversible)
        if self.embedding_projection is False and self.embedding_size != self.hidden_size:
            raise ConfigError(
                f"embedding_projection is False, but embedding_size {self.embedding_size} "
                f"differs from hidden_size {self.hidden_size}"
            )

    @property
    def has_projection(self):
        if self.embedding_projection is None:
            return self.embedding_size != self.hidden_size
        return self.embedding_projection

    @property
    def gelu_form(self):
        return ACTIVATIONS[self.hidden_act]

    def groups(self, half):
        """The number of sets of weights that "attention" or "ffn" has."""
        if half not in HALVES:                       # each layer of each pass asks
            one_of("half", half, HALVES)
        shared = self.sharing in ("all", half)
        return self.num_hidden_groups if shared else self.num_hidden_layers

    def group_of(self, half, layer):
        """Which of them a layer uses. Whole numbers only: the released code's floats slip at L = 22."""
        if type(layer) is not int or not 0 <= layer < self.num_hidden_layers:
            layer = whole("layer", layer, 0, self.num_hidden_layers - 1)
        return layer * self.groups(half) // self.num_hidden_layers

    def replace(self, **changes):
        """Return a copy with these fields changed."""
        return dataclasses.replace(self, **changes)


def _albert(H, L, N, dropout=0.0, **others):
    return AlbertConfig(
        hidden_size=H, num_hidden_layers=L, num_attention_heads=N, intermediate_size=4 * H,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout, **others,
    )  # fmt: skip


def _bert(H, L, N):
    return _albert(H, L, N, 0.1, embedding_size=H, sharing="none", hidden_act="gelu")


def _teaching(V, E, H, L, N, length):
    sizes = {"vocab_size": V, "embedding_size": E, "max_position_embeddings": length}
    return _albert(H, L, N, **sizes, initializer_range=H**-0.5)


class Presets(Mapping):
    """Preset configurations by name. Without a version, version 2 is meant: "albert-base" is "albert-base-v2"."""

    def __init__(self, configs):
        self._configs = configs

    def full_name(self, name):
        """The name with its version: "albert-base" -> "albert-base-v2"."""
        for full in (name, f"{name}-v2"):
            if full in self._configs:
                return full
        short = [known.removesuffix("-v2") for known in self._configs if known.endswith("-v2")]
        raise UnknownNameError(f"there is no preset {name!r}; {nearest(name, [*self._configs, *short])}")

    def __getitem__(self, name):
        return self._configs[self.full_name(name)]

    def __iter__(self):
        return iter(self._configs)

    def __len__(self):
        return len(self._configs)

    def __repr__(self):
        return f"PRESETS: {', '.join(self)}"


# Dropout was 0.1 in v1 (0 in its xxlarge) and 0 in v2. The paper's rule gives xlarge 32 heads; the released
# files say 16. Same shapes, another function: check which one your weights were trained with.
PRESETS = Presets({
    "tiny": _teaching(V=1024, E=32, H=64, L=3, N=4, length=64),
    "mini": _teaching(V=8192, E=64, H=128, L=4, N=4, length=128),
    "albert-base-v1": _albert(H=768, L=12, N=12, dropout=0.1),
    "albert-base-v2": _albert(H=768, L=12, N=12, dropout=0.0),
    "albert-large-v1": _albert(H=1024, L=24, N=16, dropout=0.1),
    "albert-large-v2": _albert(H=1024, L=24, N=16, dropout=0.0),
    "albert-xlarge-v1": _albert(H=2048, L=24, N=16, dropout=0.1),
    "albert-xlarge-v2": _albert(H=2048, L=24, N=16, dropout=0.0),
    "albert-xxlarge-v1": _albert(H=4096, L=12, N=64, dropout=0.0),
    "albert-xxlarge-v2": _albert(H=4096, L=12, N=64, dropout=0.0),
    "bert-base": _bert(H=768, L=12, N=12),
    "bert-large": _bert(H=1024, L=24, N=16),
})  # fmt: skip
