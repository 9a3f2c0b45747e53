"""How far a student is: which exercises their course has set, and the points of the files that are there.

A hand-out holds minalbert-course.json, which names the exercises of a term, variants in the place of others:
`{"exercises": ["ex01", "ex02", "ex03-rms", ...]}`. It counts for its folder and those inside.
"""

import contextlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from .catalogue import all_lessons, chosen, find
from .draw import PUBLIC
from .ending import ended_after
from .errors import CourseError
from .files import as_handed_out, there
from .files import run as run_file
from .here import Here
from .marking import mark, no_marks
from .state.stateless import is_stateless
from .your_code import WANTED, of_other_models

TERM = "minalbert-course.json"
INSIDE = ("python", "notebooks")                     # folders of a hand-out
TRAIN = """train a model on your functions:
      minalbert data build --tiny-worlds 30000 --out worlds
      minalbert pretrain runs/mine --corpus worlds --optimiser lamb {files}"""
NOTHING = "nothing: all points are there, and none of these functions has a place in the model"
SECONDS = 10                                         # for the checks of one file, among those of all


def term_text(lessons):
    """The text of a hand-out's minalbert-course.json."""
    return json.dumps({"exercises": [lesson.name for lesson in lessons]}) + "\n"


def term_file(folder="."):
    """The minalbert-course.json of this folder, or of the nearest above; None where there is none."""
    folder = Path(folder).resolve()
    return next((each / TERM for each in (folder, *folder.parents) if (each / TERM).is_file()), None)


def exercises_of(folder="."):
    """exercise -> Lesson, as the term has it; without a hand-out, the exercises without variants."""
    path = term_file(folder)
    if path is None:
        return chosen(PUBLIC)
    try:
        lessons = [all_lessons()[name] for name in json.loads(path.read_text(encoding="utf-8"))["exercises"]]
        lessons[0]                                   # one at least
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise CourseError(f'{path} must be like {{"exercises": ["ex01", "ex03-rms"]}}, with names of exercises, and is '
                          f"not ({error}); copy it from your course again, or remove it") from error  # fmt: skip
    return {lesson.exercise: lesson for lesson in lessons}


def meant(exercise, folder="."):
    """The lesson of this name, or the variant that the term has in its place."""
    lesson = find(exercise)
    return exercises_of(folder).get(lesson.name, lesson)


def lesson_of(exercise, path):
    """As the term has it, whatever the file is called; without a hand-out, the variant that the file's name gives."""
    if term_file(Path(path).parent):
        return meant(exercise, Path(path).parent)
    named = by_name(path)
    return named if named and named.exercise == find(exercise).exercise else find(exercise)


def by_name(path):
    with contextlib.suppress(CourseError):
        return find(Path(path).stem)
    return None


def another(lesson, path, asked):
    """A sentence, if the file's name, or somebody who asked for a variant, says another one than it is marked as."""
    named, file = by_name(path), Path(path).name
    if named is not None and named is not lesson and named.exercise == lesson.exercise:
        return f"{file} is of {named.name} by its name; your course has {lesson.name}, and it is marked as that"
    if asked is lesson or asked.variant_of is None:
        return ""
    why = f"your course has {lesson.name}" if term_file(Path(path).parent) else "its name says so"
    return f"{file} is marked as {lesson.name}, and not as {asked.name}: {why}"


def folder_of(lesson):
    """Where the files of an exercise are: here, or in a hand-out's folder of Python files or of notebooks."""
    if there(lesson) or not Path(TERM).is_file():
        return "."
    inside = [folder for folder in INSIDE if there(lesson, folder)]
    begun = [folder for folder in inside if begun_in(lesson, folder)]
    return (begun or inside or ["."])[0]


def begun_in(lesson, folder):
    return [path for path in there(lesson, folder) if not as_handed_out(path)]


def marks_of(lesson, path, term=PUBLIC, how=mark):
    namespace, remark = run_file(path, lesson.withheld)
    if not any(callable(namespace.get(name)) for name in lesson.functions):
        return no_marks(lesson, remark or f"{Path(path).name} has none of the functions: {', '.join(lesson.functions)}")
    host = Here(namespace, path, lesson.withheld, stateless=is_stateless(path, lesson.functions))
    return how(lesson, host, term, remark)


class Reached(NamedTuple):
    lesson: Any
    path: Path | None = None                         # the file with the most points, or the untouched one
    points: float | None = None                      # None: not begun


def reached(lesson):
    """What a student has reached in an exercise. Of several files the best counts, as it does in grading."""
    folder = folder_of(lesson)
    begun = [Reached(lesson_of(lesson.exercise, path), path, points_of(lesson, path))
             for path in begun_in(lesson, folder)]  # fmt: skip
    untouched = [Reached(lesson, path) for path in there(lesson, folder)]
    return max(begun, key=lambda each: (each.points, changed(each)), default=(untouched or [Reached(lesson)])[0])


def points_of(lesson, path):
    """0 for a file that does not end, or that cannot be read: its own check says why."""
    try:
        with ended_after(SECONDS, path.name):
            return marks_of(lesson_of(lesson.exercise, path), path).points
    except (CourseError, OSError):
        return 0.0


def next_step(found):
    """For the file that was changed last and is not right yet; for one not begun; for an exercise without a file."""
    begun = [each for each in found if each.points is not None and each.points < each.lesson.points]
    if begun:
        return f"minalbert exercise check {named(max(begun, key=changed))}"
    without = [each for each in found if each.points is None]
    for each in without:
        if each.path:
            return f"write {each.path}, then: minalbert exercise check {named(each)}"
    if without:
        return f"minalbert exercise start {without[0].lesson.exercise}"
    folders = dict.fromkeys(each.path.parent for each in found if has_a_place(each))
    return TRAIN.format(files=" ".join(f"--with {folder}" for folder in folders)) if folders else NOTHING


def has_a_place(each):
    """Does the library's model take a function of this exercise in the place of its own?"""
    return not (WANTED - of_other_models(each.path)).isdisjoint(each.lesson.functions)


def changed(each):
    return each.path.stat().st_mtime


def named(each):
    """ex05, and the file where there are several."""
    folder = folder_of(each.lesson)
    several = len(begun_in(each.lesson, folder) or there(each.lesson, folder)) > 1
    return f"{each.lesson.exercise} {each.path}" if several else each.lesson.exercise
