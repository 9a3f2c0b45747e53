"""`make course`: what students, instructors and their systems get, all from exercises/source.

    python -m exercises.build catalogue                  exercises/CATALOGUE.md
    python -m exercises.build course [--term-file FILE]      build/course: all that `exports` lists
    python -m exercises.build public [--term-file FILE]      build/public: what may be published, without solutions
"""

import argparse
import shutil
from pathlib import Path

from minalbert_course import catalogue
from minalbert_course.grade.command import secret

from . import exports, handbook, public
from .source import HERE


def catalogue_page():
    exports.put(handbook.CATALOGUE, handbook.text())
    print(f"wrote {handbook.CATALOGUE}")


def course(out, term):
    """Everything, for one term. What an earlier build left is removed; if it cannot be, the build stops."""
    wheel = exports.wheel(out)
    for what, make in {
        "student": lambda folder: exports.student(folder, term),
        "nbgrader": lambda folder: exports.nbgrader(folder, term),
        "gradescope": lambda folder: exports.gradescope(folder, term, wheel),
        "classroom": lambda folder: exports.classroom(folder, term, wheel),
        "container": lambda folder: exports.container(folder, wheel),
        "instructor": lambda folder: exports.instructor(folder, term),
    }.items():
        if (out / what).exists():
            shutil.rmtree(out / what)
        make(out / what)
        print(f"wrote {out / what}")


def main():
    parser = argparse.ArgumentParser(description="Build the course from exercises/source.")
    parser.add_argument("what", choices=("catalogue", "course", "public"))
    parser.add_argument("--out", type=Path, help="default: build/course, build/public")
    parser.add_argument("--term-file", help="a file whose text is the term's secret")
    options = parser.parse_args()
    if options.what == "catalogue":
        catalogue_page()
        return
    term = secret(options.term_file)
    out = options.out or HERE.parent / "build" / options.what
    print(f"this term has {', '.join(lesson.name for lesson in catalogue.chosen(term).values())}")
    if options.what == "course":
        course(out, term)
    else:
        public.publish(out, term)
        print(f"wrote {out}, without solutions; the library, in the wheel, is what the base exercises rebuild")


if __name__ == "__main__":
    main()
