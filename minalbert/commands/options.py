"""A dataclass's fields as options of a command: --max-length 128, --policy released, --no-favor-shorter ...

    add_fields(parser.add_argument_group("recipe"), Recipe, HELP, CHOICES)
    changes = given_fields(options, Recipe)          # those that were typed, by the fields' names
"""

import argparse
import dataclasses

from ..train.settings import kind_of

METAVARS = {int: "N", float: "X", str: "TEXT", bool: None}


def add_fields(group, cls, help={}, choices={}, defaults={}, leave_out=()):  # noqa: B006
    """`defaults`: words for those that do not speak for themselves."""
    for field in dataclasses.fields(cls):
        if field.name in leave_out:
            continue
        kind, options = kind_of(field), choices.get(field.name)
        metavar = field.metadata.get("metavar") or METAVARS[kind]
        if kind is bool:
            arguments = {"action": argparse.BooleanOptionalAction}
        else:
            arguments = {"type": kind, "choices": options, "metavar": None if options else metavar}
        default = ("no", "yes")[field.default] if kind is bool and field.default is not None else field.default
        default = defaults.get(field.name, default)
        text = "; ".join(part for part in (help.get(field.name), f"default: {default}" * (default != "")) if part)
        flag = f"--{field.name.replace('_', '-')}"
        group.add_argument(flag, dest=field.name, default=None, help=text.replace("%", "%%"), **arguments)


def given_fields(options, cls):
    names = [field.name for field in dataclasses.fields(cls) if hasattr(options, field.name)]
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}
