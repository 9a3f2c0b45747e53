"""The one source of an exercise, and what is made of it.

exercises/source/ex05_attention.py is a jupytext percent file; `handout` says how it holds solutions and hints. A text
cell that begins with `## Question` is answered in words, and marked by a person.
"""

from pathlib import Path
from typing import NamedTuple

from minalbert_course import handout
from minalbert_course.catalogue import find
from minalbert_course.files import ending

HERE = Path(__file__).parent


class Source(NamedTuple):
    path: Path

    @property
    def lesson(self):
        return find(self.path.stem)

    @property
    def text(self):
        return handout.read(self.path) + ending(self.lesson)

    def with_markers(self):
        return handout.HINT.sub("", self.text)

    def solution(self):
        return handout.SOLUTION.sub(r"\2", self.with_markers())

    def student(self):
        return handout.without_solutions(self.text, self.lesson.exercise)


def sources():
    return [Source(path) for path in sorted(handout.SOURCES.glob("ex*.py"))]
