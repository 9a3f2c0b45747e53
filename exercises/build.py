"""`make course`: what students, instructors and their systems get, all from exercises/source.

    python -m exercises.build catalogue                  exercises/CATALOGUE.md
    python -m exercises.build course --out build/course [--term-file FILE]      all that `exports` lists
"""

import argparse
import shutil
from pathlib import Path

from minalbert_course import catalogue
from minalbert_course.grade.command import secret

from . import exports, handbook
from .source import HERE


def catalogue_page():
    exports.put(handbook.CATALOGUE, handbook.text())
    print(f"wrote {handbook.CATALOGUE}")


def course(out, term):
    """Everything, for one term; what an earlier build left is removed."""
    for old in out.glob("minalbert-*.whl"):
        old.unlink()
    chosen = ", ".join(lesson.name for lesson in catalogue.chosen(term).values())
    print(f"this term has {chosen}")
    wheel = exports.wheel(out)
    for what, make in {
        "student": lambda folder: exports.student(folder, term),
        "nbgrader": lambda folder: exports.nbgrader(folder, term),
        "gradescope": lambda folder: exports.gradescope(folder, term, wheel),
        "classroom": lambda folder: exports.classroom(folder, term, wheel),
        "instructor": lambda folder: exports.instructor(folder, term),
    }.items():
        shutil.rmtree(out / what, ignore_errors=True)
        make(out / what)
        print(f"wrote {out / what}")


def main():
    parser = argparse.ArgumentParser(description="Build the course from exercises/source.")
    parser.add_argument("what", choices=("catalogue", "course"))
    parser.add_argument("--out", type=Path, default=HERE.parent / "build" / "course")
    parser.add_argument("--term-file", help="a file whose text is the term's secret")
    options = parser.parse_args()
    if options.what == "catalogue":
        catalogue_page()
    else:
        course(options.out, secret(options.term_file))


if __name__ == "__main__":
    main()
