"""The sections of every kind of run: how it is trained, written down, saved and watched."""

from dataclasses import dataclass

from .. import arguments
from ..errors import ConfigError
from ..optim import AdamW, Lamb, Schedule, sqrt_rule
from .sections import Section, SectionedSettings, setting


@dataclass(frozen=True)
class TrainingSettings(Section):
    steps: int = setting(10_000, "updates of the weights", 1)
    batch: int = setting(64, "sequences of an update", 1, 2**30)
    micro_batch: int = setting(32, "sequences at a time; as many of them as make a batch must be 1, 2, 4, 8, ...", 1)
    workers: int = setting(0, "threads that share a batch, one micro-batch each at a time; 0: one for each core", 0)
    recompute: int = setting(0, "keep the input of every K-th layer, and compute the rest again in backward; without a "
                             "number: of every layer; 0: keep all that backward needs", 0, metavar="K", bare=1)
    seed: int = setting(0, "of the weights, the instances and dropout", 0, 2**63)
    dtype: str = setting("float32", "of weights and arithmetic", choices=("float32", "float64"))
    precision: str = setting("full", "of matrix products: bf16 rounds what it multiplies; on a GPU also tf32, float16",
                             choices=("full", "bf16", "tf32", "float16"))
    kernels: str | None = setting(None, "plain: the files that you read; fused: faster, in less memory; compiled: "
                                  "fused, with numba's loops; if none is given: plain, but fused on a GPU or in fewer "
                                  "bits, which need it",
                                  choices=("plain", "fused", "compiled"))
    device: str = setting("cpu", "where the arithmetic is done", choices=("cpu", "cuda"))
    code: str = setting("", "files with your own functions for the model, separated as in PATH")
    weights: str = setting("", "a model or run to begin with, instead of fresh weights", metavar="DIR")

    model_ranks: int = setting(1, "ranks that share one model, each with some of its heads, of its FFN and of its "
                               "words; groups of so many ranks share a batch", 1, 2**14)

    def __post_init__(self):
        if isinstance(self.recompute, bool):         # as version 0.1.0 wrote it
            object.__setattr__(self, "recompute", int(self.recompute))
        super().__post_init__()
        if self.kernels is None:
            kernels_of_gpu = (self.device, self.dtype, self.model_ranks) == ("cuda", "float32", 1)
            fused = self.precision != "full" or kernels_of_gpu
            object.__setattr__(self, "kernels", "fused" if fused and not self.code else "plain")
        if self.code and self.kernels != "plain":
            raise ConfigError(f"kernels is {self.kernels!r}; your own functions (--with) need kernels 'plain', which "
                              "call them by their names")
        if self.model_ranks > 1:
            self.check_model_ranks()

    def check_model_ranks(self):
        """Raise ConfigError for a setting with which ranks cannot share a model."""
        for name, possible in {"kernels": ("plain",), "code": ("",), "workers": (0, 1)}.items():
            if getattr(self, name) not in possible:
                wanted = " or ".join(repr(one) if one != "" else "none" for one in possible)
                raise ConfigError(f"{name} is {getattr(self, name)!r}; with model_ranks {self.model_ranks} it must be "
                                  f"{wanted}")

    @property
    def compute(self):
        """Albert's options for its arithmetic."""
        return {"kernels": self.kernels, "precision": self.precision}


@dataclass(frozen=True)
class OptimiserSettings(Section):
    optimiser: str = setting("adamw", "what makes steps of gradients", choices=("adamw", "lamb"))
    rate: float | None = setting(None, "peak; if none is given: adamw 0.001, lamb by the √batch rule", 1e-12, 100.0)
    beta1: float = setting(0.9, "memory of the first moment", 0.0, 0.9999999)
    beta2: float = setting(0.999, "memory of the second moment", 0.0, 0.9999999)
    epsilon: float = setting(1e-6, "added to the root of the second moment", 1e-30, 1.0)
    weight_decay: float = setting(0.01, "pull towards zero of all but biases and norms", 0.0, 100.0)
    bias_correction: bool | None = setting(None, "make up for moments that begin at zero: adamw yes, lamb as ALBERT no")
    clamp: float = setting(0.0, "lamb's trust ratio is at most this; 0: no limit, as in ALBERT", 0.0)
    clip: float = setting(1.0, "the gradient's norm is scaled down to this; 0: never", 0.0)

    def __post_init__(self):
        super().__post_init__()
        if self.bias_correction is None:
            object.__setattr__(self, "bias_correction", self.optimiser == "adamw")


@dataclass(frozen=True)
class ScheduleSettings(Section):
    schedule: str = setting("linear", "how the rate falls; ALBERT: linear", choices=("linear", "cosine", "constant"))
    warmup: int | None = setting(None, "steps in which the rate rises; if none is given: 2.5 % of all, as ALBERT's", 0)
    minutes: float = setting(0.0, "time limit, towards which the rate falls if steps are too slow, and then the "
                             "result depends on the clock; 0: none", 0.0)


@dataclass(frozen=True)
class RecordSettings(Section):
    log_every: int = setting(10, "steps between lines of metrics.jsonl", 1)
    evaluate_every: int = setting(250, "steps between tests on held-out documents", 1)
    tensorboard: bool = setting(False, "write event files for TensorBoard, too")


@dataclass(frozen=True)
class CheckpointSettings(Section):
    every: int = setting(500, "steps between checkpoints", 1)
    keep: int = setting(2, "newest checkpoints that are kept", 1)
    spare: str = setting("", "another directory, where the newest state is saved while the run's has no room",
                         metavar="DIR")


@dataclass(frozen=True)
class WatchSettings(Section):
    spikes: str = setting("skip", "a loss or a gradient far above the last ones: refuse the step, go back, or note it",
                          choices=("skip", "rollback", "note"))
    spike_sigmas: float = setting(6.0, "how far above their mean, in standard deviations", 1.0)
    spike_window: int = setting(128, "how many last ones", 8)
    patience: int = setting(5, "steps refused in a row, before going back to a checkpoint", 1)
    pass_over: str = setting("", "batches to leave out, such as 120:130, 400:401 (the end not included)", metavar="A:B")

    def __post_init__(self):
        super().__post_init__()
        self.batches_passed_over()

    def batches_passed_over(self):
        """Ranges of batches."""
        ranges = []
        for text in filter(None, (text.strip() for text in self.pass_over.split(","))):
            first, _, last = text.partition(":")
            if not (first.isdecimal() and last.isdecimal()) or int(first) >= int(last):
                raise ConfigError(f"pass_over has {text!r}; it must be batches from:to, such as 120:130")
            ranges.append(range(int(first), arguments.whole("pass_over", int(last), 1, 2**53, ConfigError)))
        return ranges


class RunSettings(SectionedSettings):
    """Settings of a run; the sections of `SHARED` are among them."""

    def check(self):
        self.make_optimiser()
        self.make_schedule()
        batch, size = self.training.batch, self.training.micro_batch
        if batch % size or self.slices.bit_count() != 1:
            raise ConfigError(f"batch {batch} is {batch / size:g} times micro_batch {size}; it must be 1, 2, 4, 8, ... "
                              "times as large")

    @classmethod
    def known(cls, given):
        training = given.get("training", {})
        if training.get("kernels") == "numpy":       # as version 0.1.0 wrote it
            training["kernels"] = "plain" if training.get("code") else "fused"
        return super().known(given)

    def may_change(self, section, name):
        return super().may_change(section, name) and name != "optimiser"

    @property
    def peak_rate(self):
        if self.optimiser.rate is not None:
            return self.optimiser.rate
        return 0.001 if self.optimiser.optimiser == "adamw" else sqrt_rule(self.training.batch)

    @property
    def warmup(self):
        given = self.schedule.warmup
        return round(0.025 * self.training.steps) if given is None else given

    @property
    def slices(self):
        """The number of micro-batches in a batch."""
        return self.training.batch // self.training.micro_batch

    def make_optimiser(self):
        given = self.optimiser
        shared = {"betas": (given.beta1, given.beta2), "eps": given.epsilon, "weight_decay": given.weight_decay,
                  "bias_correction": given.bias_correction}
        return Lamb(**shared, clamp=given.clamp or None) if given.optimiser == "lamb" else AdamW(**shared)

    def make_schedule(self):
        return Schedule(self.peak_rate, self.training.steps, self.warmup, self.schedule.schedule)

    def tables(self):
        tables = super().tables()
        tables["optimiser"]["rate"], tables["schedule"]["warmup"] = self.peak_rate, self.warmup
        return tables


SHARED = {"training": TrainingSettings, "optimiser": OptimiserSettings, "schedule": ScheduleSettings,
          "records": RecordSettings, "checkpoints": CheckpointSettings, "watch": WatchSettings}
CHANGEABLE_TRAINING = ("steps", "workers", "recompute", "precision", "kernels", "device", "code", "weights",
                       "model_ranks")
