"""Every error that a user can meet. The command line prints its one sentence, without a traceback."""


class MinalbertError(Exception):
    """The base class of all of them: the sentence says what is wrong, its value, and what would be right."""


class ConfigError(MinalbertError, ValueError):
    """A setting that no model or run can have."""


class InputError(MinalbertError, ValueError):
    """An argument, mostly an array, that a model or a figure cannot take."""


class DeviceError(MinalbertError, RuntimeError):
    """A device, or a library for it, that was asked for and is not there."""


class MissingLibraryError(MinalbertError, ImportError):
    """A library that an option needs and that is not installed."""


class FileError(MinalbertError, RuntimeError):
    """A file that cannot be written."""


class DataError(MinalbertError, ValueError):
    """A text, a tokenizer or a corpus that cannot be used."""


class TrainError(MinalbertError, RuntimeError):
    """A run that cannot begin, resume or be read."""


class DamagedError(TrainError):
    """A checkpoint that cannot be used."""


class PretrainedError(MinalbertError, ValueError):
    """A directory of pretrained weights that cannot be read."""
