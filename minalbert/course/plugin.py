"""`pytest -m ex05`, in the folder with your file: one test for each check of that exercise."""

import re

import pytest


def exercises(config):
    """Those that the -m expression names."""
    return re.findall(r"\bex\d\d\b", config.option.markexpr or "")


def pytest_configure(config):
    for number in range(1, 14):
        config.addinivalue_line("markers", f"ex{number:02d}: checks of minalbert's exercise {number}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    if not exercises(config):
        return
    from .catalogue import find

    added = []
    for name in exercises(config):
        host = File(find(name), config.invocation_params.dir)
        added += [
            CheckItem.from_parent(session, name=f"{name}[{check.title}]", nodeid=f"{name}[{check.title}]", file=host,
                                  number=number)
            for number, check in enumerate(host.lesson.checks)
        ]  # fmt: skip
    items += added
    config.hook.pytest_collectreport(report=pytest.CollectReport("minalbert exercises", "passed", None, added))


class File:
    """The student's file, marked when the first test asks."""

    def __init__(self, lesson, folder):
        from .errors import CourseError
        from .files import locate

        self.folder, self._marks = folder, None
        try:
            self.path = locate(lesson, folder=folder)
        except CourseError as error:
            raise pytest.UsageError(str(error)) from None
        from .command import lesson_of

        self.lesson = lesson_of(lesson.name, self.path)

    @property
    def marks(self):
        if self._marks is None:
            from .command import marks_of

            self._marks = marks_of(self.lesson, self.path)
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
