import json
import os
import platform
import subprocess
import sys

import fake_cupy
import numpy as np
import pytest

from minalbert import __version__
from minalbert.train import environment as module
from minalbert.train.environment import differences, environment


def test_circumstances_are_texts_that_json_keeps():
    facts = environment()
    assert all(isinstance(text, str) and text for text in facts.values())
    assert json.loads(json.dumps(facts)) == facts == environment()
    assert differences(facts, facts) == []


def test_circumstances_name_the_versions_and_the_machine():
    facts = environment()
    assert facts["minalbert"] == __version__
    assert platform.python_version() in facts["Python"]
    assert facts["NumPy"] == np.__version__
    assert platform.machine() in facts["machine"]
    assert "BLAS" in facts
    assert platform.node() not in " ".join(facts.values()).split()


def test_threads_and_kernel_are_those_of_this_moment():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    if not any(library["user_api"] == "blas" for library in threadpoolctl.threadpool_info()):
        pytest.skip("threadpoolctl does not know this NumPy's BLAS")
    with threadpoolctl.threadpool_limits(1, "blas"):
        one = environment()
    assert one["BLAS threads"] == "1"
    assert environment()["BLAS threads"] == str(module._blas()["num_threads"])


def test_numpy_is_asked_first_of_several_libraries(monkeypatch):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    libraries = [
        {"user_api": "openmp", "filepath": "numpy/libgomp.so"},
        {"user_api": "blas", "filepath": "torch/libmkl.so", "internal_api": "mkl", "version": "1", "num_threads": 4},
        {"user_api": "blas", "filepath": "numpy/libblas.so", "internal_api": "openblas", "version": "2"},
    ]
    monkeypatch.setattr(threadpoolctl, "threadpool_info", lambda: libraries)
    assert environment()["BLAS"] == "openblas 2"
    assert "BLAS kernel" not in environment()
    libraries.pop()
    assert environment()["BLAS"] == "mkl 1"
    assert environment()["BLAS threads"] == "4"


def test_without_threadpoolctl_blas_is_named_by_numpy(monkeypatch):
    monkeypatch.setitem(sys.modules, "threadpoolctl", None)
    facts = environment()
    built_with = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    assert facts["BLAS"] == f"{built_with['name']} {built_with['version']}"
    assert "BLAS threads" not in facts


def test_a_kernel_that_is_turned_off_is_told():
    found = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    if not found or not hasattr(np.lib, "introspect"):
        pytest.skip("this NumPy has one kernel for each function, or does not tell which it uses")
    program = "from minalbert.train.environment import *; import json; print(json.dumps(environment()))"
    variables = {**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(found)}
    done = subprocess.run([sys.executable, "-c", program], env=variables, capture_output=True, text=True, check=True)
    said = differences(environment(), json.loads(done.stdout))
    assert {sentence.split(" is now ")[0] for sentence in said} == {"NumPy kernels", "switches"}


def test_a_difference_is_one_sentence():
    before = {"NumPy": "2.3.0", "machine": "Linux x86_64", "BLAS kernel": "Haswell"}
    now = {"NumPy": "2.4.6", "machine": "Linux x86_64", "GPU": "NVIDIA H200"}
    ending = ", so the last bits may differ"
    assert differences(before, now) == [
        f"NumPy is now 2.4.6; the checkpoint was saved with 2.3.0{ending}",
        f"BLAS kernel is now unknown; the checkpoint was saved with Haswell{ending}",
        f"GPU is now NVIDIA H200; the checkpoint was saved with unknown{ending}",
    ]


def test_what_the_machine_does_not_tell_is_left_out(monkeypatch):
    def silent():
        raise RuntimeError

    monkeypatch.setitem(module.FACTS, "processor", silent)
    assert "processor" not in environment()


class Runtime:
    getDevice = staticmethod(lambda: 3)
    getDeviceProperties = staticmethod(lambda number: {"name": f"card {number}".encode()})
    runtimeGetVersion = staticmethod(lambda: 13000)
    driverGetVersion = staticmethod(lambda: 13010)


def test_a_gpu_is_named_where_it_is_used(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr(fake_cupy.cuda, "runtime", Runtime, raising=False)
    facts = environment("cuda")
    assert facts["GPU"] == "card 3"
    assert facts["CUDA"] == "13000, driver 13010"
    assert "CuPy" in facts
    assert "GPU" not in environment()
