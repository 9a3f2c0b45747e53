"""What an exercise is: the functions it asks for, and the checks that mark them.

    lesson = Lesson("ex04", "GELU", minutes=30, functions={"gelu_forward": "y, cache", "gelu_backward": "dx"},
                    withheld=(gelu_forward, gelu_backward))

    @lesson.check(2, "value", of="gelu_forward", formula="y = ½ x (1 + tanh u)")
    def value(yours, draw):
        x = draw.normal(3, 4)
        y, _ = yours.gelu_forward(x)
        same("y", y, gelu_forward(x)[0])

A check returns where all is right, and raises `Wrong` where it is not. It is run for several draws, and earns its
points if it passes for all. Ten points make an exercise.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

UNTOUCHED = "inputs untouched"                       # in the title of the check that asks for it


class Check(NamedTuple):
    points: float
    title: str
    of: str                                          # the function it looks at, whose hints help
    formula: str
    run: Callable                                    # (yours, draw)
    counts_alone: bool = True                        # False: only where a function it calls has other points


class Lesson:
    """functions  name -> the names of what it returns; those that begin with "cache" only their own pair looks into
    withheld   the library's own answers, which a student's code cannot call while it is marked
    variant_of another exercise, in whose place a term may set this one
    references {name of a function: one that takes the same arguments and is right}, for causes; those of the library
               that have the same name and are withheld need not be named
    usual_references {name: function}, as references, but whose answer outside of what the sheet promises proves nothing
    own_results functions whose results, by the sheet, share no memory with arguments or with each other
    """

    def __init__(self, name, title, minutes, functions, withheld=(), variant_of=None, references=None, own_results=(),
                 usual_references=None):  # fmt: skip
        self.name, self.title, self.minutes, self.variant_of = name, title, minutes, variant_of
        self.functions = {name: tuple(returns.replace(" ", "").split(",")) for name, returns in functions.items()}
        self.withheld, self.checks, self.own_results = tuple(withheld), [], frozenset(own_results)
        self.references = {function.__name__: function for function in withheld} | (references or {})
        self.usual_references = self.references | (usual_references or {})

    @property
    def exercise(self):
        """ex04, of the variant ex04-erf, too."""
        return self.variant_of or self.name

    @property
    def points(self):
        return sum(check.points for check in self.checks)

    def opaque(self, name):
        """Which of the values that a function returns are caches."""
        return [i for i, part in enumerate(self.functions[name]) if part.startswith("cache")]

    def check(self, points, title, of, formula="", counts_alone=True):
        if of not in self.functions:
            raise ValueError(f"check {title!r} of {self.name} looks at {of!r}; it has {', '.join(self.functions)}")

        def add(run: Callable[[Any, Any], None]):
            self.checks.append(Check(points, title, of, formula, run, counts_alone and UNTOUCHED not in title))
            return run

        return add

    def __repr__(self):
        return f"Lesson({self.name}, {self.title})"
