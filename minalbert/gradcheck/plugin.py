"""`pytest --gradcheck`, in any repository that has minalbert installed.

    pytest --gradcheck           also check every entry of every gradient of minalbert, one test per case
    pytest --gradcheck=report    the same, and print the table

The fixture `gradcheck` checks a pair of your own: one random direction per tensor, or every entry with the flag.

    def test_swish(gradcheck):
        gradcheck(swish_forward, swish_backward, {"x": x})
"""

import pytest


def pytest_addoption(parser):
    """Two options without a value: one with a value would take the folder in `pytest --gradcheck tests`."""
    group = parser.getgroup("minalbert")
    for option, what in (
        ("--gradcheck", "check every entry of every hand-written gradient"),
        ("--gradcheck=report", "the same, and print a table of all of them"),
    ):
        group.addoption(option, dest="gradcheck", action="store_const", const=option, help=what)


def pytest_configure(config):
    if config.option.gradcheck == "--gradcheck=report":
        config.pluginmanager.register(Table())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    """Add minalbert's own cases, unless single tests were asked for by name."""
    if not config.option.gradcheck or any("::" in arg for arg in config.args):
        return
    from .cases import all_cases

    ours = []
    for case in all_cases():
        name = f"gradcheck[{case.name}]"
        ours.append(GradcheckItem.from_parent(session, name=name, nodeid=name, case=case))
    items += ours
    config.hook.pytest_collectreport(report=pytest.CollectReport("minalbert", "passed", None, ours))


class GradcheckItem(pytest.Item):
    def __init__(self, *, case, **kwargs):
        super().__init__(**kwargs)
        self.case = case

    def runtest(self):
        report = self.case.check()
        self.user_properties.append(("gradcheck", report.rows()))        # travels home from xdist's workers
        report.check()

    def repr_failure(self, excinfo, style=None):
        from .compare import GradientError

        if isinstance(excinfo.value, GradientError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return "minalbert", None, self.name


class Table:
    """Gathers what every item found, those of xdist's workers too, and prints it at the end."""

    def __init__(self):
        self.rows = []

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.rows += [row for name, rows in report.user_properties if name == "gradcheck" for row in rows]

    def pytest_terminal_summary(self, terminalreporter):
        if self.rows:
            from .table import lines

            terminalreporter.section("gradient check")
            for line in lines(self.rows):
                terminalreporter.write_line(line)


@pytest.fixture
def gradcheck(request):
    """Check a pair: gradcheck(forward, backward, {"x": x, "w": w}, static={"eps": 0.1}, constants=("mask",)).

    static: further keyword arguments; constants: float arguments without a gradient; also method="central"
    for functions that complex numbers cannot pass, name= and seed=. With --gradcheck every entry is checked.
    """
    from .checks import check_pair

    every_entry = request.config.option.gradcheck is not None

    def check(forward, backward, args, static=None, constants=(), **options):
        __tracebackhide__ = True
        report = check_pair(forward, backward, args, static, constants, entries=every_entry, **options)
        request.node.user_properties.append(("gradcheck", report.rows()))
        return report.check()

    return check
