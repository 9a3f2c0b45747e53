"""The settings of a run as options of a command: --max-length 128, --policy released, --no-favor-shorter ...

Each field of a section is an option. What is typed goes before what a file says.
"""

import argparse
import dataclasses
import os

from ..config import PRESETS
from ..data.recipe import HABITS
from ..errors import MinalbertError
from ..train.run_directory import kept_settings
from ..train.sections import kind_of
from ..train.settings import Settings

TITLES = {
    "model": "the preset's sizes, changed",
    "data": "what it reads",
    "training": "how much, with what",
    "optimiser": "from gradients to steps",
    "schedule": "the learning rate",
    "records": "tests, and what is written down",
    "checkpoints": "what a kill cannot take",
    "watch": "what to do when a loss jumps",
    "recipe": "how instances are made of the corpus; the default is the paper's way",
}
METAVARS = {int: "N", float: "X", str: "TEXT"}
DEFAULTS = (dict.fromkeys(Settings.SECTIONS["model"].__dataclass_fields__, "the preset's")
            | dict.fromkeys(HABITS, "no, with --policy released yes"))
LENGTHS = {"max_length": "128, or as many as the model reads", "max_predictions": "15 % of that, 20 at most"}


def figure_file(text):
    """The type of an option that names a figure's file: a wrong one is refused before anything is computed."""
    from ..plots.style import figure_path  # only where a figure is asked for: twenty files

    try:
        return str(figure_path(text))
    except MinalbertError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def add_settings_arguments(parser):
    parser.add_argument("--config", metavar="FILE", help="settings in TOML; options given here go before it")
    parser.add_argument("--preset", choices=PRESETS, metavar="NAME",
                        help=f"a model: {', '.join(PRESETS)}; default: tiny")
    parser.add_argument("--with", action="append", dest="code", metavar="FILE", help="your own functions in the model, "
                        "by their names (attention_forward, attention_backward, ...): a file, a notebook, or a folder "
                        "of exercises; may be given several times")
    for section in TITLES:
        add_section(parser, section, DEFAULTS | LENGTHS)


def add_section(parser, section, defaults=DEFAULTS, settings=Settings, title=None, without=("code",)):
    """An option for each field.

    defaults   words for those that do not speak for themselves
    settings   the class that has the section
    without    fields whose option has another name
    """
    group = parser.add_argument_group(section, title or TITLES[section])
    for field in dataclasses.fields(settings.SECTIONS[section]):
        if field.name not in without:
            add_option(group, field, settings, defaults)


def add_option(group, field, settings, defaults):
    name, kind, default = field.name, kind_of(field), field.default
    choices = settings.CHOICES.get(name)
    if kind is bool:
        arguments, default = {"action": argparse.BooleanOptionalAction}, {True: "yes", False: "no"}.get(default)
    else:
        metavar = None if choices else field.metadata.get("metavar") or METAVARS[kind]
        arguments = {"type": kind, "choices": choices, "metavar": metavar}
        if (bare := field.metadata.get("bare")) is not None:
            arguments |= {"nargs": "?", "const": bare}
    default = defaults.get(name, "none" if default == "" else default)
    text = [settings.HELP.get(name), None if default is None else f"default: {default}"]     # None: its help says it
    help = "; ".join(filter(None, text)).replace("%", "%%")
    option = group.add_argument(f"--{name.replace('_', '-')}", help=help, **arguments)
    option.may_be_empty = kind is str and not choices        # --held-out "" takes back what a file says


def given_fields(options, *sections, settings=Settings):
    """{name: value} of those that were typed."""
    names = [field.name for section in sections for field in dataclasses.fields(settings.SECTIONS[section])]
    return {name: value for name in names if (value := getattr(options, name, None)) is not None}


def settings_of(options, run=None):
    """The settings of the file that is named, or that the run keeps, with the options in their places."""
    changes = given_fields(options, *Settings.SECTIONS)
    if options.code:
        changes = {"kernels": "plain", **changes, "code": os.pathsep.join(options.code)}
    if options.preset:
        changes["preset"] = options.preset
    if options.config:
        return Settings.read(options.config, **changes)
    kept = kept_settings(run, **changes) if run else None
    return kept or Settings.from_tables({}, **changes)
