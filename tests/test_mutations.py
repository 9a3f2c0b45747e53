"""Every check has been seen to fail: each planted mistake must turn one red.

A mistake is a line of the library, replaced. The mutated package is written to a folder of its own and a
fresh interpreter runs its gradient checks; where forward and backward are wrong together, which no gradient
check can see, it runs the tests of values.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mutations import MUTATIONS

import minalbert

pytestmark = pytest.mark.slow  # `make check` runs it, `make test` does not

PACKAGE = Path(minalbert.__file__).parent
TESTS = Path(__file__).parent

GRADCHECK = """
import sys
from minalbert.gradcheck.cases import all_cases

def wrong(case):
    try:
        return not case.check(entries=False).passed
    except (ValueError, TypeError):                  # arrays that no longer fit
        return True

sys.exit(any([wrong(case) for case in all_cases()]))
"""


def pytest_of(*names):
    return ["-m", "pytest", "-qx", "-p", "no:cacheprovider", *(f"test_{name}.py" for name in names)]


JUDGES = {
    "gradcheck": ["-c", GRADCHECK],
    "values": pytest_of("values", "golden", "model"),
    "fused": pytest_of("slices", "threads", "parallel", "implementations", "arena", "backend"),
    "sparse": pytest_of("sparse_attention"),
    "steps": pytest_of("optim", "schedule"),
    "reversible": pytest_of("reversible"),
    "compiled": pytest_of("compiled_optimisers"),
    "speed": pytest_of("rates", "bench"),
}


def caught(package, by):
    """Does this judge find a mistake in the package that lies in a folder?"""
    environment = os.environ | {"PYTHONPATH": str(package.parent), "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, *JUDGES[by]]
    result = subprocess.run(
        command, cwd=TESTS, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=900
    )
    assert not result.stderr, result.stderr  # a judge that cannot run has judged nothing
    assert result.returncode in (0, 1), result.stdout
    return result.returncode == 1


def needs(judge):
    if judge == "compiled":
        pytest.importorskip("numba", reason="numba is not installed (pip install 'minalbert[fast]')")


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_planted_mistake_is_caught(mutation, tmp_path):
    needs(mutation.seen_by)
    package = tmp_path / "minalbert"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    path = package / mutation.file
    source = path.read_text(encoding="utf-8")
    assert source.count(mutation.right) == 1, "the line to break must stand there once"
    path.write_text(source.replace(mutation.right, mutation.wrong), encoding="utf-8")

    assert caught(package, mutation.seen_by)


@pytest.mark.parametrize("by", JUDGES)
def test_the_library_as_it_is_passes_each_judge(by):
    needs(by)
    assert not caught(PACKAGE, by)
