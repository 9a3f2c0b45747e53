"""`minalbert predict MODEL PLACE`: a fine-tuned model's answers in the form that the leaderboards take."""

import sys
from collections import Counter
from pathlib import Path

from ..errors import ConfigError
from ..files import check_place_for
from ..tasks.finetuned import open_finetuned
from ..tasks.leaderboards import paths_of, write_predictions
from .printing import counted, print_result
from .task_options import add_model, reading_notes

SHOWN = 8                                            # labels in the line that counts them


def add_arguments(parser):
    parser.description = ("Write predictions as the leaderboards take them. GLUE, RACE and your own tables: an index "
                          "and a prediction in each line. SQuAD: a JSON object of answers, and beside it for 2.0 one "
                          "of the scores that there is no answer.")
    add_model(parser)
    parser.add_argument("place", metavar="PLACE", help="the directory of the task's files, or one file in their form")
    parser.add_argument("--split", metavar="NAME", help="of a directory: train, dev, test, test_matched, ...; default: "
                        "test")
    parser.add_argument("--out", required=True, metavar="FILE", help="for the predictions")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options):
    place, out = Path(options.place), Path(options.out)
    if options.split is not None and not place.is_dir():
        raise ConfigError(f"split is {options.split!r}, and {place} is no directory; a file is predicted as a whole")
    model, tokenizer, task, directory = open_finetuned(
        options.model, place if place.is_dir() else None, options.task, options.tokenizer
    )
    for path in paths_of(task, out):
        check_place_for(path)                        # before the work
        if place.exists() and path.exists() and path.samefile(place):
            raise ConfigError(f"{path} is what is to be predicted; name another file with --out")
    examples = task.examples(options.split or "test" if place.is_dir() else place, tokenizer)
    if sys.stderr.isatty():
        print(f"predicting {len(examples.rows):,} examples ...", file=sys.stderr)
    predictions = task.predict(model, examples)
    written = write_predictions(task, predictions, examples, out)
    result = {"model": str(directory), "task": task.name, "read": examples.report._asdict(),
              "files": [*map(str, written)]}  # fmt: skip
    print_result(options, result, lines(task, predictions, examples, written))
    return 0


def lines(task, predictions, examples, written):
    yield f"{counted(len(examples.rows), 'prediction')} of task {task.name} in {' and '.join(map(str, written))}"
    yield from reading_notes(examples.report)
    texts = task.written(predictions.found)
    if task.kind in ("label", "choice"):
        yield shares_line(Counter(texts), len(texts))
    elif task.kind == "answer":
        yield f"no answer to {texts.count(''):,} of {len(texts):,}: scores above {task.threshold:.3f}"


def shares_line(counts, total):
    shown = [f"{name} {count / total:.1%}" for name, count in counts.most_common(SHOWN)]
    return ", ".join(shown) + (f", and {len(counts) - SHOWN} more" if len(counts) > SHOWN else "")
