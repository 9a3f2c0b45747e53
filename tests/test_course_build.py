"""What `make course` and the wheel's build make, and that nothing in it is what a student must not see."""

import json
import os
import re
import shlex
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import nbformat
import pytest
import yaml

from exercises import build, exports, handbook, public
from exercises.percent import notebook_of
from exercises.source import HERE, sources
from minalbert import commands
from minalbert_course import catalogue, ending, files, handout
from minalbert_course.draw import PUBLIC, draws

TERM = "a secret of this test"
ALL = [pytest.param(source, id=source.path.stem) for source in sources()]
NEVER = ("BEGIN SOLUTION", "END SOLUTION", "### HINT", TERM)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The exports of one term, without the instructor's notebooks, which are the only ones to hold answers."""
    folder = tmp_path_factory.mktemp("course")
    wheel = exports.wheel(folder)
    exports.student(folder / "student", TERM)
    exports.nbgrader(folder / "nbgrader", TERM)
    exports.gradescope(folder / "gradescope", TERM, wheel)
    exports.classroom(folder / "classroom", TERM, wheel)
    return folder


def lines_of_solutions():
    """Lines that say something: long enough not to be anybody's."""
    for source in sources():
        outside = {normal(line) for line in handout.SOLUTION.sub("", source.text).splitlines()}
        for _, body in handout.SOLUTION.findall(source.text):
            for line in map(normal, body.splitlines()):
                if len(line) > 12 and not line.startswith("#") and line not in outside:
                    yield source.lesson.name, line


def normal(line):
    return re.sub(r"\s+", "", line)


def texts(folder):
    """(name, lines) of every file a student gets, those in wheels and notebooks included."""
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    if name.endswith((".py", ".ipynb", ".json")):
                        yield f"{path.name}/{name}", archive.read(name).decode()
        elif path.is_file():
            yield path.name, path.read_text(encoding="utf-8")


def code_of(name, text):
    if name.endswith(".ipynb"):
        return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    return text


def test_the_wheel_carries_what_students_start_from(built, tmp_path, monkeypatch):
    """A checkout makes the same files from the sources: none of them is committed."""
    made = handout.made_from(handout.SOURCES)
    assert made.keys() == {source.path.name for source in sources()} | {"hints.json"}
    assert handout.handed_out() == made
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if name.startswith("minalbert_course/student/")]
        assert {Path(name).name: archive.read(name).decode() for name in names} == made
        archive.extractall(tmp_path)
    monkeypatch.setattr(handout, "BUILT", tmp_path / "minalbert_course" / "student")
    (handout.BUILT / "__pycache__").mkdir()  # which pip makes there
    assert handout.handed_out() == made


def test_why_no_wheel_was_built_is_shown_and_the_earlier_one_stays(tmp_path, monkeypatch, capfd):
    earlier = tmp_path / "minalbert-1.0-py3-none-any.whl"
    earlier.touch()
    (tmp_path / "exercises").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "of no version"\n')
    monkeypatch.setattr(exports, "HERE", tmp_path / "exercises")
    with pytest.raises(subprocess.CalledProcessError):
        exports.wheel(tmp_path)
    assert "version" in capfd.readouterr().err
    assert earlier.exists()


def test_a_wheel_can_be_built_from_the_sdist(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(tmp_path)]
    subprocess.run([*command, "-t", "sdist"], cwd=HERE.parent, check=True, capture_output=True)
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    assert (tmp_path / sdist.name[:-7] / "examples" / "albert_in_one_file.py").exists()
    subprocess.run([*command, "-t", "wheel"], cwd=tmp_path / sdist.name[:-7], check=True, capture_output=True)
    assert zipfile.ZipFile(tmp_path / wheel.name).namelist() == zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize("source", ALL)
def test_a_students_file_and_notebook_are_the_source_without_its_solution(source):
    stem, text = source.path.stem, source.student()
    assert files.untouched(source.lesson) == (f"{stem}.py", text)
    name, notebook = files.untouched(source.lesson, notebook=True)
    assert name == f"{stem}.ipynb"
    ours, theirs = nbformat.reads(notebook, as_version=4), notebook_of(text)  # theirs is jupytext's
    nbformat.validate(ours)
    assert [(cell.cell_type, cell.source) for cell in ours.cells] == [
        (cell.cell_type, cell.source) for cell in theirs.cells
    ]


def test_the_catalogue_says_what_the_lessons_say():
    assert handbook.CATALOGUE.read_text(encoding="utf-8") == handbook.text(), "make course"


def test_no_student_file_holds_a_line_of_a_solution(built):
    """Checks the student's files, classroom's repositories, and the exercises that the wheel carries."""
    secret = list(lines_of_solutions())
    assert len(secret) > 200
    looked_at = 0
    for folder in ("student", "classroom"):
        for name, text in texts(built / folder):
            ours = "/" in name and "minalbert_course/student/" not in name
            if ours or name.endswith("hints.json"):
                continue  # the library itself, whose answers are public; hints, which near them
            looked_at += 1
            assert not any(word in text for word in NEVER), name
            held = {normal(line) for line in code_of(name, text).splitlines()}
            for exercise, line in secret:
                assert line not in held, f"{name} holds a line of {exercise}'s solution: {line}"
    assert looked_at > 2 * len(catalogue.chosen())


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """`make course WITHOUT_SOLUTIONS=1`"""
    folder = tmp_path_factory.mktemp("public")
    (folder / ".git").mkdir()
    (folder / ".git" / "history").write_text("theirs")
    for old in ("python/ex99.py", "minalbert-0.0-py3-none-any.whl"):
        (folder / old).parent.mkdir(exist_ok=True)
        (folder / old).write_text("an earlier build's")
    public.publish(folder, TERM)
    return folder


def test_what_is_published_holds_no_solution(published):
    (wheel,) = published.glob("*.whl")
    assert {path.name for path in published.iterdir()} == {
        ".git", "README.md", "minalbert-course.json", "notebooks", "python", wheel.name}  # fmt: skip
    names = {lesson.name for lesson in catalogue.chosen(TERM).values()}
    assert {catalogue.find(path.stem).name for path in (published / "python").glob("*.py")} == names
    assert (published / ".git" / "history").read_text() == "theirs"
    secret, looked_at = {line for _, line in lines_of_solutions()}, 0
    for name, text in texts(published):
        assert TERM not in text
        if (".whl/" in name and "minalbert_course/student/" not in name) or name.endswith("hints.json"):
            continue
        looked_at += 1
        assert not any(word in text for word in NEVER), name
        assert not secret & {normal(line) for line in code_of(name, text).splitlines()}, name
    assert looked_at > 3 * len(names)  # the files, the notebooks, and all that the wheel carries


@pytest.mark.parametrize("where", ["notes.md", "answers/mine.ipynb", "mine.zip"])
@pytest.mark.parametrize("stem", ["ex05_attention", "ex03_rms"])
def test_a_folder_with_a_solution_is_not_published(tmp_path, monkeypatch, where, stem):
    source = next(source for source in sources() if source.path.stem == stem)
    path = tmp_path / where
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".zip":  # as a wheel with it among the course's own code
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("minalbert_course/lessons/mine.py", source.solution())
    else:
        text = source.solution() if path.suffix == ".md" else files.as_notebook(source.solution())
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(exports, "student", lambda *_: None)
    monkeypatch.setattr(exports, "wheel", lambda *_: None)
    says = f"is not to be published: {where}.* holds a piece of {source.lesson.name}'s solution"
    with pytest.raises(handout.SourceError, match=says):
        public.publish(tmp_path, TERM)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_build_that_is_refused_changes_nothing(tmp_path, monkeypatch):
    """Nobody must publish what it had written before it looked."""
    before = {"public/python/ex99.py": "an earlier build's", "public/minalbert-0.0-py3-none-any.whl": "theirs"}
    for name, text in before.items():
        exports.put(tmp_path / name, text)
    solution = EX05.solution()
    monkeypatch.setattr(exports, "student", lambda folder, term: exports.put(folder / "python" / "ex05.py", solution))
    monkeypatch.setattr(exports, "wheel", lambda *_: None)
    with pytest.raises(handout.SourceError, match=r"is not to be published: python/ex05\.py holds a piece of ex05's"):
        public.publish(tmp_path / "public", TERM)
    assert contents(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["public"]


@pytest.mark.parametrize("make", [build.course, public.publish])
def test_an_earlier_terms_file_that_cannot_be_removed_stops_a_build(tmp_path, monkeypatch, make):
    """As on Windows, where somebody has it open: it would be handed out among this term's."""
    for what in ("wheel", "student", "nbgrader", "gradescope", "classroom", "container", "instructor"):
        monkeypatch.setattr(exports, what, lambda *_: None)
    unlink, path = os.unlink, tmp_path / ("student/python" if make is build.course else "python") / "ex99.py"
    make(tmp_path, TERM)  # where there is no earlier one
    exports.put(path, "an earlier term's")

    def refuse(name, **more):
        if Path(name).name == path.name:
            raise PermissionError(13, "another program has it open", str(name))
        unlink(name, **more)

    monkeypatch.setattr(os, "unlink", refuse)
    with pytest.raises(PermissionError, match="another program has it open"):
        make(tmp_path, TERM)


def test_the_wheel_holds_no_source_no_wrong_answer_and_no_rubric(built):
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {"minalbert_course/student/hints.json", "minalbert_course/outside/ex13/model.safetensors"} <= set(names)
    assert not [name for name in names if not name.startswith(("minalbert/", "minalbert_course/", "minalbert-"))]


def test_a_container_is_built_of_the_wheel_alone(built, tmp_path):
    (wheel,) = built.glob("*.whl")
    exports.container(tmp_path, wheel)
    assert {path.name for path in tmp_path.iterdir()} == {"Dockerfile", wheel.name}
    text = (tmp_path / "Dockerfile").read_text(encoding="utf-8")
    assert "COPY minalbert-*.whl /wheels/\n" in text
    assert " /course\n" in text  # where `container.command` looks for the worker
    assert text.endswith("USER 65534:65534\n")


def test_the_terms_secret_is_in_gradescopes_zips_alone(built):
    for name, text in texts(built):
        assert TERM not in text, name
    with zipfile.ZipFile(built / "gradescope" / "ex05.zip") as archive:
        assert archive.read("term.txt").decode() == TERM
        assert "--term-file /autograder/source/term.txt --trust" in archive.read("run_autograder").decode()
        for name in ("setup.sh", "run_autograder"):
            assert archive.getinfo(name).external_attr >> 16 & 0o111, f"{name} cannot be executed"
            assert archive.read(name).startswith(b"#!/usr/bin/env bash\n")


def test_hidden_numbers_are_others_but_for_the_first_draw():
    for lesson in catalogue.all_lessons().values():
        for check in lesson.checks:
            public, hidden = ([draw.seed for draw in draws(term, lesson, check)] for term in (PUBLIC, TERM))
            assert (len(public), len(hidden), len({*public, *hidden})) == (2, 2, 3)
            assert hidden[0] == public[0]


def test_terms_have_variants_of_their_own():
    chosen = [tuple(lesson.name for lesson in catalogue.chosen(f"term {n}").values()) for n in range(40)]
    assert len(set(chosen)) > 8
    assert {name for names in chosen for name in names} == catalogue.all_lessons().keys()
    assert [lesson.name for lesson in catalogue.chosen(PUBLIC).values()] == [f"ex{n:02d}" for n in range(1, 16)]
    assert set(catalogue.chosen(TERM)) == {f"ex{n:02d}" for n in range(1, 16)}


def test_classrooms_workflow_gives_points_in_parts(built):
    for lesson in catalogue.chosen(TERM).values():
        path = built / "classroom" / lesson.exercise / ".github" / "workflows" / "classroom.yml"
        (job,) = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
        steps = {step["id"]: step["with"] for step in job["steps"] if "id" in step}
        assert sum(step["max-score"] for step in steps.values()) == 10
        assert [step["test-name"] for step in steps.values()] == [check.title for check in lesson.checks]
        reporter = job["steps"][-1]
        assert reporter["with"]["runners"].split(",") == list(steps)
        assert reporter["env"].keys() == {f"{name.upper()}_RESULTS" for name in steps}


EX05 = next(source for source in sources() if source.path.stem == "ex05_attention")


@pytest.mark.parametrize(
    ("text", "points"),
    [
        (EX05.solution(), 10),
        (EX05.student(), 0),
        ("import nothing_of_the_kind\n", 0),
        (EX05.solution().replace("return y * (dy", "return dy * (y"), 5),
    ],
    ids=["perfect", "empty", "broken", "half right"],
)
def test_the_commands_of_that_workflow_pass_and_fail_as_their_checks_do(tmp_path, monkeypatch, text, points):
    """As GitHub Classroom runs them: a step earns its points if its command ends with 0."""
    monkeypatch.chdir(tmp_path)
    Path(EX05.path.name).write_text(text, encoding="utf-8")
    steps = yaml.safe_load(exports.workflow(EX05.lesson))["jobs"]["autograding"]["steps"]
    earned = 0
    for step in (step["with"] for step in steps if "id" in step):
        program, *argv = shlex.split(step["command"])
        assert program == "minalbert"
        earned += step["max-score"] * (commands.main(argv) == 0)
    assert earned == points


@pytest.mark.parametrize("source", ALL)
def test_an_instructors_notebook_runs_and_scores_all(source, tmp_path, monkeypatch, capsys):
    """By Python; `make course` runs them in Jupyter."""
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__"}
    exec(compile(source.solution(), source.path.name, "exec"), namespace)
    assert " 10 / 10" in capsys.readouterr().out


def test_nbgrader_and_classrooms_wait_until_a_check_has_ended_an_endless_loop(built):
    """Else nbgrader would stop the whole notebook, and a classroom would show no reason."""
    text = (built / "nbgrader" / "nbgrader_config.py").read_text(encoding="utf-8")
    assert int(re.search(r"ExecutePreprocessor\.timeout = (\d+)", text)[1]) >= ending.SECONDS + 30
    (minutes,) = set(re.findall(r"timeout: (\d+)", exports.workflow(EX05.lesson)))
    assert 60 * int(minutes) >= ending.SECONDS + 30


def test_a_person_marks_the_question_and_exercise_11s_sweep(built):
    for lesson in catalogue.chosen(TERM).values():
        (path,) = (built / "nbgrader" / "source" / lesson.exercise).glob("*.ipynb")
        cells = nbformat.read(path, as_version=4).cells
        by_hand = [cell for cell in cells if cell.cell_type == "markdown" and cell.metadata.nbgrader.grade]
        assert [cell.metadata.nbgrader.points for cell in by_hand] == [3] * (1 + (lesson.exercise == "ex11"))
    assert "## The sweep (3 points)" in (HERE / "rubrics" / "ex11.md").read_text(encoding="utf-8")


def test_every_exercise_has_a_rubric_with_three_answers():
    for exercise in catalogue.chosen():
        text = (HERE / "rubrics" / f"{exercise}.md").read_text(encoding="utf-8")
        assert "## The question" in text
        assert len(re.findall(r"\b[0-3](?:-1)? points?\b", text)) >= 3, exercise


def test_what_is_wrong_with_a_source_is_said(tmp_path):
    from exercises.source import Source

    path = tmp_path / "ex05_attention.py"
    path.write_text("def f():\n    ### BEGIN SOLUTION\n    pass\n")
    with pytest.raises(handout.SourceError, match=re.escape("BEGIN and END SOLUTION do not take turns")):
        Source(path).student()


def test_the_instructors_order_has_every_exercise_and_every_notebook_once():
    page = (HERE / "INSTRUCTOR.md").read_text(encoding="utf-8")
    rows = [row.split("|")[1:3] for row in page.split("| which hold |\n", 1)[1].split("\n\n")[0].splitlines()[1:]]
    exercises, notebooks = (re.findall(pattern, " ".join(column)) for pattern, column in
                            zip((r"ex\d\d", r"\b\d\d\b"), zip(*rows, strict=True), strict=True))  # fmt: skip
    assert exercises == [f"ex{number:02d}" for number in range(1, 16)]
    assert sorted(notebooks) == sorted(path.name[:2] for path in (HERE.parent / "notebooks").glob("[0-9]*.ipynb"))


def test_the_instructors_lines_find_a_secret_with_the_variants_wanted(tmp_path, monkeypatch):
    lines = (HERE / "INSTRUCTOR.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
    (tmp_path / "term.txt").write_text(TERM + "\n")
    (tmp_path / "repository").mkdir()
    monkeypatch.chdir(tmp_path / "repository")
    exec(lines, names := {})
    secret = (tmp_path / "term.txt").read_text()
    assert secret.startswith(TERM)
    assert names["wanted"] <= {lesson.name for lesson in catalogue.chosen(secret).values()}
