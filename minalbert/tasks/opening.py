"""Which task a name means."""

import inspect

from ..arguments import path_of, whole
from ..errors import DataError, nearest
from .choice_task import ChoiceTask
from .glue import GLUE
from .question_task import AnswerTask, SpanTask
from .text_task import open_custom, open_glue

TASKS = dict.fromkeys(GLUE, open_glue) | {
    "squad1": SpanTask, "squad2": AnswerTask, "race": ChoiceTask, "custom": open_custom
}


def open_task(name, place=None, max_length=128, **settings):
    """A DownstreamTask; see tasks/task.py.

    name       one of GLUE's nine (cola, sst2, mrpc, stsb, qqp, mnli, qnli, rte, wnli), squad1, squad2, race, custom
    place      the directory with its files as they are distributed; None: only files that are named are read
    settings   of custom: texts, label, labels, kind, range; of race: choices; of squad2: threshold; of all three that
               ask questions: question_length; of squad1 and squad2: stride
    """
    if name not in TASKS:
        raise DataError(f"there is no task {name!r}; {nearest(name, TASKS)}")
    parameters = [*inspect.signature(TASKS[name]).parameters.values()][3:]
    known = [each.name for each in parameters if each.kind is not each.VAR_KEYWORD]
    for setting in settings:
        if setting not in known:
            raise DataError(f"task {name} has no setting {setting!r}; {nearest(setting, known)}")
    place = None if place is None else path_of("place", place, DataError)
    if place is not None and not place.is_dir():
        raise DataError(f"{place} is not a directory; it must be the one in which the files of task {name} are")
    return TASKS[name](name, place, whole("max_length", max_length, 8, error=DataError), **settings)
