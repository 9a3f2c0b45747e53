"""`minalbert exercise`: begin an exercise, check it, get a hint."""

import json
import sys
from pathlib import Path

from minalbert.files import write_atomically

from .catalogue import all_lessons, find
from .draw import PUBLIC
from .ending import SECONDS, ended_after
from .errors import CourseError
from .files import as_handed_out, hints, locate, there, untouched
from .files import run as run_file
from .here import Here
from .marking import mark, none
from .report import lines

LEVELS = ("idea", "equation", "almost code")


def add_arguments(parser):
    parser.description = "Exercises that mark themselves: start one, write it, check it."
    commands = parser.add_subparsers(dest="action", metavar="list | start | check | hint")
    parser.set_defaults(json=False)
    commands.add_parser("list", help="which exercises there are").add_argument("--json", action="store_true")
    start = commands.add_parser("start", help="write the file to work in; never over one that is there")
    start.add_argument("exercise", metavar="ex05")
    start.add_argument("--notebook", action="store_true", help="a notebook, instead of a Python file")
    check = commands.add_parser("check", help="points, and why they are missing")
    check.add_argument("exercise", metavar="ex05")
    check.add_argument("file", nargs="?", help="default: the one of this exercise in this folder")
    check.add_argument("--only", metavar="CHECK", help="this check alone, by its title, as the report has it")
    check.add_argument("--json", action="store_true", help="print one JSON object")
    hint = commands.add_parser("hint", help="a hint for what is not right yet")
    hint.add_argument("exercise", metavar="ex05")
    hint.add_argument("level", nargs="?", type=int, choices=(1, 2, 3), default=1, help=", ".join(LEVELS))
    hint.add_argument("--file", help="default: the one of this exercise in this folder")
    hint.add_argument("--of", metavar="FUNCTION", help="default: the first that is not right in your file")


def run(options):
    return {None: show_list, "list": show_list, "start": start, "check": check, "hint": hint}[options.action](options)


def show_list(options):
    lessons = [lesson for lesson in all_lessons().values() if lesson.variant_of is None]
    if options.json:
        keys = ("name", "title", "minutes", "points")
        print(json.dumps([{key: getattr(lesson, key) for key in keys} for lesson in lessons], indent=1))
        return 0
    for lesson in lessons:
        here = ", ".join(path.name for path in there(lesson) if not as_handed_out(path))
        print(f"{lesson.name}  {lesson.title:<46} {lesson.minutes:3d} minutes  {here}".rstrip())
    print("\nten points each; begin with: minalbert exercise start ex01")
    return 0


def start(options):
    lesson = find(options.exercise)
    name, text = untouched(lesson, options.notebook)
    if files := there(lesson):
        raise CourseError(f"{files[0]} is there already, and stays as it is; to begin again, rename it first")
    write_atomically(name, text.encode())            # or nothing: start refuses a file that is there
    how = f"jupyter lab {name}" if options.notebook else f"open {name} in your editor"
    print(f"wrote {name}\n  write:  {how}\n  check:  minalbert exercise check {lesson.name}")
    return 0


def marks_of(lesson, path, term=PUBLIC):
    namespace, remark = run_file(path, lesson.withheld)
    if not any(callable(namespace.get(name)) for name in lesson.functions):
        return none(lesson, remark or f"{Path(path).name} has none of the functions: {', '.join(lesson.functions)}")
    return mark(lesson, Here(namespace, path, lesson.withheld), term, remark)


def lesson_of(exercise, path):
    """The variant that the file's name gives; if it gives none of this exercise, the exercise itself."""
    lesson = find(exercise)
    try:
        named = find(Path(path).stem)
    except CourseError:
        return lesson
    return named if named.exercise == lesson.exercise else lesson


def check(options):
    lesson = find(options.exercise)
    path = locate(lesson, options.file)
    try:
        with ended_after(SECONDS, path.name):
            marks = only(options.only, marks_of(lesson_of(options.exercise, path), path))
    except KeyboardInterrupt as error:
        print(f"interrupted: {error}", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(as_json(marks), indent=1))
    else:
        print("\n".join(lines(marks)))
    return 0 if not marks.missed else 1


def only(title, marks):
    """The marks of one check, or all if no title is given."""
    if title is None:
        return marks
    outcomes = [outcome for outcome in marks.outcomes if outcome.check.title == title]
    if not outcomes:
        titles = ", ".join(outcome.check.title for outcome in marks.outcomes)
        raise CourseError(f"{marks.lesson.name} has no check {title!r}; it has {titles}")
    return marks._replace(outcomes=outcomes)


def as_json(marks):
    return {
        "exercise": marks.lesson.name, "points": marks.points, "of": marks.of, "remark": marks.remark,
        "checks": [{"check": o.check.title, "points": o.earned, "of": o.check.points, "seen": o.seen, "cause": o.cause}
                   for o in marks.outcomes],
    }  # fmt: skip


def hint(options):
    lesson, function = find(options.exercise), options.of
    if function is None:
        try:
            path = locate(lesson, options.file)
            lesson = lesson_of(options.exercise, path)
            with ended_after(SECONDS, path.name):
                missed = marks_of(lesson, path).missed
            if not missed:
                print(f"{lesson.name}: everything is right already")
                return 0
            function = missed[0].of or next(iter(lesson.functions))
        except CourseError as error:
            if options.file is not None:
                raise
            function = next(iter(lesson.functions))
            print(f"({error})", file=sys.stderr)
    if function not in lesson.functions:
        raise CourseError(f"{lesson.name} has no function {function!r}; it asks for {', '.join(lesson.functions)}")
    print(f"{lesson.name}, {function}, {LEVELS[options.level - 1]}:\n  {hints(lesson)[function][options.level - 1]}")
    if options.level < len(LEVELS):
        print(f"more: minalbert exercise hint {options.exercise} {options.level + 1} --of {function}")
    return 0
