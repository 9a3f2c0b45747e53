"""`minalbert`, the program: one file a command, and all that is drawn on a terminal.

To add a command, add a line to COMMANDS, or in another package an entry point of the group `minalbert.commands` that
names a table of the same form. The module has `add_arguments(parser)` and `run(options)`, which returns the exit code:
0 for success, 1 for a bad result, 2 for bad input. It is imported only when its command is given.
"""

import argparse
import contextlib
import functools
import importlib
import io
import os
import sys
import warnings
from difflib import get_close_matches
from importlib.metadata import entry_points

from .. import __version__
from ..errors import DamagedWarning, MinalbertError, SlowWarning, nearest

OURS = SlowWarning, DamagedWarning                   # warnings that are one line on a terminal
LONGEST = 400                                        # characters of a sentence about what was typed
COMMANDS = {
    "demo": ("minalbert.commands.demo", "make a corpus, train a small model, see what it has learnt"),
    "params": ("minalbert.commands.params", "count a model's parameters, operations and memory"),
    "corpus": ("minalbert.commands.corpus", "write or show stories of tiny worlds"),
    "tokenizer": ("minalbert.commands.tokenizer", "train a vocabulary, or look at one"),
    "data": ("minalbert.commands.data", "build, check and look at training data"),
    "pretrain": ("minalbert.commands.pretrain", "train a model; stop it, and resume it"),
    "finetune": ("minalbert.commands.finetune", "train a model for a task; stop it, and resume it"),
    "launch": ("minalbert.commands.launch", "train on several processes, and watch over them"),
    "eval": ("minalbert.commands.eval", "score a model on documents kept from it, or on a task"),
    "predict": ("minalbert.commands.predict", "write a fine-tuned model's predictions for a file"),
    "classify": ("minalbert.commands.classify", "the labels of a text, and the words they depend on"),
    "answer": ("minalbert.commands.answer", "the answer that a text has to a question"),
    "find-rate": ("minalbert.commands.find_rate", "try all learning rates in one short training"),
    "overfit": ("minalbert.commands.overfit", "can the model learn one batch by heart?"),
    "fill": ("minalbert.commands.fill", "guess the words behind [MASK]"),
    "plot": ("minalbert.commands.plot", "draw the curves of runs"),
    "reproduce": ("minalbert.commands.reproduce", "does a claim of the paper show in small models?"),
    "bench": ("minalbert.commands.bench", "which kernels are fast on this machine?"),
    "gradcheck": ("minalbert.commands.gradcheck", "check every entry of every hand-written gradient"),
}


def all_commands():
    """{name: (module, purpose)}: our commands, and those that other packages add."""
    added = {}
    for point in entry_points(group="minalbert.commands"):
        try:
            added |= point.load()
        except Exception as error:                   # somebody's package; our commands go on
            print(f"minalbert: the commands of {point.value} cannot be loaded: {error}", file=sys.stderr)
    return COMMANDS | {name: line for name, line in added.items() if name not in COMMANDS}


def show(prog, otherwise, message, category, *where, **more):
    """Print one of our warnings as a line, and any other one as Python does."""
    if issubclass(category, OURS):
        print(f"{prog}: {message}", file=sys.stderr)
    else:
        otherwise(message, category, *where, **more)


class Parser(argparse.ArgumentParser):
    """As argparse's, but an option has one name, and all of it is written: --step is not --steps."""

    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def parse_args(self, args=None, namespace=None):
        """A mistyped option is an error that names the nearest one."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            similar = [match for word in unknown if word.startswith("--")
                       for match in get_close_matches(word.split("=")[0], flags(self), n=1)]  # fmt: skip
            hint = f"; did you mean {similar[0]}?" if similar else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def _get_values(self, action, words):
        """Refuse an empty file, directory, name or text; an empty setting counts as not given."""
        if "" in words and action.nargs != argparse.PARSER and not getattr(action, "may_be_empty", False):
            raise argparse.ArgumentError(action, "it is empty; it must be a name or a text")
        return super()._get_values(action, words)

    def error(self, message):
        """One sentence, without the usage that argparse puts above it."""
        message = " ".join(message.split())
        self.exit(2, f"{self.prog}: {message if len(message) <= LONGEST else message[:LONGEST] + ' ...'}\n")

    def _print_message(self, message, file=None):
        """Print help; argparse itself passes over a disk that is full."""
        if file is sys.stdout:
            file.write(message)
            file.flush()
        else:
            super()._print_message(message, file)


def flags(parser):
    """All options of a parser and of its commands."""
    commands = [action.choices.values() for action in parser._actions if isinstance(action.choices, dict)]
    below = [flag for parsers in commands for command in parsers for flag in flags(command)]
    return [*parser._option_string_actions, *below]


def main(argv=None):
    """Run a command and return its exit code. An error that is no mistake of ours is one sentence."""
    argv = sys.argv[1:] if argv is None else argv
    if sys.stderr is None:                           # closed by who started us
        sys.stderr = io.StringIO()
    try:
        if sys.stdout is None:
            raise MinalbertError("standard output is closed; it must be open, if only to /dev/null")
        options = parsed(argv)
    except MinalbertError as error:
        return fail("minalbert", error)
    except KeyboardInterrupt:
        return fail("minalbert", "interrupted", 130)
    except BrokenPipeError:
        no_more_output()
        return 141
    except OSError as error:
        no_more_output()
        return fail("minalbert", f"the output could not be written ({error.strerror})")
    try:
        code = executed(options)
        sys.stdout.flush()
        return code
    except MinalbertError as error:
        return fail(options.prog, error)
    except KeyboardInterrupt:
        return fail(options.prog, "interrupted", 130)
    except BrokenPipeError:                          # the reader, `head` say, has seen enough
        no_more_output()
        return 141
    except OSError as error:
        no_more_output()
        return fail(options.prog, f"{error.filename or 'the output'} could not be read or written ({error.strerror})")
    except MemoryError as error:
        return fail(options.prog, f"there is not enough memory; smaller sizes need less ({error or 'it gave no size'})")
    except RecursionError:
        return fail(options.prog, "a file is nested too deeply to be one that minalbert wrote")


def fail(prog, sentence, code=2):
    """Print the sentence, and return the exit code."""
    print(f"{prog}: {sentence}", file=sys.stderr)
    return code


def ignore_signals():
    """Ignore what asks to stop, because this process ends."""
    from ..train import process

    process.ignore_signals()


def no_more_output():
    """Send what is left to nowhere: Python would try to write it once more at its end, and print a traceback."""
    with contextlib.suppress(OSError, ValueError):   # a stream that is no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parsed(argv):
    """The options of what was typed; only the command that is named is imported."""
    parser = Parser(prog="minalbert", description="ALBERT by hand, in NumPy and CuPy.")
    parser.add_argument("--version", action="version", version=f"minalbert {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    table = all_commands()
    given = next((word for word in argv if not word.startswith("-")), None)
    if given is not None and given not in table:
        parser.error(f"there is no command {given!r}; {nearest(given, table)}")
    for name, (module, purpose) in table.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose[:1].upper()}{purpose[1:]}.")
        if name in argv:
            implementation = importlib.import_module(module)
            implementation.add_arguments(command)
            command.set_defaults(execute=implementation.run, prog=command.prog)
    return parser.parse_args(argv or ["--help"])


def executed(options):
    for stream in (sys.stdout, sys.stderr):          # a letter that the terminal lacks becomes a "?", not a traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with warnings.catch_warnings():
        for category in OURS:
            warnings.simplefilter("always", category)
        warnings.showwarning = functools.partial(show, options.prog, warnings.showwarning)
        return options.execute(options)
