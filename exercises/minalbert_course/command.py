"""`minalbert exercise`: begin an exercise, check it, get a hint."""

import json
import os
import sys

from minalbert.files import write_atomically

from .catalogue import find
from .ending import SECONDS, ended_after, where
from .errors import CourseError
from .files import formulas, hints, locate, there, untouched
from .marking import mark_and_explain
from .milestones import milestone
from .progress import another, exercises_of, folder_of, lesson_of, marks_of, meant, next_step, reached, term_file
from .report import lines

LEVELS = ("idea", "equation", "almost code")


def add_arguments(parser):
    parser.description = "Exercises that mark themselves: start one, write it, check it."
    commands = parser.add_subparsers(dest="action", metavar="list | start | check | hint")
    parser.set_defaults(json=False)
    listing = commands.add_parser("list", help="the exercises, your points, and the next step")
    listing.add_argument("--json", action="store_true")
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
    found = [reached(lesson) for lesson in exercises_of().values()]
    if options.json:
        print(json.dumps([as_row(each) for each in found], indent=1))
        return 0
    names, titles = (max(len(getattr(each.lesson, key)) for each in found) for key in ("name", "title"))
    for each in found:
        lesson, points = each.lesson, ""
        if each.points is not None:
            points = f"{each.points:4g} / {lesson.points:g}  {each.path}"
        print(f"{lesson.name:<{names}}  {lesson.title:<{titles}} {lesson.minutes:3d} minutes  {points}".rstrip())
    total = f"{sum(each.points or 0 for each in found):g} of {sum(each.lesson.points for each in found):g} points"
    term = f"; the exercises are your course's: {os.path.relpath(path)}" if (path := term_file()) else ""
    print(f"\n{total}{term}")
    if line := furthest(found):
        print(f"milestone: {line}")
    print(f"next: {next_step(found)}")
    return 0


def furthest(found):
    """The line of the last exercise that has all its points and a milestone."""
    whole = [each for each in found if each.points == each.lesson.points]
    return next((line for each in reversed(whole) if (line := milestone(each.lesson, each.path))), None)


def as_row(each):
    keys = ("name", "title", "minutes", "points")
    row = {key: getattr(each.lesson, key) for key in keys}
    return row | {"reached": each.points, "file": str(each.path) if each.path else None}


def start(options):
    lesson = meant(options.exercise)
    name, text = untouched(lesson, options.notebook)
    if files := there(lesson):
        raise CourseError(f"{files[0]} is there already, and stays as it is; to begin again, rename it first")
    write_atomically(name, text.encode())            # or nothing: start refuses a file that is there
    how = f"jupyter lab {name}" if options.notebook else f"open {name} in your editor"
    term = f" ({lesson.title}, which your course has as {lesson.exercise})" if lesson.variant_of else ""
    print(f"wrote {name}{term}\n  write:  {how}\n  check:  minalbert exercise check {lesson.exercise}")
    return 0


def check(options):
    lesson = find(options.exercise)
    path = locate(lesson, options.file, folder_of(lesson))
    try:
        with ended_after(SECONDS, path.name):
            lesson = lesson_of(options.exercise, path)
            marks = only(options.only, marks_of(lesson, path, how=mark_and_explain))
    except KeyboardInterrupt as error:
        print(f"interrupted before all checks had run{where(error)}", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(as_json(marks), indent=1))
    else:
        if remark := another(lesson, path, find(options.exercise)):
            print(f"{remark}\n")
        print("\n".join(lines(marks)))
        if not marks.missed and options.only is None and (line := milestone(lesson, path)):
            print(f"\n  milestone: {line}")
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
    lesson, function = meant(options.exercise), options.of
    if function is None:
        try:
            path = locate(lesson, options.file, folder_of(lesson))
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
    if options.level == 1 and (found := formulas(lesson, function)):
        print(f"{lesson.name}, {function}, formula:", *found, sep="\n  ")
    print(f"{lesson.name}, {function}, {LEVELS[options.level - 1]}:\n  {hints(lesson)[function][options.level - 1]}")
    if options.level < len(LEVELS):
        print(f"more: minalbert exercise hint {options.exercise} {options.level + 1} --of {function}")
    return 0
