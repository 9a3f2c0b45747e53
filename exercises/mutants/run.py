"""Mark mutants, and compare those with full marks with the solution."""

import json
import random
import tomllib
from typing import NamedTuple

from ..source import HERE
from .edit import RIGHT
from .generate import mutants
from .right_files import whole_files
from .twin import compared
from .workers import TERM, Result, each, marked

EQUIVALENT, RESULTS = HERE / "mutants" / "equivalent.toml", HERE / "mutants" / "results.json"
LONG = 900.0                                         # seconds for all draws of one exercise's survivors


class Ran(NamedTuple):
    mutant: object
    result: object                                   # a Result, or a sentence: why there is none

    @property
    def caught(self):
        return not isinstance(self.result, Result) or self.result.points < 10

    @property
    def missed(self):
        return self.result.misses if isinstance(self.result, Result) else []

    @property
    def cause(self):
        """The first cause that the report gives, or nothing."""
        return next((miss.cause for miss in self.missed if miss.cause), "")

    @property
    def stopped(self):
        """Where the code stopped, which the report says in place of a cause, or nothing."""
        if not isinstance(self.result, Result):
            return self.result
        return next((miss.seen for miss in self.missed if not miss.ran), self.result.remark) if not self.cause else ""


def wrong_answers(source):
    """(mutant, what is in the file, its suffix)"""
    return [(mutant, mutant.text, ".py") for mutant in mutants(source)]


def right_answers(source):
    return [(mutant, mutant.text, ".py") for mutant in mutants(source, RIGHT)] + list(whole_files(source))


def sampled(found, sample=None, seed=0):
    """So many of them, chosen by the seed."""
    return found if sample is None else random.Random(seed).sample(found, min(sample, len(found)))


def run(answers, workers=2):
    """A Ran for each of (mutant, content, suffix), in order."""
    tasks = [(mutant.lesson.name, content, TERM, suffix) for mutant, content, suffix in answers]
    results = dict(each(marked, tasks, workers))
    return [Ran(mutant, results[number]) for number, (mutant, _, _) in enumerate(answers)]


def equivalent():
    """{name of a mutant: why it is no mistake}"""
    groups = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    return {name: group["reason"] for group in groups for name in group["names"]}


def results():
    """{lesson: tried, caught, with_a_cause, stopped, and survivors: the names of those with full marks}"""
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def missed():
    """Names of mutants that had full marks in the last run, and are not known to be equivalent."""
    return {name for row in results().values() for name in row["survivors"]} - equivalent().keys()


def record(lesson, row):
    RESULTS.write_text(json.dumps(results() | {lesson.name: row}, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def differences(lesson, lost, workers=2):
    """({name of a mutant: how it differs from the solution in further draws, or ""}, {function: calls, at least})"""
    parts = [part for i in range(workers) if (part := lost[i::workers])]
    tasks = [(lesson.name, {ran.mutant.name: (ran.mutant.text, ran.mutant.function) for ran in part}) for part in parts]
    found, calls = dict.fromkeys((ran.mutant.name for ran in lost), ""), {}
    for number, answer in each(compared, tasks, workers, LONG):
        if isinstance(answer, str):
            found |= dict.fromkeys(tasks[number][1], f"not compared: {answer}")
        else:
            found |= answer[0]
            calls |= {name: min(count, calls.get(name, count)) for name, count in answer[1].items()}
    return found, calls
