"""Every setting of a pretraining, in sections: what a TOML file may say, what the command line may change.

    settings = Settings.read("my.toml")              # or Settings() for the defaults
    settings = settings.change(steps=500, rate=1e-3) # a name belongs to one section only
    settings.training.steps                          # checked, with its default if it is not given

    model: AlbertConfig          what a preset gives, changed         recipe: Recipe    how instances are made
    data: DataSettings           which corpora                        and the sections of run_settings.py

Settings end where a run is assembled (assemble.py): the loop and all that it calls receive objects and plain values.
"""

import dataclasses
from dataclasses import dataclass

from .. import arguments
from ..config import ACTIVATIONS, ATTENTION, PRESETS, SHARING, AlbertConfig
from ..data import recipe
from ..data.recipe import Recipe
from ..errors import ConfigError
from ..split import check_split
from .run_settings import CHANGEABLE_TRAINING, SHARED, RecordSettings, RunSettings
from .sections import Section, setting

WHOLE = {item.name for item in dataclasses.fields(AlbertConfig)} - {"vocab_size", "embedding_projection"}
TRAINABLE = {"initializer_range": (1e-9, 10), "layer_norm_eps": (0, 1)}      # a model that is read may have others
DROPOUTS = ("hidden_dropout_prob", "attention_probs_dropout_prob")


@dataclass(frozen=True)
class DataSettings(Section):
    corpus: str = setting("", "what `minalbert data build` made", metavar="DIR")
    held_out: str = setting("", "another corpus to test on; without one, a share of the first", metavar="DIR")
    held_out_share: float = setting(0.05, "of the documents, kept from training to test on", 0.0, 0.9)


@dataclass(frozen=True)
class PretrainingRecords(RecordSettings):
    evaluate_instances: int = setting(1000, "instances of such a test", 1)


@dataclass(frozen=True)
class Settings(RunSettings):
    preset: str = "tiny"

    SECTIONS = ({"model": AlbertConfig, "data": DataSettings, "recipe": Recipe} | SHARED
                | {"records": PretrainingRecords})
    HELP = recipe.HELP
    CHOICES = recipe.CHOICES | {"sharing": SHARING, "attention": ATTENTION, "hidden_act": tuple(ACTIVATIONS)}
    CHANGEABLE = {"model": DROPOUTS, "recipe": (), "training": CHANGEABLE_TRAINING}      # noqa: RUF012

    def __post_init__(self):
        if not isinstance(self.preset, str) or self.preset not in PRESETS:       # albert-base is albert-base-v2
            raise arguments.refusal("preset", self.preset, f"one of: {', '.join(PRESETS)}", ConfigError)
        super().__post_init__()

    def section(self, name):
        if name == "model":
            return PRESETS[self.preset].replace(**self.given_in("model"))
        return recipe_for(self.model, self.given_in("recipe")) if name == "recipe" else super().section(name)

    def check(self):
        super().check()
        check_split(self.model, self.training.model_ranks)
        for name, limits in TRAINABLE.items():
            arguments.number(name, getattr(self.model, name), *limits, error=ConfigError)
        if self.recipe.max_length > self.model.max_position_embeddings:
            raise ConfigError(f"max_length is {self.recipe.max_length}; the model has positions for "
                              f"{self.model.max_position_embeddings} tokens (max_position_embeddings)")
        if not self.recipe.mask_fraction:
            raise ConfigError("mask_fraction is 0; in training it must be above 0, or there are no words to predict")
        if self.training.recompute > self.model.num_hidden_layers:
            raise ConfigError(f"recompute is {self.training.recompute}; it must be from 0 to the "
                              f"{self.model.num_hidden_layers} layers of the model")
        if self.model.type_vocab_size < self.recipe.segments:
            raise ConfigError(f"type_vocab_size is {self.model.type_vocab_size}; pairs {self.recipe.pairs!r} have "
                              f"{self.recipe.segments} segments, each with a type of its own")

    @classmethod
    def from_tables(cls, tables, preset=None, **changes):
        """Settings of tables, as for every kind of run. `preset`, in [model] or here, is what [model] changes."""
        given = cls.copy_of(tables)
        preset = given.get("model", {}).pop("preset", "tiny") if preset is None else preset_over(preset, given)
        return cls(cls.with_changes(cls.known(given), changes), preset)

    def change(self, **changes):
        """These settings with others in their place; another preset replaces all that was given of the model."""
        given = {section: table for section, table in self.given.items()
                 if section != "model" or "preset" not in changes}
        preset = changes.pop("preset", self.preset)
        return Settings(self.with_changes(given, changes), preset)

    def may_change(self, section, name):
        if name == "held_out_share":
            return bool(self.data.held_out)          # another corpus, so that the share has no effect
        return super().may_change(section, name)

    def first_lines(self, section, comment_defaults):
        return [f'preset = "{self.preset}"'] if section == "model" and comment_defaults else []


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


def recipe_for(model, given):
    """If no length is given: as long as the model can read, up to 128 tokens, and predictions to match."""
    if given.get("policy") == "released":
        return Recipe.released(**given)
    length = given.get("max_length", min(Recipe.max_length, model.max_position_embeddings))
    predictions = max(1, min(Recipe.max_predictions, round(0.15 * length))) if isinstance(length, int) else 1
    return Recipe(**{"max_length": length, "max_predictions": predictions} | given)
