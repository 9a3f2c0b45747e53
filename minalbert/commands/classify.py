"""`minalbert classify MODEL TEXT`: the labels of a text or a pair, and the words that they depend on."""

from .. import plots
from ..errors import InputError
from ..tasks.classifying import classify
from ..tasks.finetuned import open_finetuned
from . import task_lines
from .options import figure_file
from .printing import bar, in_colour, print_result, width
from .strip_lines import painted
from .task_options import add_model

EXAMPLE = 'minalbert classify runs/sst2 "a masterpiece of boredom"'


def add_arguments(parser):
    parser.description = "Classify a text or a pair, and show which words the result depends on."
    add_model(parser)
    parser.add_argument("text", nargs="+", metavar="TEXT", help=f"one, or two of a pair: {EXAMPLE}")
    parser.add_argument("--plot", type=figure_file, metavar="FILE", help="draw the words, as .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    if len(options.text) > 2:
        raise InputError(f"{len(options.text)} texts were given, of which a model reads one or two; put each into "
                         f"quotes: {EXAMPLE}")
    trained = open_finetuned(options.model, None, options.task, options.tokenizer)
    found = classify(trained, *options.text)
    words = [word._asdict() for word in found.words]
    result = {"model": str(trained.directory), **found._asdict(), "words": words}
    print_result(options, result, lines(found, width(), painted if in_colour() else lambda text, _: text))
    if options.plot:
        plots.save(plots.word_shares(found.words, found.decides), options.plot)
    return 0


def lines(found, width, paint):
    yield from task_lines.notes(found.notes, width, paint)
    if not found.labels:
        yield paint(found.found, "label")
    wide = max((len(name) for name, _ in found.labels), default=0)
    for name, probability in found.labels:
        yield f"{name:<{wide}}  {probability:6.1%}  {bar(probability, 30)}".rstrip()
    yield ""
    yield from task_lines.word_shares(found.words, found.decides, width, paint)
