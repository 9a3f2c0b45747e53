"""`minalbert`, the program: one file a command, and all that is drawn on a terminal.

To add a command, add a line to COMMANDS, or in another package an entry point of the group `minalbert.commands` that
names a table of the same form. The module has `add_arguments(parser)` and `run(options)`, which returns the exit code:
0 for success, 1 for a bad result, 2 for bad input. It is imported only when its command is given.
"""

import argparse
import functools
import importlib
import os
import sys
import warnings
from difflib import get_close_matches
from importlib.metadata import entry_points

from .. import __version__
from ..errors import DamagedWarning, MinalbertError, SlowWarning, nearest

COMMANDS = {
    "demo": ("minalbert.commands.demo", "make a corpus, train a small model, see what it has learnt"),
    "params": ("minalbert.commands.params", "count a model's parameters, operations and memory"),
    "corpus": ("minalbert.commands.corpus", "write or show stories of tiny worlds"),
    "tokenizer": ("minalbert.commands.tokenizer", "train a vocabulary, or look at one"),
    "data": ("minalbert.commands.data", "build, check and look at training data"),
    "pretrain": ("minalbert.commands.pretrain", "train a model; stop it, and resume it"),
    "eval": ("minalbert.commands.eval", "score a model on documents kept from it"),
    "find-rate": ("minalbert.commands.find_rate", "try all learning rates in one short training"),
    "overfit": ("minalbert.commands.overfit", "can the model learn one batch by heart?"),
    "fill": ("minalbert.commands.fill", "guess the words behind [MASK]"),
    "plot": ("minalbert.commands.plot", "draw the curves of runs"),
    "bench": ("minalbert.commands.bench", "which kernels are fast on this machine?"),
    "gradcheck": ("minalbert.commands.gradcheck", "check every entry of every hand-written gradient"),
}


OURS = SlowWarning, DamagedWarning


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
    def parse_args(self, args=None, namespace=None):
        """As in argparse; a mistyped option is an error that names the nearest one."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            similar = [match for word in unknown if word.startswith("--")
                       for match in get_close_matches(word.split("=")[0], flags(self), n=1)]  # fmt: skip
            hint = f"; did you mean {similar[0]}?" if similar else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return options

    def error(self, message):
        """One sentence, without the usage that argparse puts above it."""
        self.exit(2, f"{self.prog}: {message}\n")


def flags(parser):
    """All options of a parser and of its commands."""
    commands = [action.choices.values() for action in parser._actions if isinstance(action.choices, dict)]
    below = [flag for parsers in commands for command in parsers for flag in flags(command)]
    return [*parser._option_string_actions, *below]


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
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
    options = parser.parse_args(argv or ["--help"])
    for stream in (sys.stdout, sys.stderr):          # a letter that the terminal lacks becomes a "?", not a traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings():
            for category in OURS:
                warnings.simplefilter("always", category)
            warnings.showwarning = functools.partial(show, options.prog, warnings.showwarning)
            code = options.execute(options)
        sys.stdout.flush()
        return code
    except MinalbertError as error:
        print(f"{options.prog}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"{options.prog}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:                          # the reader, `head` say, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        print(f"{options.prog}: {error.filename or 'a file'}: {error.strerror}", file=sys.stderr)
        return 2
