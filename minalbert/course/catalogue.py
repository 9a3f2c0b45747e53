"""Which exercises there are, and which variant of each a term has."""

import hashlib
import importlib
import pkgutil

from . import lessons
from .draw import PUBLIC
from .errors import CourseError


def all_lessons():
    """name -> Lesson, variants included, in order."""
    found = {}
    for module in sorted(module.name for module in pkgutil.iter_modules(lessons.__path__)):
        if module.startswith("ex"):
            found |= of_module(module)
    return found


def of_module(module):
    return {lesson.name: lesson for lesson in importlib.import_module(f"{lessons.__name__}.{module}").LESSONS}


def find(name):
    """The lesson "ex05", or "ex04-erf", or one said as 5, as ex5 or as a file's stem, ex05_attention."""
    wanted = str(name).lower().replace("_", "-")
    number = wanted.removeprefix("ex").split("-")[0]
    if number.isdecimal():
        modules = [m.name for m in pkgutil.iter_modules(lessons.__path__) if m.name.startswith(f"ex{int(number):02d}_")]
        for module in modules:
            offered = of_module(module)
            words = wanted.split("-")[1:]            # of a variant ex04-erf, the last word is among them
            fitting = [lesson for key, lesson in offered.items() if key.partition("-")[2] in words]
            return fitting[0] if fitting else next(iter(offered.values()))
    known = ", ".join(name for name, lesson in all_lessons().items() if lesson.variant_of is None)
    raise CourseError(f"there is no exercise {name!r}; there are {known}")


def chosen(term=PUBLIC):
    """exercise -> the Lesson a term has in its place: its first, or a variant that the term's secret picks."""
    choices = {}
    for lesson in all_lessons().values():
        choices.setdefault(lesson.exercise, []).append(lesson)
    return {exercise: variants[pick(term, exercise, len(variants))] for exercise, variants in choices.items()}


def pick(term, exercise, count):
    if term == PUBLIC:
        return 0
    return int.from_bytes(hashlib.sha256(f"{term}/variant/{exercise}".encode()).digest()[:4]) % count
