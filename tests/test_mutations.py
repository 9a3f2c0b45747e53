"""Every check has been seen to fail: each planted mistake must turn one red.

A mistake is a line of the library, replaced. The mutated package is written to a folder of its own, and a process that
has imported nothing of minalbert runs its gradient checks; where forward and backward are wrong together, which no
gradient check can see, it runs the tests of values (judges.py). A run plants a third of them, another each day, which
its first lines name; `--planted all` plants all.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from judges import JUDGES
from mutations import MUTATIONS
from planted import planted

import minalbert

NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="each mistake has a process of its own, by fork")

PACKAGE = Path(minalbert.__file__).parent
TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def judges():
    """The process of judges.py."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "encoding": "utf-8"}
    with subprocess.Popen([sys.executable, "judges.py"], cwd=TESTS, env=environment, **pipes) as process:
        yield process


def caught(judges, package, by):
    """Does this judge find a mistake in the package that lies in a folder?"""
    print(json.dumps([str(package.parent), by]), file=judges.stdin, flush=True)
    code, out, err = json.loads(judges.stdout.readline())
    assert not err, err  # a judge that cannot run has judged nothing
    assert code in (0, 1), f"{code}: {out}"
    return code == 1


def needs(judge):
    if judge.partition(":")[0] == "compiled":
        pytest.importorskip("numba", reason="numba is not installed (pip install 'minalbert[fast]')")


def pytest_generate_tests(metafunc):
    if "mutation" in metafunc.fixturenames:
        metafunc.parametrize("mutation", planted(metafunc.config, MUTATIONS), ids=lambda mutation: mutation.name)


def test_each_line_to_break_stands_there_once():
    texts = {name: (PACKAGE / name).read_text(encoding="utf-8") for name in {mutation.file for mutation in MUTATIONS}}
    assert [mutation.name for mutation in MUTATIONS if texts[mutation.file].count(mutation.right) != 1] == []


@NEEDS_FORK
@pytest.mark.slow  # `make check` runs it, `make test` does not
def test_a_planted_mistake_is_caught(judges, mutation, tmp_path):
    needs(mutation.seen_by)
    package = tmp_path / "minalbert"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / mutation.file
    path.write_text(path.read_text(encoding="utf-8").replace(mutation.right, mutation.wrong), encoding="utf-8")

    assert caught(judges, package, mutation.seen_by)


@NEEDS_FORK
@pytest.mark.slow
@pytest.mark.parametrize("by", JUDGES)
def test_the_library_as_it_is_passes_each_judge(judges, by):
    needs(by)
    assert not caught(judges, PACKAGE, by)
