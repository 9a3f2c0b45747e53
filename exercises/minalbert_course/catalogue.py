"""Which exercises there are, and which variant of each a term has."""

import functools
import hashlib
import importlib
import pkgutil

from . import lessons
from .draw import PUBLIC
from .errors import CourseError


def all_lessons():
    """name -> Lesson, in order, each exercise before its variants"""
    found = [lesson for exercise in exercises() for lesson in lessons_of(exercise)]
    return {lesson.name: lesson for lesson in sorted(found, key=lambda lesson: lesson.name)}


@functools.cache
def exercises():
    """ex01, ex02, ...: the packages of lessons"""
    return [module.name for module in pkgutil.iter_modules(lessons.__path__) if module.ispkg]


def lessons_of(exercise):
    """The exercise, and its variants if it has any."""
    return importlib.import_module(f"{lessons.__name__}.{exercise}").LESSONS


def find(name):
    """The lesson "ex05", or "ex04-erf", or one given as 5, as ex5 or as a file's stem, ex05_attention."""
    number, *words = str(name).lower().replace("_", "-").removeprefix("ex").split("-")
    exercise = f"ex{int(number):02d}" if number.isdecimal() else None
    if exercise not in exercises():
        known = ", ".join(name for name, lesson in all_lessons().items() if lesson.variant_of is None)
        raise CourseError(f"there is no exercise {name!r}; there are {known}")
    offered = lessons_of(exercise)
    of_words = [lesson for lesson in offered if lesson.name.partition("-")[2] in words]
    base = [lesson for lesson in offered if lesson.variant_of is None]
    if "-" in str(name) and not of_words:
        known = ", ".join(lesson.name for lesson in offered)
        raise CourseError(f"there is no exercise {name!r}; there are {known}")
    return (of_words or base)[0]


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
