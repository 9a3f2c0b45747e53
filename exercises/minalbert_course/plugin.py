"""`pytest -m ex05`, in the folder with your file: one test for each check of that exercise."""

import re
from pathlib import Path

import pytest

EXERCISES = sorted(path.name for path in (Path(__file__).parent / "lessons").glob("ex[0-9][0-9]"))


def exercises(config):
    """Those that the -m expression selects: "ex05", "ex05 or ex06", but not "not ex05"."""
    expression = config.option.markexpr or ""
    return [name for name in EXERCISES if re.search(rf"\b{name}\b", expression) and holds(expression, name)]


def holds(expression, marker):
    """Evaluate a -m expression for a test that has this marker alone."""
    names = set(re.findall(r"[^\W\d]\w*", expression)) - {"and", "or", "not"}
    try:
        return bool(eval(expression, {"__builtins__": {}}, {name: name == marker for name in names}))
    except Exception:                                # of a grammar that only pytest knows
        return False


def pytest_configure(config):
    for name in EXERCISES:
        config.addinivalue_line("markers", f"{name}: checks of minalbert's exercise {name}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    if not exercises(config):
        return
    from .catalogue import find

    added = []
    for name in exercises(config):
        host = File(find(name), next((arg for arg in config.args if Path(arg).is_dir()), config.invocation_params.dir))
        added += [
            CheckItem.from_parent(session, name=f"{name}[{check.title}]", nodeid=f"{name}[{check.title}]", file=host,
                                  number=number)
            for number, check in enumerate(host.lesson.checks)
        ]  # fmt: skip
    items += added
    config.hook.pytest_collectreport(report=pytest.CollectReport("minalbert exercises", "passed", None, added))


class File:
    """The student's file, marked when the first test asks, in the time that `minalbert exercise check` gives it."""

    def __init__(self, lesson, folder):
        from .errors import CourseError
        from .files import locate

        self.folder, self._marks = folder, None
        try:
            self.path = locate(lesson, folder=folder)
        except CourseError as error:
            raise pytest.UsageError(str(error)) from None
        from .progress import lesson_of

        self.lesson = lesson_of(lesson.name, self.path)

    @property
    def marks(self):
        if self._marks is None:
            from .ending import SECONDS, ended_after
            from .errors import CourseError
            from .marking import mark_and_explain, no_marks
            from .progress import marks_of

            try:
                with ended_after(SECONDS, self.path.name):
                    self._marks = marks_of(self.lesson, self.path, how=mark_and_explain)
            except CourseError as error:             # each test says so; none of them runs the file again
                self._marks = no_marks(self.lesson, str(error))
        return self._marks


class Missed(Exception):
    pass


class CheckItem(pytest.Item):
    def __init__(self, *, file, number, **kwargs):
        super().__init__(**kwargs)
        self.file, self.number = file, number
        self.add_marker(file.lesson.exercise)

    def runtest(self):
        outcome = self.file.marks.outcomes[self.number]
        if outcome.seen:
            raise Missed(outcome)

    def repr_failure(self, excinfo, style=None):
        if not isinstance(excinfo.value, Missed):
            return super().repr_failure(excinfo, style)
        from .report import explained

        outcome = excinfo.value.args[0]
        return "\n".join([f"[0/{outcome.check.points:g}]", *explained(self.file.lesson, outcome)])

    def reportinfo(self):
        return str(self.file.path), None, self.name
