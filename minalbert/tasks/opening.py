"""Open a task by its name."""

import inspect
from functools import partial

from ..arguments import is_number, number, path_of, refusal, text, whole
from ..errors import DataError, nearest
from .choice_task import ChoiceTask
from .glue import GLUE
from .question_task import AnswerTask, SpanTask
from .race import LETTERS
from .text_task import open_custom, open_glue
from .token_task import TokenTask

TASKS = dict.fromkeys(GLUE, open_glue) | {
    "squad1": SpanTask, "squad2": AnswerTask, "race": ChoiceTask, "tokens": TokenTask,
    "custom": open_custom,
}


def names(name, value, least=1, most=None, error=DataError):
    """A list of texts, all different."""
    several = isinstance(value, (list, tuple)) and all(isinstance(each, str) for each in value)
    if not several or len({*value}) < max(least, len(value)) or len(value) > (most or len(value)):
        count = f"{least} to {most}" if most else f"at least {least}"
        raise refusal(name, value, f"a list of {count} different texts", error)


def limits(name, value, error=DataError):
    """The lowest and the highest number."""
    two = isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_number, value))
    if not two or value[0] >= value[1]:
        raise refusal(name, value, "two numbers, the lower one first", error)


CHECKS = {
    "texts": partial(names, most=2), "labels": partial(names, least=2), "label": text, "kind": text, "range": limits,
    "choices": partial(whole, least=2, most=len(LETTERS)), "question_length": partial(whole, least=1),
    "stride": partial(whole, least=1), "threshold": number,
}  # fmt: skip


def open_task(name, place=None, max_length=128, **settings):
    """A DownstreamTask; see tasks/task.py.

    name       one of GLUE's nine (cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli), squad1, squad2, race, tokens,
               custom
    place      the directory with its files as they are distributed; None: only files that are named are read
    settings   of custom: texts, label, labels, kind, range; of tokens: labels; of race: choices; of squad2: threshold;
               of all three that ask questions: question_length; of squad1 and squad2: stride
    """
    if text("name", name, DataError) not in TASKS:
        raise DataError(f"there is no task {name!r}; {nearest(name, TASKS)}")
    parameters = [*inspect.signature(TASKS[name]).parameters.values()][3:]
    known = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    for setting in settings:
        if setting not in known:
            raise DataError(f"task {name} has no setting {setting!r}; {nearest(setting, known)}")
        if settings[setting] is not None:
            CHECKS[setting](setting, settings[setting], error=DataError)
    place = None if place is None else path_of("place", place, DataError)
    if place is not None and not place.is_dir():
        raise DataError(f"{place} is not a directory; it must be the one in which the files of task {name} are")
    return TASKS[name](name, place, whole("max_length", max_length, 8, error=DataError), **settings)
