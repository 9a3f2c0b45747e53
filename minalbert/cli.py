"""`minalbert`, the program. To add a command, add a line to COMMANDS.

The module it names has `add_arguments(parser)` and `run(options)`, which returns the exit code: 0 for
success, 1 for a bad result, 2 for bad input. It is imported only when its command is given.
"""

import argparse
import importlib
import os
import sys

from . import __version__
from .errors import MinalbertError

COMMANDS = {
    "demo": ("minalbert.demo", "make a corpus, train a small model, see what it has learnt"),
    "params": ("minalbert.analysis.command", "count a model's parameters, operations and memory"),
    "corpus": ("minalbert.data.corpus_command", "write or show stories of tiny worlds"),
    "tokenizer": ("minalbert.data.tokenizer_command", "train a vocabulary, or look at one"),
    "data": ("minalbert.data.data_command", "build, check and look at training data"),
    "pretrain": ("minalbert.train.pretrain_command", "train a model; stop it, and go on"),
    "eval": ("minalbert.train.eval_command", "score a model on documents kept from it"),
    "find-rate": ("minalbert.train.find_rate_command", "try all learning rates in one short training"),
    "overfit": ("minalbert.train.overfit_command", "can the model learn one batch by heart?"),
    "fill": ("minalbert.train.fill_command", "guess the words behind [MASK]"),
    "plot": ("minalbert.train.plot_command", "draw the curves of runs"),
    "gradcheck": ("minalbert.gradcheck.command", "check every entry of every hand-written gradient"),
}
COMMANDS |= importlib.import_module("minalbert_course.commands").COMMANDS          # until entry points bring them


class Parser(argparse.ArgumentParser):
    def error(self, message):
        """One sentence, without the usage that argparse puts above it."""
        self.exit(2, f"{self.prog}: {message}\n")


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    parser = Parser(prog="minalbert", description="ALBERT by hand, in NumPy and CuPy.")
    parser.add_argument("--version", action="version", version=f"minalbert {__version__}")
    commands = parser.add_subparsers(metavar="command", required=True)
    for name, (module, purpose) in COMMANDS.items():
        command = commands.add_parser(name, help=purpose, description=f"{purpose.capitalize()}.")
        if name in argv:
            implementation = importlib.import_module(module)
            implementation.add_arguments(command)
            command.set_defaults(execute=implementation.run, prog=command.prog)
    options = parser.parse_args(argv or ["--help"])
    for stream in (sys.stdout, sys.stderr):          # a terminal that lacks a letter shows another, no traceback
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    try:
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
