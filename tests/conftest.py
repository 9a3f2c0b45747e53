"""Which device the tests run on.

A test that takes `device` runs on the CPU, on a GPU where there is one, and everywhere on a pretended GPU;
that computes with NumPy but keeps host and device as far apart as CuPy does.
"""

import os
import re
import shutil
import sys
from pathlib import Path

import fake_cupy
import pytest
from hypothesis import settings
from planted import OF_THE_DAY, THIRDS

from minalbert.backend import cuda_missing

sys.path.append(str(Path(__file__).parent.parent))  # for `exercises`; last, so that a minalbert from elsewhere stays

# Tests whose names have the same groups here share what takes long to make: the site, mutants, the marks of a solution.
TOGETHER = re.compile(r"(.*test_(?:site|nbgrader|mutants)\.py)|(.*test_course_exercises\.py)::\w+\[(ex\d\d)")

settings.register_profile(  # no test asserts a time: a busy machine is no mistake; in CI the same examples each time
    "minalbert", deadline=None, derandomize="CI" in os.environ
)
settings.load_profile("minalbert")


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        choices=("cpu", "cuda", "pretended"),
        help="run the device tests on this one only (default: on all; skipped, with the reason, without a GPU)",
    )
    parser.addoption(
        "--planted",
        choices=("all", *THIRDS),
        default=OF_THE_DAY,
        help="which mistakes are planted, in the library and in exercises: all, or a third (default: that of the day)",
    )
    parser.addoption("--kills", type=int, default=50, help="how often to kill a training run (default: 50)")


def pytest_report_header(config):
    wanted = config.getoption("planted")
    third = "all of them" if wanted == "all" else f"the {wanted} third"
    return f"planted mistakes: {third} (--planted first, second, last or all)"


@pytest.hookimpl(optionalhook=True)  # without pytest-xdist there is no such hook
def pytest_xdist_make_scheduler(config, log):
    """Give tests with the same groups of TOGETHER to one process, the largest first, and each other test to any."""
    if config.getoption("dist") != "load":  # which -n alone means
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Scheduler(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            together = TOGETHER.match(nodeid)
            return "".join(filter(None, together.groups())) if together else nodeid

    return Scheduler(config, log)


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        only = metafunc.config.getoption("--device")
        metafunc.parametrize("device", [only] if only else ["cpu", "cuda", "pretended"], indirect=True)


@pytest.fixture
def device(request, monkeypatch):
    if request.param == "pretended":
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
        return "cuda"
    if request.param == "cuda" and (reason := cuda_missing()):
        pytest.skip(f"no GPU: {reason}")
    return request.param


@pytest.fixture
def cut_often(monkeypatch):
    """Slices and parts wherever one token is saved."""
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_MORE", 32)
    monkeypatch.setattr("minalbert.parallel.slices.WORTH_A_PART", 1)


@pytest.fixture(scope="session")
def chromium():
    """Chromium without internet: no name is found but this machine's."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        pytest.skip("there is no Chromium on the path")
    arguments = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]  # containers have little of the latter
    arguments += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """A function that opens a page of pictures in Chromium; the page may say nothing and ask for nothing."""
    said = []

    def open_page(*pictures, width=1000):
        text = "\n".join(one._repr_html_() for one in pictures)
        (tmp_path / "page.html").write_text(f"<!doctype html><meta charset='utf-8'>{text}", encoding="utf-8")
        page = chromium.new_page(viewport={"width": width, "height": 800})
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: said.append(request.url) if "page.html" not in request.url else None)
        page.goto((tmp_path / "page.html").as_uri())
        return page

    yield open_page
    assert said == []
