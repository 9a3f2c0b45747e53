"""The sections of a run's settings: each field with its default, its meaning, and what it may be."""

import dataclasses
import math
import types
import typing
from dataclasses import dataclass, field

from ..errors import ConfigError


def setting(default, help, least=None, most=None, choices=None, metavar=None):
    said = {"help": help, "least": least, "most": most, "choices": choices, "metavar": metavar}
    return field(default=default, metadata=said)


class Section:
    """A dataclass whose fields say what they may be."""

    def __post_init__(self):
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, checked(item, getattr(self, item.name)))


def checked(item, value):
    kind, limits = kind_of(item), item.metadata
    if value is None and item.default is None:
        return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**60:
        value = float(value)
    if type(value) is not kind:
        said = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
        raise ConfigError(f"{item.name} is {value!r}; it must be {said}")
    if limits["choices"] and value not in limits["choices"]:
        raise ConfigError(f"{item.name} is {value!r}; it must be one of: {', '.join(limits['choices'])}")
    if kind is str and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{item.name} is {value!r}, which no text file can hold; name it in Unicode") from error
    least, most = limits["least"], limits["most"]
    finite = kind is not float or math.isfinite(value)
    if not finite or (least is not None and value < least) or (most is not None and value > most):
        said = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{item.name} is {value}; it must be {said}")
    return value


@dataclass(frozen=True)
class Corpora(Section):
    corpus: str = setting("", "what `minalbert data build` made", metavar="DIR")
    held_out: str = setting("", "another corpus to test on; without one, a share of the first", metavar="DIR")
    held_out_share: float = setting(0.05, "of the documents, kept from training to test on", 0.0, 0.9)


@dataclass(frozen=True)
class Training(Section):
    steps: int = setting(10_000, "updates of the weights", 1)
    batch: int = setting(64, "sequences of an update", 1, 2**30)
    micro_batch: int = setting(32, "sequences at a time; as many of them as make a batch must be 1, 2, 4, 8, ...", 1)
    workers: int = setting(0, "threads that share a batch, one micro-batch each at a time; 0: one for each core", 0)
    recompute: bool = setting(False, "make activations twice instead of keeping them")
    seed: int = setting(0, "of the weights, the instances and dropout", 0, 2**63)
    dtype: str = setting("float32", "of weights and arithmetic", choices=("float32", "float64"))
    precision: str = setting("full", "of matrix products: bf16 rounds what it multiplies; on a GPU also tf32, float16",
                             choices=("full", "bf16", "tf32", "float16"))  # fmt: skip
    kernels: str = setting("numpy", "of what is done between products; numba's are compiled",
                           choices=("numpy", "compiled"))  # fmt: skip
    device: str = setting("cpu", "where the arithmetic is done", choices=("cpu", "cuda"))
    code: str = setting("", "files whose functions take the places of the library's, as in a PATH")
    weights: str = setting("", "a model or run to begin with, instead of fresh weights", metavar="DIR")

    @property
    def how(self):
        return {"precision": self.precision, "kernels": self.kernels}


@dataclass(frozen=True)
class Optimiser(Section):
    optimiser: str = setting("adamw", "what makes steps of gradients", choices=("adamw", "lamb"))
    rate: float | None = setting(None, "peak; where not said: adamw 0.001, lamb by the √batch rule", 0.0, 1e6)
    beta1: float = setting(0.9, "memory of the first moment", 0.0, 0.9999999)
    beta2: float = setting(0.999, "memory of the second moment", 0.0, 0.9999999)
    epsilon: float = setting(1e-6, "added to the root of the second moment", 0.0)
    weight_decay: float = setting(0.01, "pull towards zero of all but biases and norms", 0.0)
    bias_correction: bool | None = setting(None, "make up for moments that begin at zero: adamw yes, lamb as ALBERT no")
    clamp: float = setting(0.0, "lamb's trust ratio is at most this; 0: no limit, as in ALBERT", 0.0)
    clip: float = setting(1.0, "the gradient's norm is scaled down to this; 0: never", 0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.bias_correction is None:
            object.__setattr__(self, "bias_correction", self.optimiser == "adamw")


@dataclass(frozen=True)
class Rates(Section):
    schedule: str = setting("linear", "how the rate falls; ALBERT: linear", choices=("linear", "cosine", "constant"))
    warmup: int | None = setting(None, "steps in which the rate rises; where not said: 2.5 % of all, as ALBERT's", 0)
    minutes: float = setting(0.0, "time limit, towards which the rate falls where steps are too slow, and then the "
                             "result depends on the clock; 0: none", 0.0)  # fmt: skip


@dataclass(frozen=True)
class Records(Section):
    log_every: int = setting(10, "steps between lines of metrics.jsonl", 1)
    evaluate_every: int = setting(250, "steps between tests on held-out documents", 1)
    evaluate_instances: int = setting(1000, "instances of such a test", 1)
    tensorboard: bool = setting(False, "write event files for TensorBoard, too")


@dataclass(frozen=True)
class Checkpoints(Section):
    every: int = setting(500, "steps between checkpoints", 1)
    keep: int = setting(2, "newest checkpoints that are kept", 1)


@dataclass(frozen=True)
class Watch(Section):
    spikes: str = setting("skip", "a loss or a gradient far above the last ones: refuse the step, go back, or note it",
                          choices=("skip", "rollback", "note"))  # fmt: skip
    spike_sigmas: float = setting(6.0, "how far above their mean, in standard deviations", 1.0)
    spike_window: int = setting(128, "how many last ones", 8)
    patience: int = setting(5, "steps refused in a row, before going back to a checkpoint", 1)
    pass_over: str = setting("", "batches to leave out, such as 120:130, 400:401 (the end not included)", metavar="A:B")

    def __post_init__(self):
        super().__post_init__()
        self.batches_passed_over()

    def batches_passed_over(self):
        """Ranges of batch numbers."""
        ranges = []
        for part in filter(None, (part.strip() for part in self.pass_over.split(","))):
            first, _, last = part.partition(":")
            if not (first.isdecimal() and last.isdecimal()) or int(first) >= int(last):
                raise ConfigError(f"pass_over has {part!r}; it must be batches from:to, such as 120:130")
            ranges.append(range(int(first), int(last)))
        return ranges


def kind_of(field):
    """bool, int, float or str, of a field that may also be None."""
    if isinstance(field.type, types.UnionType):
        (kind,) = (kind for kind in typing.get_args(field.type) if kind is not type(None))
        return kind
    return field.type
