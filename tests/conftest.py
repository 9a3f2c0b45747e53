"""Which device the tests run on. Each test that takes `device` runs once on the CPU and once on the GPU."""

import pytest

from minalbert.backend import cuda_missing


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        choices=("cpu", "cuda"),
        help="run the device tests on this one only (default: on both; skipped, with the reason, without a GPU)",
    )


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        only = metafunc.config.getoption("--device")
        metafunc.parametrize("device", [only] if only else ["cpu", "cuda"], indirect=True)


@pytest.fixture
def device(request):
    if request.param == "cuda" and (reason := cuda_missing()):
        pytest.skip(f"no GPU: {reason}")
    return request.param
