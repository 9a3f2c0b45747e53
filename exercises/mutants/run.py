"""Mark mutants, and compare those with full marks with the solution."""

import json
import os
import random
import tomllib
from typing import NamedTuple

from ..source import HERE
from . import kept
from .edit import RIGHT
from .generate import mutants
from .right_files import whole_files
from .twin import compared
from .verdict import is_cause, is_right, needs_another_term
from .workers import OTHER_TERM, TERM, Result, each

EQUIVALENT, RESULTS = HERE / "mutants" / "equivalent.toml", HERE / "mutants" / "results.json"
LONG = 900.0                                         # seconds for all draws of one exercise's survivors


class Ran(NamedTuple):
    mutant: object
    result: object                                   # a Result, or a sentence: why there is none

    @property
    def caught(self):
        return not isinstance(self.result, Result) or self.result.points < 10

    @property
    def misses(self):
        return self.result.misses if isinstance(self.result, Result) else []

    @property
    def cause(self):
        """The first cause that the report gives, or nothing; what begins with "seen: " is none."""
        return next((miss.cause for miss in self.misses if is_cause(miss.cause)), "")

    @property
    def stopped(self):
        """Where the code stopped, which the report says in place of a cause, or nothing."""
        if not isinstance(self.result, Result):
            return self.result
        return next((miss.seen for miss in self.misses if not miss.ran), self.result.remark) if not self.cause else ""


def wrong_answers(source):
    """(mutant, what is in the file, its suffix)"""
    return [(mutant, mutant.text, ".py") for mutant in mutants(source)]


def right_answers(source):
    return [(mutant, mutant.text, ".py") for mutant in mutants(source, RIGHT)] + list(whole_files(source))


def sampled(found, sample=None, seed=0):
    """So many of them, chosen by the seed."""
    return found if sample is None else random.Random(seed).sample(found, min(sample, len(found)))


def run(answers, workers=2, term=TERM, found=os.devnull):
    """A Ran for each of (mutant, content, suffix), in order. found: the file in which results are kept"""
    tasks = [(mutant.lesson.name, content, term, suffix) for mutant, content, suffix in answers]
    answered = kept.results(tasks, workers, found)
    return [Ran(mutant, result) for (mutant, _, _), result in zip(answers, answered, strict=True)]


def rightly_explained(source, ran, workers=2, found=os.devnull):
    """{name of a mutant that got a cause: is it the right one?}"""
    ran, solution = [one for one in ran if one.caught and one.cause], source.solution()
    unsure = [(one.mutant, one.mutant.text, ".py") for one in ran if needs_another_term(one, solution)]
    again = {one.mutant.name: one for one in run(unsure, workers, OTHER_TERM, found)}
    return {one.mutant.name: is_right(one, solution, again.get(one.mutant.name)) for one in ran}


def equivalent():
    """{name of a mutant: why it is no mistake}"""
    groups = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["equivalent"]
    return {name: group["reason"] for group in groups for name in group["names"]}


def recorded():
    """{lesson: its row}

    tried, caught, survivors    of all mutants; survivors: the names of those with full marks
    judged, with_a_cause, right    of all, or of a sample: those caught that ran to their end, and their causes
    """
    return json.loads(RESULTS.read_text(encoding="utf-8"))


def missed():
    """Names of mutants that had full marks in the last run, and are not known to be equivalent."""
    return {name for row in recorded().values() for name in row.get("survivors", [])} - equivalent().keys()


def with_a_cause(row):
    return row["with_a_cause"] / max(row["judged"], 1)


def the_right_one(row):
    return row["right"] / max(row["with_a_cause"], 1)


def record(lesson, row):
    """Numbers that the row does not have stay as they are."""
    rows = recorded()
    rows[lesson.name] = rows.get(lesson.name, {}) | row
    RESULTS.write_text(json.dumps(rows, indent=1, sort_keys=True) + "\n", encoding="utf-8")


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
