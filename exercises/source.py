"""The one source of an exercise, and what is made of it.

exercises/source/ex05_attention.py is a jupytext percent file. Its functions hold their solution between
`### BEGIN SOLUTION` and `### END SOLUTION`, and before that three lines `### HINT`, from idea to almost code. A text
cell that begins with `## Question` is answered in words, and marked by a person.
"""

import re
import textwrap
from pathlib import Path
from typing import NamedTuple

from minalbert_course.catalogue import find

HERE = Path(__file__).parent
ANSWER = "*Your answer:*"                            # a person marks what stands in its place
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION\n", re.M | re.S)
HINT = re.compile(r"^[ \t]*### HINT (.*)\n", re.M)
FUNCTION = re.compile(r"^(?:def|class) (\w+)", re.M)
CELL = re.compile(r"^# %%.*\n", re.M)


class SourceError(ValueError):
    """A source that breaks the rules above."""


class Source(NamedTuple):
    path: Path

    @property
    def lesson(self):
        return find(self.path.stem)

    @property
    def text(self):
        text = self.path.read_text(encoding="utf-8")
        if text.count("### BEGIN SOLUTION") != len(SOLUTION.findall(text)) or "### BEGIN" in SOLUTION.sub("", text):
            raise SourceError(f"{self.path.name}: BEGIN and END SOLUTION do not take turns")
        return text.rstrip() + self.ending()

    def ending(self):
        """The last cells of every exercise: what is checked, and the check."""
        lesson = self.lesson
        badges = ", ".join(f"{check.title} {check.points:g}" for check in lesson.checks)
        listed = "\n".join(f"# {line}".rstrip() for line in textwrap.wrap(f"{lesson.points:g} points: {badges}.", 110))
        return (
            f"\n\n# %% [markdown]\n# {ANSWER}\n\n# %% [markdown]\n# ## Check\n#\n{listed}\n#\n"
            f"# In a terminal: `minalbert exercise check {lesson.exercise}`, and for a hint "
            f"`minalbert exercise hint {lesson.exercise}`.\n\n"
            f'# %%\nfrom minalbert_course import check\n\ncheck("{lesson.name}", globals())\n'
        )

    def hints(self):
        """function -> its hints"""
        found = {}
        for block in re.split(r"^(?=def |class )", self.text, flags=re.M)[1:]:
            if said := HINT.findall(block):
                found[FUNCTION.match(block)[1]] = said
        return found

    def with_markers(self):
        return HINT.sub("", self.text)

    def solution(self):
        return SOLUTION.sub(r"\2", self.with_markers())

    def student(self):
        def stub(match):
            function = FUNCTION.findall(match.string[: match.start()])[-1]
            return f'{match[1]}raise NotImplementedError("{self.lesson.name}: {function} is not written yet")\n'

        return SOLUTION.sub(stub, self.with_markers())


def sources():
    return [Source(path) for path in sorted((HERE / "source").glob("ex*.py"))]
