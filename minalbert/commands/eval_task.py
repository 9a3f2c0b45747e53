"""`minalbert eval MODEL [--data DIR]`: a fine-tuned model's scores, what it takes for what, and its worst errors."""

import sys
from pathlib import Path

from .. import plots
from ..arguments import whole
from ..errors import ConfigError
from ..tasks.finetuned import data_of, open_finetuned
from ..tasks.mistakes import confusion, constant, guessing, mistakes
from . import task_lines
from .options import figure_file
from .printing import counted, print_result, width
from .task_options import add_task, reading_notes

OWN = ("split", "errors", "plot", "task")            # of this kind of eval; the others need a corpus
ERRORS = 5


def add_arguments(parser):
    group = parser.add_argument_group("a fine-tuned model", "scores on a task's files")
    group.add_argument("--data", metavar="DIR",
                       help="with the task's files; default: what a run of `minalbert finetune` has read")
    group.add_argument("--split", metavar="NAME", help="which of them; default: dev")
    group.add_argument("--errors", type=int, metavar="N", help=f"to show, the worst first; default: {ERRORS}")
    group.add_argument("--plot", type=figure_file, metavar="FILE",
                       help="draw which classes it takes for which, as .png, .svg or .pdf")
    add_task(group)


def data_for(options, directory):
    """The directory of the task's files: --data, or that of a run of `minalbert finetune`; None of another model."""
    data = data_of(directory) if options.data is None else options.data
    given = [name for name in OWN if getattr(options, name) is not None]
    if given and not data:
        raise ConfigError(f"--{given[0]} is for a fine-tuned model, which is scored on a task's files; name their "
                          "directory with --data")
    return data


def run(options, data):
    most = whole("errors", ERRORS if options.errors is None else options.errors, error=ConfigError)
    model, tokenizer, task, directory = open_finetuned(options.model, data, options.task, options.tokenizer)
    split = options.split or task.dev
    examples = task.examples(split, tokenizer)
    if sys.stderr.isatty():
        print(f"scoring {len(examples.rows):,} examples ...", file=sys.stderr)
    predictions = task.predict(model, examples)
    scores, classes = task.score(predictions, examples), confusion(task, predictions, examples)
    worst = mistakes(task, predictions, examples, most)
    if options.plot:
        if classes is None:
            raise ConfigError(f"task {task.name} has no classes to draw; leave out --plot")
        plots.save(drawn(classes, title_of(task), split), options.plot)
    result = {
        "model": str(directory), "task": task.name, "split": split, "read": examples.report._asdict(),
        "scores": scores, "guessing": guessing(task, examples), "constant": constant(task, predictions),
        "confusion": classes and {"names": classes.names, "counts": classes.counts.tolist()},
        "wrong": int((task.losses(predictions, examples) > 0).sum()),
        "errors": [each._asdict() for each in worst],
    }  # fmt: skip
    print_result(options, result, lines(result, classes, examples.report, worst))
    return 0


def lines(result, classes, report, worst):
    yield f"{result['model']}: {counted(report.rows, 'example')} of {result['split']}, task {result['task']}"
    yield from reading_notes(report)
    columns = {"model": result["scores"]}
    if result["guessing"]:
        label, columns["guessing"] = result["guessing"]
    yield from task_lines.scores(columns)
    if result["guessing"]:
        yield f"guessing: always {label!r}"
    if result["constant"] is not None:
        yield f"the model says {result['constant']!r} to everything; a lower learning rate or another seed may help"
    if classes:
        yield ""
        yield from task_lines.confusion(classes, width())
    yield ""
    yield from task_lines.mistakes(worst, result["wrong"], width())


def title_of(task):
    """The task's name; anybody's tasks are all called custom, and have the names of their directories."""
    return Path(task.place).resolve().name if task.name == "custom" else task.name


def drawn(classes, title, split):
    return plots.matrices([{"values": classes.counts, "rows": classes.names, "columns": classes.names,
                            "name": f"{title}, {split}: right | found"}], digits=0)  # fmt: skip
