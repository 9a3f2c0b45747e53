"""What earlier runs have found, a line for each result: a run that was stopped goes on where it stopped."""

import contextlib
import functools
import hashlib
import json
from pathlib import Path

import minalbert
import minalbert_course

from ..source import HERE, sources
from .workers import Miss, Result, each, marked

JUDGE = (Path(minalbert.__file__).parent, Path(minalbert_course.__file__).parent, HERE / "unchanged.py",
         HERE / "mutants" / "workers.py")  # fmt: skip


def results(tasks, workers, path):
    """What `marked` gives for each of the tasks, in order. The file at `path` gets each result as soon as it is found,
    and what it has already is not marked again."""
    keys = [key(*task) for task in tasks]
    with open(path, "a+", encoding="utf-8") as file:
        file.seek(0)
        known = read(file)
        todo = [i for i, name in enumerate(keys) if name not in known]
        for number, answer in each(marked, [tasks[i] for i in todo], workers):
            name = keys[todo[number]]
            known[name] = answer
            file.write(f"\n{json.dumps([name, answer])}")     # on a new line, whatever came before
            file.flush()
    return [known[name] for name in keys]


def read(lines):
    """{key: a Result, or a sentence}"""
    found = {}
    for line in lines:
        with contextlib.suppress(ValueError):        # cut off where a run was killed
            name, answer = json.loads(line)
            if not isinstance(answer, str):
                points, misses, remark = answer
                answer = Result(points, [Miss(*miss) for miss in misses], remark)
            found[name] = answer
    return found


def key(lesson, text, term, suffix):
    """A digest of all that a result depends on."""
    return hashlib.sha256(repr((judge(), solutions()[lesson], lesson, text, term, suffix)).encode()).hexdigest()


@functools.cache
def solutions():
    return {source.lesson.name: source.solution() for source in sources()}


@functools.cache
def judge(places=JUDGE):
    """A digest of the code that marks, and of the numbers it compares with."""
    digest = hashlib.sha256()
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(repr((str(path.relative_to(place)), path.read_bytes())).encode())
    return digest.hexdigest()
