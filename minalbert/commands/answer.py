"""`minalbert answer MODEL QUESTION --text FILE`: the best answers that a text has to a question."""

from pathlib import Path

from .. import plots
from ..arguments import whole
from ..tasks.answering import answer
from ..tasks.finetuned import open_finetuned
from ..tasks.text_files import read_text
from . import task_lines
from .options import figure_file
from .printing import bar, counted, in_colour, print_result, width
from .strip_lines import painted
from .task_options import add_model


def add_arguments(parser):
    parser.description = ("Answer a question with a part of a text, which is read in windows, and show which words the "
                          "answer depends on.")
    add_model(parser)
    parser.add_argument("question", metavar="QUESTION", help="in quotes")
    parser.add_argument("--text", required=True, metavar="FILE", help="with the text in UTF-8")
    parser.add_argument("--top", type=int, default=5, metavar="N", help="answers; default: 5")
    parser.add_argument("--plot", type=figure_file, metavar="FILE", help="draw the words, as .png, .svg or .pdf")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    whole("top", options.top, 1)
    trained = open_finetuned(options.model, None, options.task, options.tokenizer)
    found = answer(trained, options.question, read_text(Path(options.text), "name a file with --text", "a text"))
    answers = found.answers[: options.top]
    result = {"model": str(trained.directory), **found._asdict(), "answers": [each._asdict() for each in answers],
              "words": [word._asdict() for word in found.words]}  # fmt: skip
    print_result(options, result, lines(found, answers, width(), painted if in_colour() else lambda text, _: text))
    if options.plot:
        plots.save(plots.word_shares(found.words, decides(found)), options.plot)
    return 0


def decides(found):
    """The best answer; if there is said to be none, the words shown are still those that it depends on."""
    best = repr(task_lines.shortened(found.answers[0].text, 40)) if found.answers else "an answer"
    return best if found.found else f"{best} (if there were an answer)"


def lines(found, answers, width, paint):
    yield from task_lines.notes(found.notes, width, paint)
    yield paint(found.found or "no answer", "label")
    if found.none is not None:
        yield f"no answer {found.none:.1%}; above {found.threshold:.1%} there is none"
    yield f"the best answers in {counted(found.windows, 'window')}{'' if found.found else ', if there were one'}:"
    wide = min(40, max((len(each.text) for each in answers), default=0))
    for each in answers:
        text = task_lines.shortened(each.text, wide)
        yield f"  {text:<{wide}}  {each.probability:6.1%}  {bar(each.probability, 20):20}  {around(found, each, width)}"
    if found.words:
        yield ""
        yield from task_lines.word_shares(found.words, decides(found), width, paint)


def around(found, candidate, width):
    """The text around an answer; "…" where there is more of it."""
    (first, past), text = candidate.characters, found.context
    room = max(8, (width - 78 - (past - first)) // 2)
    begin, end = max(0, first - room), min(len(text), past + room)
    shown = f"{text[begin:first]}[{text[first:past]}]{text[past:end]}"
    return " ".join(("…" * (begin > 0) + shown + "…" * (end < len(text))).split())
