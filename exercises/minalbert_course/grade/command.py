"""`minalbert grade DIR`: mark a folder of submissions, each in a fenced process of its own."""

import argparse
import csv
import json
import os
import sys
import time
from pathlib import Path

from tqdm import tqdm

from ..catalogue import chosen, find
from ..command import as_json
from ..draw import PUBLIC
from ..errors import CourseError
from ..report import lines
from . import gradescope
from .batch import best, grades
from .fence import KERNEL
from .fenced import SubmissionLimits
from .names import file_names, harmless
from .submissions import found


def add_arguments(parser):
    parser.description = (
        "Mark a folder of submissions (NAME/ex05_attention.py, notebooks too), each in a fenced process of its own. "
        "Writes grades.csv, results.json and a page of feedback for each."
    )
    parser.add_argument("folder", metavar="DIR")
    parser.add_argument("--exercise", metavar="ex05", help="mark this exercise alone; files need not say its name")
    parser.add_argument("--term-file", metavar="FILE", help="a file whose text is the term's secret, which chooses "
                        "numbers and variants. Without it: the public checks, which students have")  # fmt: skip
    parser.add_argument("--out", metavar="DIR", help="where grades go; default: DIR-grades")
    parser.add_argument("--workers", type=positive(int), default=os.cpu_count() or 1, metavar="N", help="at a time")
    usual = SubmissionLimits()
    parser.add_argument("--call-seconds", type=positive(float), default=usual.call, metavar="X", help="of one call")
    parser.add_argument("--memory", type=positive(int), default=usual.memory, metavar="MB", help="of one submission")
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
    term = secret(options.term_file)
    lessons, exercise = chosen(term), find(options.exercise).exercise if options.exercise else None
    submissions, unmarked = found(options.folder, exercise, "the student" if options.gradescope else None)
    unmarked += [f"{s.path} is of {s.exercise}, which is not there" for s in submissions if s.exercise not in lessons]
    submissions = [submission for submission in submissions if submission.exercise in lessons]
    limits = SubmissionLimits(options.call_seconds, 12 * options.call_seconds, options.memory)
    with tqdm(total=len(submissions), desc="grading", leave=False, disable=not sys.stderr.isatty()) as bar:
        marked = best(grades(submissions, lessons, term, options.workers, limits, lambda grade: bar.update()))
    seconds = time.monotonic() - start
    if options.gradescope:
        write(Path(options.gradescope), json.dumps(gradescope.results(marked, seconds), indent=1))
        return 0
    out = Path(options.out or f"{Path(options.folder)}-grades")
    keep(marked, out)
    for line in summary(marked, unmarked, out, seconds, options.json):
        print(line)
    return 1 if any(grade.failure for grade in marked) else 0


def secret(path):
    if path is None:
        return PUBLIC
    try:
        text = Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(f"--term-file {path} cannot be read: {getattr(error, 'strerror', error)}") from error
    if len(text) < 8 or text == PUBLIC:
        raise CourseError(f"--term-file {path} holds {len(text)} letters; a secret needs 8 or more")
    return text


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
    names = file_names(dict.fromkeys(grade.submission.student for grade in marked))
    for grade in marked:
        page = f"{names[grade.submission.student]}-{grade.submission.exercise}.txt"
        text = [f"{grade.submission.student}: {grade.submission.file}", "", *lines(grade.marks, shown=None), ""]
        write(out / "feedback" / page, "\n".join(text))


def as_row(grade):
    return {"student": grade.submission.student, "file": grade.submission.file} | as_json(grade.marks)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="backslashreplace")


def summary(marked, unmarked, out, seconds, as_object):
    if as_object:
        yield json.dumps({"grades": [as_row(grade) for grade in marked], "unmarked": unmarked}, indent=1)
        return
    names = max((len(grade.submission.student) for grade in marked), default=0)
    for grade in marked:
        marks = grade.marks
        row = f"{grade.submission.student:<{names}}  {marks.lesson.name:<14} {marks.points:4g} / {marks.of:g}"
        yield f"{row}  {marks.remark[:90]}".rstrip()
    for sentence in unmarked:
        yield f"not marked: {sentence}"
    for grade in marked:
        if grade.failure:
            yield f"LOOK AT {grade.submission.path}: {grade.failure}"
    if missing := sorted({fence for grade in marked if grade.fences for fence in KERNEL if fence not in grade.fences}):
        yield f"NOT FENCED by this machine's kernel: {', '.join(missing)}; only Python's own hook was in the way"
    yield f"{len(marked)} marked in {seconds:.0f} s; grades and feedback are in {out}"
