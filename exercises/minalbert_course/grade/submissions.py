"""A folder of submissions: whose they are, and of which exercise.

    DIR/NAME/ex05_attention.py       a folder for each student
    DIR/NAME_ex05_attention.ipynb    or all in one
"""

import re
from pathlib import Path
from typing import NamedTuple

from ..errors import CourseError
from ..marking import printable
from .names import Names, one_line

MOST = 5                                             # files of one student for one exercise
EXERCISE = re.compile(r"(?i)(?<![a-z0-9])ex_?(\d\d?)(?!\d)")
LARGEST = 5 * 2**20                                  # bytes of a file


class Submission(NamedTuple):
    student: str
    exercise: str
    path: Path | None                                # None: it was not handed in

    @property
    def file(self):
        """The file's name, to be shown."""
        return printable(self.path.name) if self.path else ""

    @property
    def problem(self):
        """Why it is not even run, or None."""
        if self.path.is_symlink():
            return f"{self.file} is a link, not a file"
        if self.path.stat().st_size > LARGEST:
            return f"{self.file} has {self.path.stat().st_size / 2**20:.0f} MB; {LARGEST // 2**20} are allowed"
        return None


def found(folder, exercise=None, student=None):
    """(submissions, a sentence for each file or folder that is not marked)

    `student`: whose they are, all of them, where a system has sorted them already.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise CourseError(f"{folder} is not a folder; name the one with the submissions")
    known, unmarked, names = [], [], Names()
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".py", ".ipynb") or hidden(path.relative_to(folder)) or not path.is_file():
            continue
        match = EXERCISE.search(path.stem)
        of = exercise or (f"ex{int(match[1]):02d}" if match else None)
        if of is None:
            unmarked.append(f"{path} has no exercise in its name")
            continue
        inside = path.parent.relative_to(folder).parts
        whose = "/".join(inside) or (path.stem[: match.start()] if match else path.stem).strip("_- ") or path.stem
        submission = Submission(student or names[whose], of, path)
        if exercise and match and f"ex{int(match[1]):02d}" != exercise:
            continue
        if sum((other.student, other.exercise) == (submission.student, of) for other in known) >= MOST:
            unmarked.append(f"{path} is one too many: {MOST} files of one student and exercise are marked")
        else:
            known.append(submission)
    if not known and student is None:
        raise CourseError(f"{folder} has no file of an exercise, such as NAME/ex05_attention.py; or give --exercise")
    unmarked += [f"{path} has no file to mark" for path in without_files(folder, known)]
    return known, [printable(sentence) for sentence in unmarked]


def without_files(folder, submissions):
    """The folders of students who handed in nothing that is marked."""
    there = {submission.path.relative_to(folder).parts[0] for submission in submissions}
    return [path for path in sorted(Path(folder).iterdir())
            if path.is_dir() and path.name not in there and not hidden(path.relative_to(folder))]  # fmt: skip


def not_handed_in(submissions, exercises, students=()):
    """A Submission without a file for each exercise that a student did not hand in; `students`: further names."""
    handed_in = {(submission.student, submission.exercise) for submission in submissions}
    names = dict.fromkeys([student for student, _ in handed_in] + [one_line(student) for student in students])
    every = (Submission(student, exercise, None) for student in names for exercise in exercises)
    return [absent for absent in every if (absent.student, absent.exercise) not in handed_in]


def hidden(path):
    """Files that a system makes for itself: .ipynb_checkpoints, __MACOSX, ._name.py"""
    return any(part.startswith(".") or part == "__MACOSX" for part in path.parts)
