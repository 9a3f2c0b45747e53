"""`minalbert grade DIR`: mark a folder of submissions, each in a fenced process of its own."""

import argparse
import csv
import functools
import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

from minalbert.capacity import cores

from ..catalogue import chosen, find
from ..command import as_json
from ..draw import PUBLIC
from ..errors import CourseError
from ..marking import no_marks, printable
from ..report import lines
from . import container, gradescope
from .batch import Grade, best, grades
from .fenced import SubmissionLimits
from .names import file_names, harmless
from .standing import fences_here, may_be_secret, sentence
from .submissions import found, not_handed_in, without_files


def add_arguments(parser):
    parser.description = (
        "Mark a folder of submissions (NAME/ex05_attention.py, notebooks too), each in a fenced process of its own. "
        "Writes grades.csv, results.json and a page of feedback for each."
    )
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--exercise", metavar="ex05", help="mark this exercise alone; files need not say its name")
    parser.add_argument("--students", metavar="FILE", help="the class, a name a line, as folders or files say it: who "
                        "handed in nothing has a row, too")  # fmt: skip
    parser.add_argument("--term-file", metavar="FILE", help="a file whose text is the term's secret, which chooses "
                        "numbers and variants. Without it: the public checks, which students have")  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="where grades go; default: DIR-grades")
    parser.add_argument("--workers", type=positive(int), default=cores(), metavar="N", help="processes "
                        "that mark; default: as many as processors")  # fmt: skip
    usual = SubmissionLimits()
    parser.add_argument("--call-seconds", type=positive(float), default=usual.call, metavar="X", help="of processor "
                        "time, for one call; default: %(default)g")  # fmt: skip
    parser.add_argument("--memory", type=positive(int), default=usual.memory, metavar="MB", help="of one "
                        "submission, beside what Python and NumPy take; default: %(default)d")  # fmt: skip
    parser.add_argument("--container", action="store_true", help="each in a container of podman or docker: no network, "
                        "read-only, not root")  # fmt: skip
    parser.add_argument("--trust", action="store_true", help="use the term's secret where the audit hook is the only "
                        "fence, too")  # fmt: skip
    parser.add_argument("--gradescope", metavar="FILE", help="write its results.json to FILE, and nothing else")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def positive(kind):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
        return value

    return parse


def run(options):
    start = time.monotonic()
    term, students = secret(options.term_file), named(options.students)
    lessons, exercise = chosen(term), find(options.exercise).exercise if options.exercise else None
    submissions, unmarked = found(options.folder, exercise, "the student" if options.gradescope else None)
    unmarked += [f"{printable(submission.path)} is of {submission.exercise}, which is not there"
                 for submission in submissions if submission.exercise not in lessons]  # fmt: skip
    submissions = [submission for submission in submissions if submission.exercise in lessons]
    out = Path(options.out or beside(Path(options.folder)))
    check_folder(Path(options.gradescope).parent if options.gradescope else out)
    check_outside(out, options.folder)
    if options.gradescope:
        Path(options.gradescope).unlink(missing_ok=True)             # an earlier run's must not count as this one's
    limits = SubmissionLimits(options.call_seconds, 12 * options.call_seconds, options.memory)
    new_worker, standing = fenced_off(options, term, limits)
    with tqdm(total=len(submissions), desc="grading", leave=False, disable=not sys.stderr.isatty()) as bar:
        done = grades(submissions, lessons, term, options.workers, limits, bar.update, new_worker)
    marked = best(done)
    seconds = time.monotonic() - start
    notes = {"unmarked": unmarked, "uncounted": outdone(done), "look_at": to_look_at(done, standing)}
    if options.gradescope:
        return for_gradescope(Path(options.gradescope), marked, notes, seconds)
    students += [path.name for path in without_files(options.folder, submissions)]
    exercises = [exercise] if exercise else sorted({submission.exercise for submission in submissions})
    marked += [Grade(absent, no_marks(lessons[absent.exercise], "not handed in"))
               for absent in not_handed_in(submissions, exercises, students)]  # fmt: skip
    marked.sort(key=lambda grade: grade.key)
    keep(marked, out)
    for line in summary(marked, notes, standing, out, seconds, options.json):
        print(line)
    return 1 if notes["look_at"] else 0


def fenced_off(options, term, limits):
    """(what makes a worker, the fences that stand around it), and a line about them, before anything is run."""
    program = container.program() if options.container else None
    new_worker = functools.partial(container.ContainedWorker, program, limits) if program else None
    if program:
        print(f"each submission is run by: {container.as_text(program, limits)}", file=sys.stderr)
    standing = fences_here(find("ex01"), limits, new_worker)
    print(sentence(standing, program), file=sys.stderr)
    if term != PUBLIC:
        may_be_secret(standing, program, options.trust)
    return new_worker, standing


def named(path):
    """The names in a file, a line each."""
    return [] if path is None else [line for line in read("--students", path).splitlines() if line.strip()]


def read(option, path):
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"{option} {path} cannot be read: {getattr(error, 'strerror', error)}") from error


def secret(path):
    if path is None:
        return PUBLIC
    text = read("--term-file", path)
    if len(text) < 8 or text == PUBLIC:
        raise CourseError(f"--term-file {path} holds {len(text)} letters; a secret needs 8 or more")
    return text


def check_folder(path):
    """Refuse a folder that cannot be made, before anything is marked."""
    there = next((part for part in (path, *path.parents) if part.exists()), path)
    if not there.is_dir():
        raise CourseError(f"{path} cannot be made a folder: {there} is a file")


def beside(folder):
    """Where grades go if nobody says so."""
    return f"{folder if folder.name not in ('', '..') else folder.resolve()}-grades"


def check_outside(out, folder):
    """Refuse to write among the submissions, where the next run would take pages for a student's files."""
    out, folder = out.resolve(), Path(folder).resolve()
    if out == folder or folder in out.parents:
        raise CourseError(f"--out {out} lies in the submissions' folder {folder}; name a folder outside of it")


def outdone(done):
    """A sentence for each file that does not count, because another one of its student and exercise does."""
    best_of = {grade.key: grade for grade in best(done)}
    pairs = [(grade, best_of[grade.key]) for grade in done if best_of[grade.key] is not grade]
    return [f"{printable(less.submission.path)} has {less.marks.points:g} points; {more.submission.file} of the same "
            f"student has {more.marks.points:g}" for less, more in pairs]  # fmt: skip


def for_gradescope(path, marked, notes, seconds):
    """Write results.json, and return the exit code. Without that file, so where a person must look, Gradescope says
    that the autograder failed."""
    if notes["look_at"]:
        for sentence in notes["look_at"]:
            print(f"LOOK AT {sentence}", file=sys.stderr)
        print(f"{path} is not written, because 0 points there would look like a grade", file=sys.stderr)
        return 1
    write(path, json.dumps(gradescope.results(marked, seconds, notes["unmarked"]), indent=1))
    return 0


def keep(marked, out):
    """The table first: whatever a page's name does to the file system, the grades are there."""
    rows = [("student", "exercise", "points", "of", "file", "remark")]
    for grade in marked:
        submission, marks = grade.submission, grade.marks
        rows.append((submission.student, marks.lesson.name, f"{marks.points:g}", f"{marks.of:g}",
                     submission.file, marks.remark))  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    with open(out / "grades.csv", "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([[harmless(cell) for cell in row] for row in rows])
    write(out / "results.json", json.dumps([as_row(grade) for grade in marked], indent=1))
    handed_in = [grade for grade in marked if grade.submission.path]
    names = file_names(dict.fromkeys(grade.submission.student for grade in handed_in))
    for grade in handed_in:
        page = f"{names[grade.submission.student]}-{grade.submission.exercise}.txt"
        text = [f"{grade.submission.student}: {grade.submission.file}", "", *lines(grade.marks, shown=None), ""]
        write(out / "feedback" / page, "\n".join(text))


def as_row(grade):
    return {"student": grade.submission.student, "file": grade.submission.file} | as_json(grade.marks)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def summary(marked, notes, standing, out, seconds, as_object):
    """notes: sentences for files that are not marked, for those that are and do not count, and for those to look at"""
    if as_object:
        rows = [as_row(grade) for grade in marked]
        yield json.dumps({"grades": rows} | notes | {"fences": standing}, indent=1)
        return
    names = max((len(shortened(grade.submission.student)) for grade in marked), default=0)
    for grade in marked:
        marks, student = grade.marks, shortened(grade.submission.student)
        row = f"{student:<{names}}  {marks.lesson.name:<14} {marks.points:4g} / {marks.of:g}"
        yield f"{row}  {marks.remark[:90]}".rstrip()
    for key, title in {"unmarked": "not marked:", "uncounted": "not counted:", "look_at": "LOOK AT"}.items():
        yield from (f"{title} {sentence}" for sentence in notes[key])
    count = sum(grade.submission.path is not None for grade in marked)
    yield f"{count} marked in {seconds:.0f} s; grades and feedback are in {out}"


def to_look_at(done, standing):
    """A sentence for each file that a person must look at, those that do not count too: 0 points may be our mistake."""
    found = []
    for grade in done:
        if missing := fallen(grade, standing):
            found.append(f"{printable(grade.submission.path)}: it ran without a fence: {'; '.join(missing)}")
        if grade.failure:
            found.append(f"{printable(grade.submission.path)}: {printable(grade.failure)}")
    return found


def fallen(grade, standing):
    """Fences that stood at the start, and not around this submission."""
    return [fence for fence in standing if grade.fences and fence not in grade.fences]


def shortened(student, most=40):
    return student if len(student) <= most else f"{student[: most - 1]}…"
