"""Every setting of a run, in sections: what a TOML file may say, what the command line may change.

    settings = Settings.read("my.toml")              # or Settings() for the defaults
    settings = settings.change(steps=500, rate=1e-3) # a name belongs to one section only
    settings.training.steps                          # checked, with its default if it is not given
    settings.toml()                                  # the whole of it, as the run directory keeps it

Settings end where a run is assembled (assemble.py): the loop and all that it calls receive objects and plain values.
"""

import dataclasses
import json
import math
import types
import typing
from dataclasses import dataclass, field

from .. import arguments, files
from ..config import ACTIVATIONS, ATTENTION, PRESETS, SHARING, AlbertConfig
from ..data import recipe
from ..data.recipe import Recipe
from ..errors import ConfigError, DataError, FileError
from ..optim import AdamW, Lamb, Schedule, sqrt_rule


def setting(default, help, least=None, most=None, choices=None, metavar=None, bare=None):
    """bare: what an option means that is given without a value"""
    metadata = {"help": help, "least": least, "most": most, "choices": choices, "metavar": metavar, "bare": bare}
    return field(default=default, metadata=metadata)


class Section:
    """A dataclass whose fields say what they may be."""

    def __post_init__(self):
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, checked(item, getattr(self, item.name)))


@dataclass(frozen=True)
class DataSettings(Section):
    corpus: str = setting("", "what `minalbert data build` made", metavar="DIR")
    held_out: str = setting("", "another corpus to test on; without one, a share of the first", metavar="DIR")
    held_out_share: float = setting(0.05, "of the documents, kept from training to test on", 0.0, 0.9)


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

    def __post_init__(self):
        if isinstance(self.recompute, bool):         # as version 0.1.0 wrote it
            object.__setattr__(self, "recompute", int(self.recompute))
        super().__post_init__()
        if self.kernels is None:
            fused = self.precision != "full" or (self.device == "cuda" and self.dtype == "float32")
            object.__setattr__(self, "kernels", "fused" if fused and not self.code else "plain")
        if self.code and self.kernels != "plain":
            raise ConfigError(f"kernels is {self.kernels!r}; your own functions (--with) need kernels 'plain', which "
                              "call them by their names")

    @property
    def compute(self):
        """What Albert computes with."""
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
    evaluate_instances: int = setting(1000, "instances of such a test", 1)
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


@dataclass(frozen=True)
class Settings:
    preset: str = "tiny"
    given: dict = field(default_factory=dict)        # {section: {name: value}}, the rest are defaults
    model: AlbertConfig = field(init=False)
    data: DataSettings = field(init=False)
    recipe: Recipe = field(init=False)
    training: TrainingSettings = field(init=False)
    optimiser: OptimiserSettings = field(init=False)
    schedule: ScheduleSettings = field(init=False)
    records: RecordSettings = field(init=False)
    checkpoints: CheckpointSettings = field(init=False)
    watch: WatchSettings = field(init=False)

    def __post_init__(self):
        if not isinstance(self.preset, str) or self.preset not in PRESETS:       # albert-base is albert-base-v2
            raise arguments.refusal("preset", self.preset, f"one of: {', '.join(PRESETS)}", ConfigError)
        copy_of(self.given)
        model = PRESETS[self.preset].replace(**self.given_in("model"))
        made = {"model": model, "recipe": recipe_for(model, self.given_in("recipe"))}
        for section, cls in SECTIONS.items():        # each checks itself
            object.__setattr__(self, section, made.get(section) or cls(**self.given_in(section)))
        self.check()

    def check(self):
        """Raise ConfigError for sections that do not fit each other."""
        self.make_optimiser()
        self.make_schedule()
        for name, limits in TRAINABLE.items():
            arguments.number(name, getattr(self.model, name), *limits, error=ConfigError)
        if self.recipe.max_length > self.model.max_position_embeddings:
            raise ConfigError(f"max_length is {self.recipe.max_length}; the model has positions for "
                              f"{self.model.max_position_embeddings} tokens (max_position_embeddings)")
        if not self.recipe.mask_fraction:
            raise ConfigError("mask_fraction is 0; in training it must be above 0, or there are no words to predict")
        batch, size = self.training.batch, self.training.micro_batch
        if batch % size or self.slices.bit_count() != 1:
            raise ConfigError(f"batch {batch} is {batch / size:g} times micro_batch {size}; it must be 1, 2, 4, 8, ... "
                              "times as large")
        if self.training.recompute > self.model.num_hidden_layers:
            raise ConfigError(f"recompute is {self.training.recompute}; it must be from 0 to the "
                              f"{self.model.num_hidden_layers} layers of the model")
        if self.model.type_vocab_size < self.recipe.segments:
            raise ConfigError(f"type_vocab_size is {self.model.type_vocab_size}; pairs {self.recipe.pairs!r} have "
                              f"{self.recipe.segments} segments, each with a type of its own")

    @classmethod
    def read(cls, path, **changes):
        """The settings of a TOML file, changed as in `from_tables`."""
        try:
            return cls.from_tables(files.read_toml(arguments.path_of("path", path, ConfigError), ""), **changes)
        except FileError as error:
            raise ConfigError(str(error)) from error
        except (ConfigError, DataError) as error:
            given = ", with the options given" if changes else ""
            raise type(error)(f"{path}{given}: {error}") from error

    @classmethod
    def from_tables(cls, tables, preset=None, **changes):
        """Settings of {section: {name: value}}, as TOML has it, with others in their places, judged when complete.

        `preset`, in [model] or here, comes before what the tables change of it. A run's [run] is passed over.
        """
        given = copy_of(tables)
        preset = given.get("model", {}).pop("preset", "tiny") if preset is None else preset_over(preset, given)
        for section, table in given.items():
            names = [item.name for item in dataclasses.fields(SECTIONS[section])]
            for name in table:
                if name not in names:
                    hint = f"belongs into [{SECTION_OF[name]}]" if name in SECTION_OF else f"has {', '.join(names)}"
                    raise ConfigError(f"[{section}] has no setting {name!r}; it {hint}")
        training = given.get("training", {})
        if training.get("kernels") == "numpy":       # as version 0.1.0 wrote it
            training["kernels"] = "plain" if training.get("code") else "fused"
        return cls(preset, with_changes(given, changes))

    def change(self, **changes):
        """These settings with others in their place; another preset replaces all that was given of the model."""
        given = {section: dict(table) for section, table in self.given.items()}
        if "preset" in changes:
            given.pop("model", None)
        preset = changes.pop("preset", self.preset)
        return Settings(preset, with_changes(given, changes))

    def given_in(self, section):
        """{name: value} of what was given; the rest are defaults."""
        return self.given.get(section, {})

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
        """{section: {name: value}} of every setting; those that are None are left out."""
        tables = {section: {name: value for name, value in vars(getattr(self, section)).items() if value is not None}
                  for section in SECTIONS}
        tables["optimiser"]["rate"], tables["schedule"]["warmup"] = self.peak_rate, self.warmup
        return tables

    def toml(self, comment_defaults=False):
        """All settings with their meaning; with comment_defaults, those that were not given as comments."""
        arguments.flag("comment_defaults", comment_defaults)
        lines = []
        for section, table in self.tables().items():
            lines += [*([""] if lines else []), f"[{section}]"]
            if section == "model" and comment_defaults:
                lines.append(f'preset = "{self.preset}"')
            for name, value in table.items():
                line = f"{name} = {toml_value(value)}"
                if comment_defaults and name not in self.given_in(section):
                    line = f"# {line}"
                lines.append(f"{line:<40} # {HELP[name]}" if name in HELP else line)
        return "\n".join(lines) + "\n"


SECTIONS = {item.name: item.type for item in dataclasses.fields(Settings) if not item.init}
SECTION_OF = {item.name: name for name, cls in SECTIONS.items() for item in dataclasses.fields(cls)}
WHOLE = {item.name for item in dataclasses.fields(AlbertConfig)} - {"vocab_size", "embedding_projection"}
RUN = "run"                                          # the section of a run's own file that is no setting
METADATA = {item.name: item.metadata for cls in SECTIONS.values() for item in dataclasses.fields(cls) if item.metadata}
HELP = recipe.HELP | {name: metadata["help"] for name, metadata in METADATA.items()}
TRAINABLE = {"initializer_range": (1e-9, 10), "layer_norm_eps": (0, 1)}      # a model that is read may have others
CHOICES = (recipe.CHOICES | {"sharing": SHARING, "attention": ATTENTION, "hidden_act": tuple(ACTIVATIONS)}
           | {name: metadata["choices"] for name, metadata in METADATA.items()})


def with_changes(given, changes):
    """{section: {name: value}} with {name: value} in their places."""
    given = {section: dict(table) for section, table in given.items()}
    for name, value in changes.items():
        if name not in SECTION_OF:
            raise ConfigError(f"there is no setting {name!r}")
        given.setdefault(SECTION_OF[name], {})[name] = value
    return given


def preset_over(preset, given):
    """A preset instead of the file's own. Where a file gives a whole model, the two must agree."""
    model = given.get("model", {})
    model.pop("preset", None)
    if isinstance(preset, str) and preset in PRESETS and model.keys() >= WHOLE:
        for name, value in vars(PRESETS[preset]).items():
            if name in WHOLE and model[name] != value:
                raise ConfigError(f"preset {preset!r} has {name} {value!r}, and [model], which gives all of a model, "
                                  f"{model[name]!r}; leave out one of the two")
    return preset


def copy_of(tables):
    """The tables of a file, section by section, without a run's own, or a ConfigError if there is no such section."""
    given = {}
    for section, table in arguments.of_kind("tables", tables, dict, ConfigError).items():
        if section == RUN:
            continue
        if section not in SECTIONS or not isinstance(table, dict):
            raise ConfigError(f"there is no section {arguments.shown(section)}; the sections are {', '.join(SECTIONS)}")
        given[section] = dict(table)
    return given


def recipe_for(model, given):
    """If no length is given: as long as the model can read, up to 128 tokens, and predictions to match."""
    if given.get("policy") == "released":
        return Recipe.released(**given)
    length = given.get("max_length", min(Recipe.max_length, model.max_position_embeddings))
    predictions = max(1, min(Recipe.max_predictions, round(0.15 * length))) if isinstance(length, int) else 1
    return Recipe(**{"max_length": length, "max_predictions": predictions} | given)


def checked(item, value):
    """The value of a field, or a ConfigError that says what it must be."""
    kind, limits = kind_of(item), item.metadata
    if value is None and item.default is None:
        return None
    if kind is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**60:
        value = float(value)
    if type(value) is not kind:
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
        raise arguments.refusal(item.name, value, wanted, ConfigError)
    if limits["choices"]:
        arguments.one_of(item.name, value, limits["choices"], ConfigError)
    if kind is str and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise ConfigError(f"{item.name} is {value!r}, which no text file can hold; name it in Unicode") from error
    least, most = limits["least"], limits["most"]
    if kind is int:
        return arguments.whole(item.name, value, least or 0, most or arguments.MOST, ConfigError)
    finite = kind is not float or math.isfinite(value)
    if not finite or (least is not None and value < least) or (most is not None and value > most):
        wanted = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ConfigError(f"{item.name} is {value}; it must be {wanted}")
    return value


def kind_of(field):
    """bool, int, float or str, of a dataclass's field that may also be None."""
    if isinstance(field.type, types.UnionType):
        (kind,) = (kind for kind in typing.get_args(field.type) if kind is not type(None))
        return kind
    return field.type


def toml_value(value):
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
