"""The GPU's kernels, tested without a GPU: run on the CPU behind cuda_on_cpu.h, and compiled for cards by NVRTC."""

import sys

import cpu_module
import fake_cupy
import pytest

from minalbert.backend import cuda_missing


def pytest_collection_modifyitems(items):
    reason = cpu_module.missing()
    for item in items:
        if reason and item.path.parent == cpu_module.HERE and item.path.name != "test_compile.py":
            item.add_marker(pytest.mark.skip(reason=reason))
    if cpu_module.FLAGS is cpu_module.SANITIZERS:  # slow, and the same for every order
        items[:] = [item for item in items if getattr(item, "callspec", None) is None or not order_of(item)]


def order_of(item):
    return item.callspec.params.get("order", 0)


def pytest_report_header():
    if reason := cuda_missing():
        return f"no GPU ({reason}): its kernels are run on the CPU alone"
    return None


@pytest.fixture(params=["pretended"] if cuda_missing() else ["pretended", "real"])
def gpu(request, monkeypatch):
    """cupy: NumPy and g++ behind CuPy's manners, and, where there is a card, CuPy."""
    if request.param == "pretended":
        monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    return sys.modules["cupy"]
