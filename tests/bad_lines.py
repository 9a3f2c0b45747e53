"""Bad command lines, made of the commands' own parsers: `python tests/bad_lines.py [--count N] [--seed S]`

A line is a good one in which something is wrong: an option with a value that it cannot have, that is misspelt, cut
short, unknown or without its value; an argument too many, too few, or empty; a file that is not there, is a directory,
or is of another kind. It must end with code 2 and one sentence on standard error, in a few seconds, and write nothing.
"""

import argparse
import contextlib
import importlib
import io
import os
import random
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

from bad_calls import World, limited, main

from minalbert import commands
from minalbert.data import SentencePieceTokenizer  # noqa: F401  imported before the time of a line is taken

LONGEST = 600
SECONDS = 10
NUMBERS = ("x", "", "nan", "1.5", "-1", "9" * 30, "0x10")
FRACTIONS = ("x", "", "nan", "inf", "-1", "1e999", "9" * 400)
PATHS = ("no/such/place", "", "a-file", "a-directory")
WRITTEN = ("--out", "--page", "--gradescope")  # which need not be there


class Line(NamedTuple):
    words: tuple
    wrong: str

    def __str__(self):
        return f"minalbert {' '.join(word if word and len(word) < 80 else repr(word[:80]) for word in self.words)}"


def good_words(world):
    """{command: words that it would run with}"""
    corpus, run, words, text = map(str, (world.directory, world.run, world.word_list, world.text))
    small = ["--corpus", corpus, *SMALL.split()]
    return {
        "demo": [], "params": [], "bench": [], "gradcheck": ["nothing-of-this-name"],
        "corpus generate": ["--stories", "2", "--out", "new.txt"], "corpus show": [],
        "tokenizer train": [text, "--vocab-size", "20", "--out", "new.model"], "tokenizer show": [words],
        "data build": [text, "--tokenizer", words, "--out", "new"], "data stats": [corpus], "data show": [corpus],
        "data verify": [corpus], "data audit": [corpus],
        "data tasks": ["new", "--train", "2", "--dev", "2"], "pretrain": ["new-run", *small],
        "finetune": ["new-run", "--task", "custom", "--data", str(world.task), "--model", run, "--steps", "1"],
        "predict": [str(world.finetuned), str(world.rows), "--out", "new.tsv"],
        "classify": [str(world.finetuned), "a b"], "answer": [str(world.answering), "who", "--text", text],
        "launch": [], "eval": [run], "find-rate": small, "overfit": small, "fill": ["the [MASK] .", "--model", run],
        "plot": [run], "reproduce list": [], "reproduce run": ["counts", "--out", "new"],
        "reproduce show": ["counts"], "reproduce report": ["--page", "new.md"],
        "exercise list": [], "exercise start": ["ex01"], "exercise check": ["ex01", text],
        "exercise hint": ["ex01"], "grade": ["a-directory"],
    }  # fmt: skip


SMALL = (
    "--max-position-embeddings 24 --max-length 24 --hidden-size 16 --num-attention-heads 2 --embedding-size 8 "
    "--intermediate-size 32 --num-hidden-layers 2 --batch 4 --micro-batch 4 --workers 1 --evaluate-instances 8 "
    "--held-out-share 0.2"
)


def parsers():
    """{command: its parser}, of commands within commands too."""
    found = {}
    for name, (module, _) in commands.all_commands().items():
        parser = commands.Parser(prog=name)
        importlib.import_module(module).add_arguments(parser)
        below = [action.choices for action in parser._actions if isinstance(action.choices, dict)
                 and isinstance(action, argparse._SubParsersAction)]  # fmt: skip
        if below:
            found |= {f"{name} {each}": command for each, command in below[0].items()}
        else:
            found[name] = parser
    return found


def wrong_values(action):
    """Values that an argument cannot have."""
    if action.choices:
        return ["nonsense", "", str(next(iter(action.choices)))[:-1]]
    if action.type is int or "positive" in getattr(action.type, "__qualname__", ""):
        return NUMBERS
    if action.type is float:
        return FRACTIONS
    if action.option_strings and action.option_strings[-1] in WRITTEN:
        return ["", "a-file/below"]
    if action.dest == "spare":  # is looked at when it is needed
        return []
    if action.dest == "text":  # any file of text will do
        return [path for path in PATHS if path != "a-file"]
    if action.metavar in ("DIR", "FILE", "RUN", "MODEL") or action.dest in ("directory", "model", "file"):
        return PATHS
    return [""]


def all_lines(world):
    good = good_words(world)
    for name, parser in parsers().items():
        words = (*name.split(), *good[name])
        any_number = "*", argparse.REMAINDER
        required = [action for action in parser._actions if action.required and action.nargs not in any_number]
        yield from (Line(words[:-1], "one word is missing") for _ in [0] if required)
        yield Line((*words, "--nonsense"), "there is no such option")
        yield Line((*words, "--no-such=3"), "there is no such option")
        if not any(action.nargs in ("*", "+") for action in parser._actions):
            yield Line((*words, "one", "too", "many"), "a word too many")
        for action in parser._actions:
            yield from lines_of(action, words)


def lines_of(action, words):
    if not action.option_strings:
        if action.nargs in ("*", "+", "?"):
            yield Line((*words, ""), "an empty word")
        return
    option = action.option_strings[-1]
    if not option.startswith("--") or option in ("--help", "--version"):
        return
    yield Line((*words, option[:-1]), "cut short")
    yield Line((*words, f"{option}x", "1"), "misspelt")
    if action.nargs == 0:
        yield Line((*words, f"{option}=yes"), "a switch has no value")
        return
    if action.nargs is None:
        yield Line((*words, option), "without its value")
    for value in wrong_values(action):
        if value == "" and getattr(action, "may_be_empty", False):
            continue
        yield Line((*words, f"{option}={value}"), f"{option} cannot be {value[:40]!r}")


def run(line, folder):
    """Return what is wrong with how the line ends, or None."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    before = everything(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited(SECONDS):
            code = commands.main(list(line.words))
    except SystemExit as exit:
        code = exit.code
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {' '.join(str(error).split())[:150]} ({where.filename}:{where.lineno})"
    err.seek(0)
    said = err.read()
    changed = sorted(map(str, everything(folder) ^ before))
    if code != 2:
        return f"code {code}"
    if said.count("\n") != 1 or not said.startswith("minalbert") or len(said) > LONGEST or "\r" in said:
        return f"not one sentence: {said[:300]!r}"
    return f"wrote {changed[:3]}" if changed else None


def everything(folder):
    return {(str(path), path.stat().st_size) for path in folder.rglob("*") if path.is_file()}


def failures(count, seed, folder):
    """(how many lines were tried, a sentence for each that did not end as it must)"""
    world, here = World(folder), Path.cwd()
    os.chdir(folder)
    try:
        Path("a-file").write_text("some text\n")
        Path("a-directory").mkdir()
        lines = list(all_lines(world))
        chosen = lines if count is None else random.Random(seed).sample(lines, min(count, len(lines)))
        return len(chosen), [f"{line}: {found}" for line in chosen if (found := run(line, folder))]
    finally:
        os.chdir(here)


if __name__ == "__main__":
    sys.exit(main(failures, "command lines", __doc__))
