"""`minalbert fill TEXT`: what a model would put in the place of [MASK], and what it looks at."""

from .. import plots
from ..data.strip import Cell, wrapped
from ..errors import InputError
from ..train.filling import EXAMPLE, fill
from ..train.trained import open_trained
from .options import figure_file
from .printing import bar, in_colour, print_result, width
from .strip_lines import columns, painted

SHADES = {0.4: "█", 0.2: "▓", 0.1: "▒", 0.05: "░"}   # from this share on


def add_arguments(parser):
    parser.description = "Guess what stands behind each [MASK] of a text, and show what the model looks at."
    parser.add_argument("text", nargs="+", metavar="TEXT", help=f"with [MASK] in it: {EXAMPLE}; a second is segment B")
    parser.add_argument("--model", metavar="RUN",
                        help="a run, a checkpoint, or a Hugging Face model; default: the small one of minalbert, which "
                             "knows tiny worlds")
    parser.add_argument("--tokenizer", metavar="FILE", help="instead of the one that lies there")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="guesses for each [MASK]; default: 5")
    parser.add_argument("--plot", type=figure_file, metavar="FILE",
                        help="draw what each head looks at, as .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    if len(options.text) > 2:
        raise InputError(f"{len(options.text)} texts were given, of which a model reads one or two; put each into "
                         f"quotes: {EXAMPLE}")
    trained = open_trained(options.model, options.tokenizer)
    filled = fill(trained.model, trained.tokenizer, *options.text, top=options.top)
    print_result(options, found(trained, filled), lines(filled, width(), in_colour()))
    if options.plot:
        plots.save(plots.attention_strip(filled), options.plot)
    return 0


def found(trained, filled):
    masks = [
        {"place": place, "guesses": [guess._asdict() for guess in guesses], "attention": attention.tolist()}
        for place, guesses, attention in zip(filled.masks, filled.guesses, filled.attention, strict=True)
    ]
    return {"model": str(trained.directory), "tokens": filled.tokens, "segments": filled.segments, "masks": masks,
            "notes": filled.notes}


# A filled text with letters: the guesses for each [MASK], and the tokens shaded by how much it looks at them.


def cells(filled):
    """The text as `minalbert data show` draws it."""
    for place, (text, glued, segment) in enumerate(zip(filled.tokens, filled.glued, filled.segments, strict=True)):
        special = text in ("[CLS]", "[SEP]")
        yield Cell(text, "special" if special else "AB"[segment], glued, "mask" if place in filled.masks else "")


def lines(filled, width=100, colour=False):
    paint = painted if colour else lambda text, _: text
    row = list(cells(filled))
    yield from (columns(row, *ends, [], paint)[0] for ends in wrapped(row, width))
    yield from (paint(f"({note})", "quiet") for note in filled.notes)
    for number in range(len(filled.masks)):
        yield ""
        yield paint(filled.heading(number), "label")
        yield from guess_lines(filled.guesses[number])
        yield ""
        yield from attention_lines(filled, number, width, paint)
    yield ""
    heads = filled.attention.shape[2]
    scale = "  ".join(f"{letter} {share:.0%}" for share, letter in reversed(SHADES.items()))
    yield f"{scale} and more of its attention{f', a mean over {heads} heads' if heads > 1 else ''}"


def guess_lines(guesses):
    wide = max(len(guess.piece) for guess in guesses)
    for piece, probability in guesses:
        yield f"  {piece:<{wide}}  {probability:6.1%}  {bar(probability, 30)}".rstrip()


def attention_lines(filled, number, width, paint):
    """A row for each layer, shaded below the tokens; those looked at least are left out where room is short."""
    layers = filled.attention[number].mean(1)        # (L, T)
    most = [f"{filled.tokens[row.argmax()]} {row.max():.0%}" for row in layers]
    left = [f"  layer {i + 1:<3} {text:<{max(map(len, most))}}   " for i, text in enumerate(most)]
    places = filled.shown_places(number, width - len(left[0]))
    mask = filled.masks[number]
    tokens = [paint(token, "mask") if place == mask else token for place, token in enumerate(filled.tokens)]
    yield "  and looks at".ljust(len(left[0])) + joined(places, tokens, filled.glued, "…", "·")
    for start, row in zip(left, layers, strict=True):
        shaded = [paint(shade(share) * len(token), "A") for share, token in zip(row, filled.tokens, strict=True)]
        yield (start + joined(places, shaded, filled.glued, " ", " ")).rstrip()


def joined(places, texts, glued, gap, glue):
    out, before = "", -1
    for place in places:
        if place > before + 1:
            out += f"{gap} "
        elif glued[place] and out:
            out = out[:-1] + glue
        out += f"{texts[place]} "
        before = place
    return (out + gap * (before + 1 < len(texts))).rstrip()


def shade(share):
    return next((letter for least, letter in SHADES.items() if share >= least), " ")
