"""Every setting of a run, in sections: what a TOML file may say, what the command line may change.

    settings = Settings.read("my.toml")              # or Settings() for the defaults
    settings = settings.change(steps=500, rate=1e-3) # a name belongs to one section only
    settings.toml()                                  # the whole of it, as the run directory keeps it
"""

import dataclasses
import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from ..config import PRESETS, AlbertConfig
from ..data.recipe import HELP as RECIPE_HELP
from ..data.recipe import Recipe
from ..errors import ConfigError, DataError
from ..optim import AdamW, Lamb, Schedule, sqrt_rule
from .sections import Checkpoints, Corpora, Optimiser, Rates, Records, Training, Watch

SECTIONS = {
    "model": AlbertConfig,
    "data": Corpora,
    "recipe": Recipe,
    "training": Training,
    "optimiser": Optimiser,
    "schedule": Rates,
    "records": Records,
    "checkpoints": Checkpoints,
    "watch": Watch,
}
SECTION_OF = {item.name: name for name, cls in SECTIONS.items() for item in dataclasses.fields(cls)}


@dataclass(frozen=True)
class Settings:
    preset: str = "tiny"
    given: dict = field(default_factory=dict)        # {section: {name: value}}, the rest are defaults

    def __post_init__(self):
        if not isinstance(self.preset, str) or self.preset not in PRESETS:
            raise ConfigError(f"preset is {self.preset!r}; it must be one of: {', '.join(PRESETS)}")
        for section in SECTIONS:                     # each checks itself
            getattr(self, section)
        self.make_optimiser()
        self.make_schedule()
        if self.recipe.max_length > self.model.max_position_embeddings:
            raise ConfigError(
                f"max_length is {self.recipe.max_length}; the model has positions for "
                f"{self.model.max_position_embeddings} tokens (max_position_embeddings)"
            )
        parts, rest = divmod(self.training.batch, self.training.micro_batch)
        if rest or not parts or parts & (parts - 1):
            raise ConfigError(
                f"batch {self.training.batch} is {self.training.batch / self.training.micro_batch:g} times micro_batch "
                f"{self.training.micro_batch}; it must be 1, 2, 4, 8, ... times as large"
            )
        if self.model.type_vocab_size < self.recipe.segments:
            raise ConfigError(
                f"type_vocab_size is {self.model.type_vocab_size}; pairs {self.recipe.pairs!r} have "
                f"{self.recipe.segments} segments, each with a type of its own"
            )

    @classmethod
    def read(cls, path):
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
        try:
            return cls.from_tables(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"{path} is not TOML: {error}") from error
        except (ConfigError, DataError) as error:
            raise type(error)(f"{path}: {error}") from error

    @classmethod
    def from_tables(cls, tables):
        given = {}
        for section, table in tables.items():
            if section not in SECTIONS or not isinstance(table, dict):
                raise ConfigError(f"there is no section {section!r}; the sections are {', '.join(SECTIONS)}")
            given[section] = dict(table)
        preset = given.get("model", {}).pop("preset", "tiny")
        for section, table in given.items():
            names = [item.name for item in dataclasses.fields(SECTIONS[section])]
            for name in table:
                if name not in names:
                    hint = f"belongs into [{SECTION_OF[name]}]" if name in SECTION_OF else f"has {', '.join(names)}"
                    raise ConfigError(f"[{section}] has no setting {name!r}; it {hint}")
        return cls(preset, given)

    def change(self, **changes):
        """These settings, said anew; another preset takes the place of all that was said of the model."""
        given = {section: dict(table) for section, table in self.given.items()}
        if "preset" in changes:
            given.pop("model", None)
        preset = changes.pop("preset", self.preset)
        for name, value in changes.items():
            if name not in SECTION_OF:
                raise ConfigError(f"there is no setting {name!r}")
            given.setdefault(SECTION_OF[name], {})[name] = value
        return Settings(preset, given)

    def said(self, section):
        return self.given.get(section, {})

    @property
    def model(self):
        return PRESETS[self.preset].replace(**self.said("model"))

    @property
    def recipe(self):
        """As long as the model can read, up to 128 tokens, unless told otherwise; predictions to match."""
        said = self.said("recipe")
        if said.get("policy") == "released":
            return Recipe.released(**said)
        length = said.get("max_length", min(Recipe.max_length, self.model.max_position_embeddings))
        predictions = max(1, min(Recipe.max_predictions, round(0.15 * length))) if isinstance(length, int) else 1
        return Recipe(**{"max_length": length, "max_predictions": predictions} | said)

    def __getattr__(self, section):
        if section not in SECTIONS:
            raise AttributeError(section)
        return SECTIONS[section](**self.said(section))

    @property
    def peak_rate(self):
        if self.optimiser.rate is not None:
            return self.optimiser.rate
        return 0.001 if self.optimiser.optimiser == "adamw" else sqrt_rule(self.training.batch)

    @property
    def warmup(self):
        said = self.schedule.warmup
        return round(0.025 * self.training.steps) if said is None else said

    def make_optimiser(self):
        said = self.optimiser
        shared = {"betas": (said.beta1, said.beta2), "eps": said.epsilon, "weight_decay": said.weight_decay,
                  "bias_correction": said.bias_correction}  # fmt: skip
        return Lamb(**shared, clamp=said.clamp or None) if said.optimiser == "lamb" else AdamW(**shared)

    def make_schedule(self):
        return Schedule(self.peak_rate, self.training.steps, self.warmup, self.schedule.schedule)

    @property
    def parts(self):
        """G: micro-batches in a batch."""
        return self.training.batch // self.training.micro_batch

    def tables(self):
        """{section: {name: value}} of every setting; those that are None are left out."""
        tables = {
            section: {name: value for name, value in dataclasses.asdict(getattr(self, section)).items()
                      if value is not None}
            for section in SECTIONS
        }  # fmt: skip
        tables["optimiser"]["rate"], tables["schedule"]["warmup"] = self.peak_rate, self.warmup
        return tables

    def toml(self, defaults="said"):
        """All settings with their meaning; defaults as comments where `defaults` is "shown"."""
        lines = []
        for section, table in self.tables().items():
            lines += [*([""] if lines else []), f"[{section}]"]
            if section == "model" and defaults == "shown":
                lines.append(f'preset = "{self.preset}"')
            for name, value in table.items():
                said = f"{name} = {toml_value(value)}"
                if defaults == "shown" and name not in self.said(section):
                    said = f"# {said}"
                help = help_of(section, name)
                lines.append(f"{said:<40} # {help}" if help else said)
        return "\n".join(lines) + "\n"


def toml_value(value):
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def help_of(section, name):
    if section == "recipe":
        return RECIPE_HELP.get(name)
    (item,) = (item for item in dataclasses.fields(SECTIONS[section]) if item.name == name)
    return item.metadata.get("help")
