"""`pytest --gradcheck`, in any repository that has minalbert installed.

    pytest --gradcheck           also check every entry of every gradient of minalbert, one test per case
    pytest --gradcheck=report    the same, and print the table

The fixture `gradcheck` checks a pair of your own: one random direction per tensor, or every entry with the flag.

    def test_swish(gradcheck):
        gradcheck(swish_forward, swish_backward, {"x": x})
"""

import pytest

OPTION = "--gradcheck"


def pytest_addoption(parser):
    parser.getgroup("minalbert").addoption(
        OPTION,
        nargs="?",
        const="check",
        metavar="report",
        help="check every entry of every hand-written gradient; --gradcheck=report prints the table",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config, args):
    """In `pytest --gradcheck tests`, tests is a folder, not the option's value."""
    args[:] = [f"{OPTION}=check" if arg == OPTION else arg for arg in args]


def pytest_configure(config):
    wanted = config.getoption(OPTION)
    if wanted not in (None, "check", "report"):
        raise pytest.UsageError(f"{OPTION}={wanted} is unknown: use {OPTION} or {OPTION}=report")
    if wanted == "report":
        config.pluginmanager.register(Table())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session, config, items):
    if config.getoption(OPTION):
        from .cases import all_cases

        for case in all_cases():
            name = f"gradcheck[{case.name}]"
            items.append(GradcheckItem.from_parent(session, name=name, nodeid=name, case=case))


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
    from .checks import check_pair

    every_entry = request.config.getoption(OPTION) is not None

    def check(forward, backward, args, static=None, constants=(), **options):
        __tracebackhide__ = True
        return check_pair(forward, backward, args, static, constants, entries=every_entry, **options).check()

    return check
