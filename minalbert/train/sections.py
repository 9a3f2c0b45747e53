"""Settings in sections: what a TOML file may say, what the command line may change, each checked.

    class Settings(SectionedSettings):
        SECTIONS = {"data": DataSettings, ...}       # a kind of run says which it has

    settings = Settings.read("my.toml")              # or Settings() for the defaults
    settings = settings.change(steps=500)            # a name belongs to one section only
    settings.training.steps                          # checked, with its default if it is not given
    settings.toml()                                  # the whole of it, as the run directory keeps it
"""

import dataclasses
import json
import math
import types
import typing
from dataclasses import dataclass, field

from .. import arguments, files
from ..errors import ConfigError, DataError, FileError

RUN = "run"                                          # the section of a run's own file that is no setting


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
class SectionedSettings:
    given: dict = field(default_factory=dict)        # {section: {name: value}}, the rest are defaults

    SECTIONS = {}                                    # noqa: RUF012  name -> the dataclass of its fields
    SECTION_OF = {}                                  # noqa: RUF012  setting -> section
    HELP = {}                                        # noqa: RUF012  setting -> what it is; a class may add others
    CHOICES = {}                                     # noqa: RUF012  setting -> what it may be, or None
    CHANGEABLE = {}                                  # noqa: RUF012  section -> which of its settings a run may change

    def __init_subclass__(cls):
        fields = {item.name: item.metadata for section in cls.SECTIONS.values() for item in dataclasses.fields(section)
                  if item.metadata}
        cls.HELP = cls.HELP | {name: metadata["help"] for name, metadata in fields.items()}
        cls.CHOICES = cls.CHOICES | {name: metadata["choices"] for name, metadata in fields.items()}
        cls.SECTION_OF = {item.name: name for name, section in cls.SECTIONS.items()
                          for item in dataclasses.fields(section)}

    def __post_init__(self):
        self.copy_of(self.given)
        for name in self.SECTIONS:                   # each checks itself
            object.__setattr__(self, name, self.section(name))
        self.check()

    def section(self, name):
        return self.SECTIONS[name](**self.given_in(name))

    def check(self):
        """Raise ConfigError for sections that do not fit each other."""

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
    def from_tables(cls, tables, **changes):
        """Settings of {section: {name: value}}, as TOML has it, with others in their places, judged when complete.

        A run's [run] is passed over.
        """
        return cls(cls.with_changes(cls.known(cls.copy_of(tables)), changes))

    def change(self, **changes):
        """These settings with others in their place."""
        return dataclasses.replace(self, given=self.with_changes(self.given, changes))

    def given_in(self, section):
        """{name: value} of what was given; the rest are defaults."""
        return self.given.get(section, {})

    def may_change(self, section, name):
        """May a run that began with another value resume with this one?"""
        return name in self.CHANGEABLE.get(section, self.SECTION_OF)

    def tables(self):
        """{section: {name: value}} of every setting; those that are None are left out."""
        return {section: {name: value for name, value in vars(getattr(self, section)).items() if value is not None}
                for section in self.SECTIONS}

    def toml(self, comment_defaults=False):
        """All settings with their meaning; with comment_defaults, those that were not given as comments."""
        arguments.flag("comment_defaults", comment_defaults)
        lines = []
        for section, table in self.tables().items():
            lines += [*([""] if lines else []), f"[{section}]", *self.first_lines(section, comment_defaults)]
            for name, value in table.items():
                line = f"{name} = {toml_value(value)}"
                if comment_defaults and name not in self.given_in(section):
                    line = f"# {line}"
                lines.append(f"{line:<40} # {self.HELP[name]}" if name in self.HELP else line)
        return "\n".join(lines) + "\n"

    def first_lines(self, section, comment_defaults):
        """Lines of TOML before those of a section's settings."""
        return []

    @classmethod
    def copy_of(cls, tables):
        """The tables of a file without a run's own, or a ConfigError if there is no such section."""
        given = {}
        for section, table in arguments.of_kind("tables", tables, dict, ConfigError).items():
            if section == RUN:
                continue
            if section not in cls.SECTIONS or not isinstance(table, dict):
                raise ConfigError(f"there is no section {arguments.shown(section)}; the sections are "
                                  f"{', '.join(cls.SECTIONS)}")
            given[section] = dict(table)
        return given

    @classmethod
    def known(cls, given):
        """The tables, or a ConfigError if a section has no such setting."""
        for section, table in given.items():
            names = [item.name for item in dataclasses.fields(cls.SECTIONS[section])]
            for name in table:
                if name not in names:
                    there = cls.SECTION_OF.get(name)
                    hint = f"belongs into [{there}]" if there else f"has {', '.join(names)}"
                    raise ConfigError(f"[{section}] has no setting {name!r}; it {hint}")
        return given

    @classmethod
    def with_changes(cls, given, changes):
        """{section: {name: value}} with {name: value} in their places."""
        given = {section: dict(table) for section, table in given.items()}
        for name, value in changes.items():
            if name not in cls.SECTION_OF:
                raise ConfigError(f"there is no setting {name!r}")
            given.setdefault(cls.SECTION_OF[name], {})[name] = value
        return given


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
