"""The page that runs Python in the reader's browser: its lessons, and, where Chromium is, the page itself.

MINALBERT_PYODIDE        a folder with Pyodide's core; without it, npm fetches the core once
MINALBERT_PYODIDE_NUMPY  NumPy's wheel for that Pyodide; no registry has one, and without it the page has to say so
"""

import contextlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from browsing import served

ROOT = Path(__file__).parent.parent
BROWSER = ROOT / "docs" / "browser"
PAGE = (BROWSER / "index.md").read_text(encoding="utf-8")
VERSION = re.search(r"pyodide/v([\d.]+)/", PAGE).group(1)
WORD_TABLES = "V×E + E×H = {:,}   V×H = 23,040,000"
WHOLE_MODEL = "trunk + pooler + heads                              11,813,810"
BREAKS = {
    "dy.T @ x": "looks like: transposed",
    "x.T @ dy / len(x)": "a constant factor: yours is 0.25 (1/4) times what is expected",
    "np.zeros_like(w)": "yours is zero everywhere: this path was never added",
}
NUMPY_ALONE = """
import sys, threading

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"safetensors", "tqdm", "threadpoolctl", "matplotlib", "sentencepiece"}:
            raise ImportError(f"{name} is not in the reader's browser")

sys.meta_path.insert(0, Hidden())
"""
NO_ARRAYS = """
from unittest.mock import MagicMock

__version__ = "2.without.arrays"

def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return MagicMock()
"""
COMPILES = """
import pathlib, sys, warnings
warnings.simplefilter("error")
files = [file for folder in sys.path for file in pathlib.Path(folder, "minalbert").rglob("*.py")]
for file in files:
    compile(file.read_text(encoding="utf-8"), str(file), "exec")
print(len(files), "files compile under Python", *sys.version_info[:2])
"""


def lesson(name, *change):
    source = (BROWSER / name).read_text(encoding="utf-8")
    assert not change or source.count(change[0]) == 1
    return source.replace(*change) if change else source


def broken(by):
    return lesson("check.py", "\n    dw = x.T @ dy\n", f"\n    dw = {by}\n")


def run(source):
    """What the page would show, but under the Python that runs this test."""
    then = "assert threading.active_count() == 1"
    script = f"{NUMPY_ALONE}\nfrom run import run\nprint(run({source!r}, 'lesson.py') or '')\n{then}"
    environment = os.environ | {"PYTHONPATH": f"{BROWSER}{os.pathsep}{ROOT}", "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], capture_output=True, encoding="utf-8", env=environment
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_lessons_need_numpy_alone_and_print_what_they_should():
    printed = run(lesson("count.py"))
    assert WORD_TABLES.format(3_938_304) in printed
    assert WHOLE_MODEL in printed
    assert "5.9 times fewer" in printed
    more = run(lesson("count.py", "E = 128", "E = 749"))
    assert WORD_TABLES.format(749 * 30_768) in more
    assert "1.0 times more" in more
    assert "the same" in run(lesson("count.py", "E = 128", "E = 768"))
    assert re.search(r"layer: 2 gradients right, largest relative error [\d.]+e-1\d", run(lesson("check.py")))


@pytest.mark.parametrize("by", BREAKS)
def test_the_lesson_offers_this_mistake_and_the_check_names_it(by):
    assert f"# dw = {by}\n" in lesson("check.py")
    assert BREAKS[by] in run(broken(by))


def test_a_mistake_is_told_by_the_readers_own_lines():
    said = run("from minalbert import PRESETS\n\ndef mine():\n    PRESETS['tiny'].replace(hidden_size=7)\n\nmine()")
    assert [line.strip() for line in said.splitlines() if "File" in line] == [
        'File "lesson.py", line 6, in <module>', 'File "lesson.py", line 4, in mine'
    ]  # fmt: skip
    assert said.rstrip().endswith("ConfigError: hidden_size 7 cannot be split evenly over 4 heads")
    assert "SyntaxError" in run("print(")
    assert "SystemExit" in run("raise SystemExit(3)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """(folder, address) of a site that holds this page alone."""
    pytest.importorskip("hatchling", reason="hatchling, which makes the wheel, is not installed")
    folder = tmp_path_factory.mktemp("site")
    specification = importlib.util.spec_from_file_location("stage", BROWSER / "stage.py")
    stage = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(stage)
    stage.stage(ROOT, folder)
    html = "\n".join(re.findall(r"```\{raw\} html\n(.*?)```", PAGE, flags=re.DOTALL))
    (folder / "index.html").write_text(f"<!doctype html><html lang=en><meta charset=utf-8>{html}", encoding="utf-8")
    with served(folder) as address:
        yield folder, address


class Page:
    def __init__(self, chromium, address):
        self.asked, context = [], chromium.new_context()
        context.on("request", lambda request: self.asked.append(request.url))
        context.set_default_timeout(40_000)
        self.page = context.new_page()
        self.page.goto(address)
        self.page.wait_for_function("[...document.querySelectorAll('textarea')].every(code => code.value)")

    def status(self, *states):
        """The sentence beside the button, when the button says one of these."""
        self.page.wait_for_function(
            "states => states.includes(document.querySelector('.start').textContent)", arg=list(states)
        )
        return self.page.inner_text(".python-status")

    def start(self):
        self.page.click(".start")
        return self.status("Python is ready", "Start Python again")

    def run(self, name, source, key="Control+Enter"):
        editor = self.page.get_by_label(name, exact=True)
        editor.fill(source)
        editor.press(key)

    def shown(self, name, text):
        """The output of a lesson, once there is this in it."""
        output = self.page.get_by_role("log", name=f"Output of {name}")
        output.filter(has_text=text).wait_for()
        return output.inner_text()


def test_nothing_is_fetched_from_elsewhere_before_start_and_without_internet_the_page_says_so(chromium, site):
    page = Page(chromium, f"{site[1]}?pyodide=https://elsewhere.example/")  # an address that is not obeyed
    page.run("check.py", "print(1)")
    assert page.shown("check.py", "Start") == "Press Start Python first."
    assert page.asked
    assert all(url.startswith(site[1]) for url in page.asked)
    for _ in range(2):  # the button works again
        page.asked.clear()
        said = page.start()
        assert said.startswith("Python could not be fetched from cdn.jsdelivr.net. The notebooks Counting and ")
        assert f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/pyodide.mjs" in page.asked
        assert not any(url.startswith("https://elsewhere.example") for url in page.asked)
    for link in page.page.locator(".instead a").all():
        notebook = BROWSER.joinpath(link.get_attribute("href")).with_suffix(".ipynb")
        assert notebook.resolve().exists()


def test_opened_as_a_file_the_page_says_how_to_open_it(chromium, site):
    page = chromium.new_page()
    page.goto((site[0] / "index.html").as_uri())
    assert "python -m http.server" in page.inner_text(".python-status")


@pytest.fixture(scope="module")
def pyodide(request, site):
    """The page's address with Pyodide's core from this machine."""
    folder = os.environ.get("MINALBERT_PYODIDE") or fetched_core(request.config.cache.mkdir(f"pyodide-{VERSION}"))
    (site[0] / "pyodide").symlink_to(Path(folder).resolve())
    return f"{site[1]}?pyodide=pyodide/"


def fetched_core(cache):
    core, mine = cache / "core", cache / f"for-{os.getpid()}"
    if not core.exists():
        if not shutil.which("npm"):
            pytest.skip("there is no npm to fetch Pyodide with, and MINALBERT_PYODIDE names no folder")
        mine.mkdir()
        command = ["npm", "pack", "--silent", f"pyodide@{VERSION}"]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=40, cwd=mine)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"npm could not fetch pyodide {VERSION}: {type(error).__name__}")
        with tarfile.open(mine / f"pyodide-{VERSION}.tgz") as archive:
            archive.extractall(mine, filter="data")
        with contextlib.suppress(OSError):  # another worker was first
            (mine / "package").replace(core)
        shutil.rmtree(mine)
    return core


def test_python_runs_in_the_page_and_can_be_stopped(chromium, pyodide):
    page = Page(chromium, pyodide)
    said = page.start()
    assert "NumPy could not be fetched from 127.0.0.1" in said
    assert "The notebooks Counting and " in said
    page.run("count.py", COMPILES)
    compiled = re.search(r"(\d+) files compile under Python (\d+ \d+)", page.shown("count.py", "files compile"))
    assert int(compiled[1]) == len(list((ROOT / "minalbert").rglob("*.py")))
    assert compiled[2] == "3 14"

    page.run("check.py", "print('begun')\nwhile True: pass", "Shift+Enter")
    page.shown("check.py", "begun")
    page.page.get_by_role("button", name="Stop").nth(1).click()
    assert page.shown("check.py", "Stopped.") == "begun\nStopped."
    page.status("Start Python again")  # it has started anew, again without NumPy
    for _ in range(100):  # the one that loops ends; the list is kept up to date while the page is waited for
        if len(page.page.workers) > 1:
            page.page.wait_for_timeout(100)
    assert len(page.page.workers) == 1
    page.run("check.py", "print(6 * 7)\n1 / 0")
    printed = page.shown("check.py", "ZeroDivisionError")
    assert printed.startswith('42\n  File "check.py", line 2, in <module>')
    page.page.get_by_role("button", name="Reset").nth(1).click()
    assert page.page.get_by_label("check.py", exact=True).input_value() == lesson("check.py").rstrip()
    assert all(url.startswith(pyodide.partition("?")[0]) for url in page.asked)


def ready(chromium, site, pyodide, wheel):
    page = Page(chromium, f"{pyodide}&numpy={wheel}")
    assert re.fullmatch(r"Python 3\.\d+\.\d+, numpy 2\.[\w.]+, minalbert [\w.]+: ready\.", page.start().strip())
    return page


def test_the_counting_lesson_runs_in_the_page(chromium, site, pyodide):
    """It counts without arrays, so that a NumPy without any will do."""
    with zipfile.ZipFile(site[0] / "numpy-2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("numpy/__init__.py", NO_ARRAYS)
        wheel.writestr("numpy-2.dist-info/METADATA", "Metadata-Version: 2.1\nName: numpy\nVersion: 2\n")
        wheel.writestr("numpy-2.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    page = ready(chromium, site, pyodide, "numpy-2-py3-none-any.whl")
    page.run("count.py", lesson("count.py"))
    assert page.shown("count.py", WHOLE_MODEL).rstrip() == run(lesson("count.py")).rstrip()
    assert page.status("Python is ready").endswith("ready.")


def test_the_lessons_run_in_the_page(chromium, site, pyodide):
    if not (wheel := os.environ.get("MINALBERT_PYODIDE_NUMPY")):
        pytest.skip("not tested under WebAssembly: NumPy's wheel for it is on no registry; see MINALBERT_PYODIDE_NUMPY")
    shutil.copy(wheel, site[0])
    page = ready(chromium, site, pyodide, Path(wheel).name)
    page.run("count.py", lesson("count.py"))
    page.shown("count.py", WHOLE_MODEL)
    page.run("check.py", lesson("check.py"))
    page.shown("check.py", "layer: 2 gradients right")
    for by, cause in BREAKS.items():
        page.run("check.py", broken(by))
        page.shown("check.py", cause)
