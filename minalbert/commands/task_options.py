"""Options and notes of all commands for fine-tuned models: which model, which task, how its files were read."""

from ..tasks.opening import TASKS

MODEL = "a run of `minalbert finetune`, one of its checkpoints, or a model whose config.json has its task"


def add_model(parser):
    parser.add_argument("model", metavar="MODEL", help=MODEL)
    add_task(parser)
    parser.add_argument("--tokenizer", metavar="FILE", help="instead of the one that lies with the model")


def add_task(parser):
    parser.add_argument("--task", metavar="NAME", choices=[*TASKS],
                        help=f"for a model whose config.json has none: {', '.join(TASKS)}")


def reading_notes(report):
    """Sentences about what was lost when a split was read: a ReadCounts."""
    if report.broken:
        yield f"{report.broken:,} lines have another number of columns than the first, and were left out"
    if report.cut:
        yield f"{report.cut:,} of {report.rows:,} are too long for the model, and were cut"
    if report.unplaced:
        yield f"{report.unplaced:,} of {report.rows:,} have an answer that no window holds"
