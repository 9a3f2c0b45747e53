"""Before anything is timed: are the results right, on this card?"""

import os
import re
import subprocess
import sys

import numpy as np
from gpu_clock import ROOT
from gpu_graph import gradient_pass

from minalbert import Albert, Batch

TAKES_DEVICE = re.compile(r"def test_\w+\([^)]*\bdevice\b")
# of the gradient as a whole, a few times what the kernels have on a CPU: 3e-7, 7e-3, 9.5e-4; tf32 has 11 bits like
# float16, in products alone; float64 but for the order of sums
ALLOWED = {"float64, plain": 1e-11, "full": 1e-5, "tf32": 1e-2, "bf16": 4e-2, "float16": 1e-2}


def device_tests(device="cuda", card="real", files=None, kernels=("tests/cuda",)):
    """[(command, its last line, exit code)]: tests that take a device, and those of the kernels on the card."""
    if files is None:
        files = [path for path in sorted((ROOT / "tests").glob("test_*.py")) if TAKES_DEVICE.search(path.read_text())]
    commands = [*map(str, files), "--device", device, "-k", device], [*kernels, "-k", card]
    return [run(command) for command in commands]


def run(arguments):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    lines = (done.stdout + done.stderr).strip().splitlines()
    shown = " ".join(arguments).replace(f"{ROOT}/", "")
    return f"pytest {shown}", lines[-1] if lines else "it said nothing", done.returncode


def gradients(config, size, length):
    """[(what, relative error, allowed)]: a step's gradient on the GPU against float64 on the CPU."""
    batch, rows = Batch.random(config, size, length, max(1, round(0.15 * length)), seed=1), []
    wide = Albert.init(config, seed=3, dtype="float64").params
    wide.flat[...] += 0.05 * np.random.default_rng(4).standard_normal(wide.flat.size)  # biases too, and GELU's bend
    for name, allowed in ALLOWED.items():
        params = wide if name == "float64, plain" else wide.astype("float32")
        expected = gradient(Albert(config, params.astype("float64")), batch)
        compute = {} if params is wide else {"kernels": "fused", "precision": name}
        factor = 1024.0 if name == "float16" else 1.0
        found = gradient(Albert(config, params.to("cuda"), **compute), batch.to("cuda"), factor) / factor
        rows.append((name, float(np.linalg.norm(found - expected) / np.linalg.norm(expected)), allowed))
    return rows


def gradient(model, batch, factor=1.0):
    grads = model.params.zeros_like()
    gradient_pass(model, model.pairs.memory(model.params), batch, grads, scale=factor)
    return grads.to("cpu").flat.astype(np.float64)
