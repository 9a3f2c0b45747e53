"""One set of exercises for three systems, and for none: what `make course` writes.

    student/        files, or notebooks, to hand out
    instructor/     notebooks with the answers, executed
    nbgrader/       a course directory: source notebooks and nbgrader_config.py
    gradescope/     a zip for each exercise
    classroom/      a template repository for each exercise, with GitHub Classroom's workflow
    container/      what `minalbert grade --container` runs submissions in

A term's secret chooses variants, and the numbers that graders check with; it goes into Gradescope's zips alone.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from minalbert_course.catalogue import chosen
from minalbert_course.draw import PUBLIC
from minalbert_course.files import ANSWER
from minalbert_course.notebook import as_notebook
from minalbert_course.progress import INSIDE, TERM, term_text

from .percent import executed, notebook_of, notebook_text
from .source import HERE, sources

QUESTION_POINTS = 3

NBGRADER_CONFIG = """\
c = get_config()
c.CourseDirectory.course_id = "minalbert"
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError('not written yet')"}
c.ExecutePreprocessor.timeout = 180  # a check ends an endless loop after 120
"""

SETUP = """\
#!/usr/bin/env bash
# Ubuntu 22.04 has Python 3.10; minalbert needs 3.11.
set -e
apt-get update
apt-get install -y python3.11 python3.11-venv || apt-get install -y python3 python3-venv
"$(command -v python3.11 || command -v python3)" -m venv /autograder/venv
/autograder/venv/bin/pip install "$(echo /autograder/source/minalbert-*.whl)[grade]"
"""

RUN = """\
#!/usr/bin/env bash
cd /autograder
/autograder/venv/bin/minalbert grade submission --exercise {exercise} {term}--gradescope results/results.json
"""

DOCKERFILE = """\
FROM python:3.12-slim
COPY minalbert-*.whl /wheels/
RUN pip install --no-cache-dir "$(echo /wheels/minalbert-*.whl)[grade]"
RUN ln -s "$(python -c 'import minalbert_course as course; print(course.__path__[0])')" /course
ENV OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
USER 65534:65534
"""

WORKFLOW = """\
name: Autograding
on: [push, workflow_dispatch]
permissions:
  checks: write
  actions: read
  contents: read
jobs:
  autograding:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install ./minalbert-*.whl
{steps}
      - uses: education/autograding-grading-reporter@v1
        env:
{results}
        with:
          runners: {runners}
"""

STEP = """\
      - id: {id}
        uses: education/autograding-command-grader@v1
        with:
          test-name: {title}
          command: {command}
          timeout: 3
          max-score: {points:g}"""

STUDENT_README = """\
# Exercises

You need Python 3.11 or later and minalbert: `pip install minalbert-....whl`, the wheel you were given. Write into the
files of `python`, or if you like Jupyter better into those of `notebooks`; here, or in a copy of that folder, with its
`minalbert-course.json`, which says which exercises your course has. In that folder:

    minalbert exercise list                       your points, and the next step
    minalbert exercise check ex05                 points, and why they are missing
    minalbert exercise hint ex05                  a hint for what is not right yet
    minalbert exercise hint ex05 2                and a clearer one
    minalbert exercise start ex05                 the file once more, in a folder without it
"""

README = """\
# {title}

Write your answers into `{file}`. Then, with Python 3.11 or later:

    pip install ./minalbert-*.whl
    minalbert exercise check {exercise}
"""


def term_sources(term=PUBLIC):
    """The source of each exercise, or of the variant that the term has in its place."""
    names = {lesson.name for lesson in chosen(term).values()}
    return [source for source in sources() if source.lesson.name in names]


def student(folder, term):
    """Python files or notebooks: whichever one likes better."""
    put(folder / "README.md", STUDENT_README)
    for each in (folder, *(folder / inside for inside in INSIDE)):
        put(each / TERM, term_text(chosen(term).values()))
    for source in term_sources(term):
        text = source.student()
        put(folder / "python" / f"{source.path.stem}.py", text)
        put(folder / "notebooks" / f"{source.path.stem}.ipynb", as_notebook(text))


def instructor(folder, term):
    """Executed where this runs; a cell that fails stops the build."""
    for source in term_sources(term):
        put(folder / f"{source.path.stem}.ipynb", notebook_text(executed(notebook_of(source.solution()))))


def nbgrader(folder, term):
    put(folder / "nbgrader_config.py", NBGRADER_CONFIG)
    for source in term_sources(term):
        notebook = notebook_of(source.with_markers())
        name = source.lesson.exercise
        for number, cell in enumerate(notebook.cells):
            how = {"solution": False, "grade": False, "locked": True, "task": False}
            if "### BEGIN SOLUTION" in cell.source:
                how |= {"solution": True, "locked": False}
            elif cell.source.strip() == ANSWER:
                how |= {"solution": True, "grade": True, "locked": False, "points": QUESTION_POINTS}
            elif "check(" in cell.source and cell is notebook.cells[-1]:
                how |= {"grade": True, "points": source.lesson.points}
            cell.metadata["nbgrader"] = {"schema_version": 3, "grade_id": f"{name}-{number}"} | how
        put(folder / "source" / name / f"{source.path.stem}.ipynb", notebook_text(notebook))


def gradescope(folder, term, wheel):
    folder.mkdir(parents=True, exist_ok=True)
    for source in term_sources(term):
        exercise = source.lesson.exercise
        how = "" if term == PUBLIC else "--term-file /autograder/source/term.txt --trust "
        with zipfile.ZipFile(folder / f"{exercise}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.write(wheel, wheel.name)
            executable(archive, "setup.sh", SETUP)
            executable(archive, "run_autograder", RUN.format(exercise=exercise, term=how))
            if term != PUBLIC:
                archive.writestr("term.txt", term)


def container(folder, wheel):
    """For podman build, and docker build."""
    put(folder / "Dockerfile", DOCKERFILE)
    shutil.copy(wheel, folder / wheel.name)


def executable(archive, name, text):
    entry = zipfile.ZipInfo(name)
    entry.external_attr = 0o100755 << 16
    archive.writestr(entry, text)


def classroom(folder, term, wheel):
    for source in term_sources(term):
        lesson, file = source.lesson, f"{source.path.stem}.py"
        home = folder / lesson.exercise
        put(home / file, source.student())
        put(home / TERM, term_text([lesson]))
        put(home / "README.md", README.format(title=lesson.title.capitalize(), file=file, exercise=lesson.exercise))
        put(home / ".github" / "workflows" / "classroom.yml", workflow(lesson))
        shutil.copy(wheel, home / wheel.name)


def workflow(lesson):
    """A step for each check, so that points are given in parts."""
    steps, names = [], []
    for number, check in enumerate(lesson.checks, 1):
        names.append(f"check-{number}")
        command = f"minalbert exercise check {lesson.exercise} --only {shlex.quote(check.title)}"
        title, command = (json.dumps(text, ensure_ascii=False) for text in (check.title, command))
        steps.append(STEP.format(id=names[-1], title=title, command=command, points=check.points))
    results = [f"          {name.upper()}_RESULTS: ${{{{ steps.{name}.outputs.result }}}}" for name in names]
    return WORKFLOW.format(steps="\n".join(steps), results="\n".join(results), runners=",".join(names))


def wheel(folder):
    """Build minalbert's wheel into the folder, from which systems install it, and remove older wheels.

    If the build fails, hatchling says why, and the older wheel stays.
    """
    with tempfile.TemporaryDirectory() as made:
        command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", made]
        subprocess.run(command, cwd=HERE.parent, check=True, env=os.environ | {"HATCH_QUIET": "1"})
        (new,) = Path(made).glob("minalbert-*.whl")
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("minalbert-*.whl"):
            old.unlink()
        return Path(shutil.move(new, folder))


def put(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
