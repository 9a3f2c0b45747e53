"""The environment of a run: what its bits depend on besides its settings. Versions, kernels, threads, the machine.

The same program with another BLAS kernel or another number of threads adds in another order, and so has other last
bits. A checkpoint records all this (as "circumstances"), and a run that resumes elsewhere reports what differs.
"""

import os
import platform
import re
import sys
from importlib.metadata import version

import numpy as np

from ..backend import gpu_circumstances

FUNCTIONS = "^(add|subtract|multiply|divide|maximum|exp|log|tanh|sqrt|power|square)$"
ONEDNN = "onednn-cpu-gomp"                           # the package of kernels.bf16
SWITCHES = ("CUPY_ACCELERATORS", "CUPY_TF32", "MKL_CBWR", "NPY_DISABLE_CPU_FEATURES", "NVIDIA_TF32_OVERRIDE",
            "OPENBLAS_CORETYPE")


def environment(device="cpu"):
    """{name: text}. What this machine does not tell is left out."""
    facts = {}
    for name, fact in FACTS.items():
        try:
            facts[name] = str(fact())
        except Exception:                            # not worth a run, whatever it is
            continue
    return facts | gpu_circumstances(device)


def differences(before, now):
    """Messages: one for each fact that was another when the checkpoint was saved."""
    return [f"{name} is now {now.get(name, 'unknown')}; the checkpoint was saved with {before.get(name, 'unknown')}, "
            "so the last bits may differ" for name in before | now if before.get(name) != now.get(name)]


def _blas():
    """Find the library that NumPy multiplies with; other packages may have brought theirs."""
    from threadpoolctl import threadpool_info

    found = [library for library in threadpool_info() if library["user_api"] == "blas"]
    return max(found, key=lambda library: "numpy" in library["filepath"])


def _blas_name():
    built_with = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    try:
        library = _blas()
        return f"{library['internal_api']} {library['version']}"
    except (ImportError, ValueError):                # no threadpoolctl, or a library that it does not know
        return f"{built_with['name']} {built_with['version']}"


def _numpy_kernels():
    """Which of its variants for this processor NumPy runs, for example "X86_V3: add exp, baseline: sqrt"."""
    chosen = {}
    for function, variants in np.lib.introspect.opt_func_info(func_name=FUNCTIONS).items():
        for types, variant in variants.items():
            if set(types) <= {"f", "d"}:
                chosen.setdefault(variant["current"], set()).add(function)
    return ", ".join(f"{variant}: {' '.join(sorted(names))}" for variant, names in sorted(chosen.items()))


def _processor():
    if sys.platform == "linux":
        with open("/proc/cpuinfo") as file:
            return re.search(r"^model name\s*: (.*)$", file.read(), re.MULTILINE)[1]
    return platform.processor() or platform.machine()


def _switches():
    return " ".join(f"{name}={os.environ[name]}" for name in SWITCHES if name in os.environ) or "none"


FACTS = {
    "minalbert": lambda: sys.modules["minalbert"].__version__,
    "Python": lambda: f"{platform.python_implementation()} {platform.python_version()}",
    "NumPy": lambda: np.__version__,
    "NumPy kernels": _numpy_kernels,
    "BLAS": _blas_name,
    "BLAS kernel": lambda: _blas()["architecture"],
    "BLAS threads": lambda: _blas()["num_threads"],
    "machine": lambda: f"{platform.system()} {platform.machine()}",
    "processor": _processor,
    "C library": lambda: " ".join(platform.libc_ver()).strip() or platform.release(),
    "compilers": lambda: " ".join(f"{name} {version(name)}" for name in ("numba", "llvmlite")),
    "bf16 library": lambda: f"oneDNN {version(ONEDNN)}",
    "switches": _switches,
}
