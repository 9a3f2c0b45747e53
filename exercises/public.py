"""The course as it may be published: what students get, and no line of a solution.

    make course WITHOUT_SOLUTIONS=1              build/public

The folder can be a repository of its own: another build leaves its history alone. The library, inside the wheel, is
looked at by nobody here: it is what the base exercises rebuild, and INSTRUCTOR.md says so.
"""

import json
import re
import shutil
import tempfile
import zipfile
from pathlib import Path

from minalbert_course import handout
from minalbert_course.progress import INSIDE

from . import exports
from .source import sources

LONG = 12                                            # letters of a line that says something
RUN = 4                                              # lines of a solution, one after the other, where few are chance
NEVER = ("BEGIN SOLUTION", "END SOLUTION", "### HINT")


def publish(out, term):
    """Make everything in a folder beside `out`; move it there if no solution is in it, nor in what stays in `out`."""
    beside = out.resolve().parent
    beside.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"{out.resolve().name}-", dir=beside) as folder:
        made = Path(folder)
        exports.student(made, term)
        exports.wheel(made)
        new = [path.name for path in made.iterdir()]
        replaced = {*new, *INSIDE, *(wheel.name for wheel in out.glob("minalbert-*.whl"))}
        if found := [*solutions_in(made), *solutions_in(out, replaced)]:
            raise handout.SourceError(f"{out} is not to be published: {'; '.join(found[:3])}")
        out.mkdir(exist_ok=True)
        for name in replaced:
            remove(out / name)
        for name in new:
            shutil.move(made / name, out / name)


def remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def solutions_in(folder, without=()):
    """A sentence for every place in a folder, and in the wheels in it, that holds a solution. without: names to skip

    In the course's own code a line may be a solution's by chance, and a run of lines may not.
    """
    bodies = list(solutions())
    alone = {line: name for name, body in bodies for line in body if len(line) > LONG}
    runs = {"\n".join(body[i : i + RUN]): name for name, body in bodies for i in range(max(1, len(body) - RUN + 1))}
    for where, text in texts(folder, without):
        lines = code_lines(where, text)
        if "minalbert_course/" in where and "minalbert_course/student/" not in where:
            whole = "\n".join(("", *lines, ""))
            held = [(run, name) for run, name in runs.items() if len(run) > 3 * LONG and f"\n{run}\n" in whole]
        else:
            held = [(line, alone[line]) for line in lines if line in alone]
            held += [(word, "some source") for word in NEVER if word in text]
        yield from (f"{where} holds a piece of {name}'s solution: {piece}" for piece, name in held)


def solutions():
    """(exercise, its lines) of each function that is to be written, lines that the student is given left out."""
    for source in sources():
        given = {normal(line) for line in handout.SOLUTION.sub("", source.text).splitlines()}
        for _, body in handout.SOLUTION.findall(source.text):
            yield source.lesson.name, [line for line in code_lines("", body) if line not in given]


def code_lines(where, text):
    if where.endswith(".ipynb"):
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    lines = map(normal, text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def normal(line):
    return re.sub(r"\s+", "", line)


def texts(folder, without):
    """(place, text) of every file, those in wheels and zips too, without the library, and without hints."""
    for path in sorted(Path(folder).rglob("*")):
        where = path.relative_to(folder)
        if where.parts[0] in (".git", *without) or not path.is_file():
            continue
        if path.suffix not in (".whl", ".zip"):
            yield where.as_posix(), path.read_text(encoding="utf-8", errors="replace")
            continue
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith((".py", ".ipynb")) and not name.startswith("minalbert/"):
                    yield f"{where.as_posix()}/{name}", archive.read(name).decode()
