"""Every error and warning that a user can meet. The command line prints its one sentence, without a traceback."""

import dataclasses
import functools


class MinalbertError(Exception):
    """The base class of all of them: the sentence says what is wrong, its value, and what would be right."""


class ConfigError(MinalbertError, ValueError):
    """A setting that no model or run can have."""


class InputError(MinalbertError, ValueError):
    """An argument, mostly an array, that a function cannot take."""


class DeviceError(MinalbertError, RuntimeError):
    """A device, or a library for it, that was asked for and is not there."""


class MissingLibraryError(MinalbertError, ImportError):
    """A library that an option needs and that is not installed."""


class UnknownNameError(MinalbertError, KeyError):
    """A name that is not there, mostly a mistyped one."""

    __str__ = Exception.__str__                      # KeyError would put the sentence in quotes


class FileError(MinalbertError, RuntimeError):
    """A file that cannot be written or read."""


class DamagedError(FileError):
    """A file that is not what was written there."""


class MissingFileError(DamagedError):
    """A file that was written there and is gone."""


class DataError(MinalbertError, ValueError):
    """A text, a tokenizer or a corpus that cannot be used."""


class TaskDataError(DataError):
    """A task's file that is not as its format says: the sentence begins with the file and the line."""


class TrainError(MinalbertError, RuntimeError):
    """A run that cannot begin, resume or be read."""


class NoRoomError(TrainError):
    """A disk that has no room for what a run must save."""


class PretrainedError(MinalbertError, ValueError):
    """A directory of pretrained weights that cannot be read."""


class SlowWarning(UserWarning):
    """A choice that is no faster on this machine than a better one."""


class DamagedWarning(UserWarning):
    """A file that is not what was written there; nothing but a picture depends on it."""


def nearest(name, names):
    """The end of a sentence about an unknown name: the most similar name, or the first names that there are."""
    from difflib import get_close_matches

    names = list(names)
    if similar := get_close_matches(str(name), names, n=1):
        return f"did you mean {similar[0]!r}?"
    shown = names if len(names) <= 13 else names[:12]       # " and 1 more" would be as long as most names
    more = f" and {len(names) - 12} more" if len(shown) < len(names) else ""
    return f"there are: {', '.join(shown)}{more}" if names else "there are none"


def named_fields(error):
    """Decorate a dataclass: a keyword that is no field of it raises `error`, which names the nearest field."""

    def decorate(cls):
        names, init = [field.name for field in dataclasses.fields(cls)], cls.__init__

        @functools.wraps(init)
        def checked(self, *values, **fields):
            for name in fields:
                if name not in names:
                    raise error(f"{cls.__name__} has no field {name!r}; {nearest(name, names)}")
            init(self, *values, **fields)

        cls.__init__ = checked
        return cls

    return decorate
