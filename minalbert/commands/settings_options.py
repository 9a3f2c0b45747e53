"""The settings of a run as options of a command: each may be given in a file, and again on the command line."""

import os

from ..config import ACTIVATIONS, PRESETS, SHARING
from ..train.run_directory import kept_settings
from ..train.settings import SECTIONS, Settings
from .options import add_fields, given_fields
from .recipe_options import add_recipe_arguments

TITLES = {
    "model": "the preset's sizes, changed",
    "data": "what it reads",
    "training": "how much, with what",
    "optimiser": "from gradients to steps",
    "schedule": "the learning rate",
    "records": "tests on held-out documents, and what is written down",
    "checkpoints": "what a kill cannot take",
    "watch": "what to do when a loss jumps",
}


def add_settings_arguments(parser):
    parser.add_argument("--config", metavar="FILE", help="settings in TOML; options given here go before it")
    parser.add_argument("--preset", choices=PRESETS, metavar="NAME",
                        help=f"a model: {', '.join(PRESETS)}; default: tiny")  # fmt: skip
    parser.add_argument("--with", action="append", dest="code", metavar="FILE", help="your own functions in the model, "
                        "by their names (attention_forward, attention_backward, ...): a file, a notebook, or a folder "
                        "of exercises; may be given several times")  # fmt: skip
    for section, title in TITLES.items():
        fields = SECTIONS[section].__dataclass_fields__.values()
        add_fields(
            parser.add_argument_group(section, title), SECTIONS[section],
            help={item.name: item.metadata.get("help") for item in fields},
            choices={item.name: item.metadata.get("choices") for item in fields} | MODEL_CHOICES,
            leave_out=("code",),
            defaults=DEFAULTS,
        )  # fmt: skip
    add_recipe_arguments(parser, LENGTHS)


LENGTHS = {"max_length": "128, or as many as the model reads", "max_predictions": "15 % of that, 20 at most"}
MODEL_CHOICES = {"sharing": SHARING, "hidden_act": tuple(ACTIVATIONS)}
DEFAULTS = dict.fromkeys(SECTIONS["model"].__dataclass_fields__, "the preset's")
DEFAULTS |= dict.fromkeys(("corpus", "held_out", "weights", "pass_over"), "none")
DEFAULTS |= dict.fromkeys(("rate", "bias_correction", "warmup", "kernels"), "")      # in their help


def settings_of(options, run=None):
    """The settings of the file that is named, or that the run keeps; and then the options."""
    settings = Settings.read(options.config) if options.config else (kept_settings(run) if run else None) or Settings()
    changes = {name: value for cls in SECTIONS.values() for name, value in given_fields(options, cls).items()}
    if options.code:
        changes = {"kernels": "plain", **changes, "code": os.pathsep.join(options.code)}
    if options.preset:
        changes["preset"] = options.preset
    return settings.change(**changes)
