"""`minalbert fill TEXT`: what a model would put in the place of [MASK], and what it looks at."""

import os
import sys

from ..errors import InputError
from ..train.filling import EXAMPLE, fill
from ..train.trained import open_trained
from .fill_lines import lines
from .printing import print_result, width


def add_arguments(parser):
    parser.description = "Guess what stands behind each [MASK] of a text, and show what the model looks at."
    parser.add_argument("text", nargs="+", metavar="TEXT", help=f"with [MASK] in it: {EXAMPLE}; a second is segment B")
    parser.add_argument("--model", required=True, metavar="RUN", help="a run, a checkpoint, or a Hugging Face model")
    parser.add_argument("--tokenizer", metavar="FILE", help="instead of the one that lies there")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="guesses for each [MASK]; default: 5")
    parser.add_argument("--plot", metavar="FILE", help="draw what each head looks at, as .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    if len(options.text) > 2:
        raise InputError(f"{len(options.text)} texts were given, of which a model reads one or two; put each into "
                         f"quotes: {EXAMPLE}")  # fmt: skip
    trained = open_trained(options.model, options.tokenizer)
    filled = fill(trained.model, trained.tokenizer, *options.text, top=options.top)
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    print_result(options, found(trained, filled), lines(filled, width(), colour))
    if options.plot:
        from .. import plots

        plots.save(plots.attention_strip(filled), options.plot)
    return 0


def found(trained, filled):
    masks = [
        {"place": place, "guesses": [guess._asdict() for guess in guesses], "attention": attention.tolist()}
        for place, guesses, attention in zip(filled.masks, filled.guesses, filled.attention, strict=True)
    ]
    return {
        "model": str(trained.directory), "tokens": filled.tokens, "segments": filled.segments, "masks": masks,
        "notes": filled.notes,
    }  # fmt: skip
