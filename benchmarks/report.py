"""The table of all CPU benchmarks, and with --write a dated report in benchmarks/results.

    python benchmarks/report.py [--quick] [--write] [--threads 2]

Each benchmark runs as it would by itself, one after the other. --quick: few pairs of runs and the main cases alone,
in less than five minutes on two cores.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from functools import partial
from pathlib import Path

import comparison

from minalbert.kernels import missing

HERE = Path(__file__).parent
MAIN = [
    *("ALBERT-base, 8 × 128, as released", "ALBERT-base, 8 × 128, tuned", "ALBERT-base, 2 × 512, as released"),
    *("H 64, L 2, 64 × 32, tuned", "H 64, L 4, 64 × 64, tuned"),
    *("H 128, L 2, 64 × 32, tuned", "H 128, L 4, 64 × 64, tuned"),
    *("the demo, 64 × 32, padded, tuned", "ALBERT-base, 8 × 128, GLUE, tuned"),
]
BF16 = ["ALBERT-base, 8 × 128, bf16 as released"]
TABLES = {
    # title: (script, cases of --quick, what follows them)
    "A training step: forward, backward, AdamW": ("step.py", [*MAIN, *BF16], ["--runs", "3"]),
    "A training step of the plain pairs": ("step.py --kernels plain", [MAIN[1], MAIN[3], *MAIN[7:]], ["--runs", "3"]),
    "A training step, kernels compiled by numba": ("step.py --kernels compiled", [*MAIN[1:], *BF16], ["--runs", "3"]),
    "Encoding": ("encode.py", [MAIN[1], *MAIN[3:]], ["--runs", "3"]),
    "Memory of a training step": ("memory.py", ["ALBERT-base, 8 × 128"], []),
}
PACKAGES = ("numpy", "torch", "transformers", "onednn-cpu-gomp", "numba")


def machine():
    """Lines about it, as far as it tells."""
    name = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next(line.split(":")[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    system = f"{platform.system()}, Python {platform.python_version()}"
    kernels = os.environ.get("OPENBLAS_CORETYPE", "by the processor")
    yield f"{name}, {os.cpu_count()} cores, {comparison.THREADS} threads; {system}"
    yield ", ".join(f"{package} {version(package)}" for package in PACKAGES) + f"; OpenBLAS kernels: {kernels}"
    products = comparison.product_seconds, comparison.torch_product_seconds
    yield "a large product, NumPy: {} GFLOP/s; PyTorch: {}".format(*map(rate, products))
    if not missing("fused", "bf16", "cpu"):
        ours, theirs = (rate(partial(price, True)) for price in products)
        yield f"the same in bf16, oneDNN from NumPy: {ours} GFLOP/s; PyTorch: {theirs}"
    yield f"a large copy, read and written: {rate(comparison.copy_seconds)} GB/s"


def rate(seconds_of_one):
    """In units of 10⁹, the best of several."""
    return round(1e-9 / min(seconds_of_one() for _ in range(5)))


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def rows(script, cases, options):
    script, *more = script.split()
    command = [sys.executable, HERE / script, *more, "--json", "--threads", comparison.THREADS, *options]
    command += ["--case", *cases] if cases else []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield from map(json.loads, process.stdout)
    if process.returncode:
        sys.exit(f"{script} failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], parents=[comparison.threads])
    parser.add_argument("--quick", action="store_true", help="the main cases alone, few runs of each")
    parser.add_argument("--write", action="store_true", help="keep the table under benchmarks/results")
    options = parser.parse_args()
    lines = []

    def say(line=""):
        print(line, flush=True)
        lines.append(line)

    for fact in machine():
        say(fact)
    for title, (script, cases, few) in TABLES.items():
        say(f"\n{title}\n{comparison.HEAD}")
        if "compiled" in script and (reason := missing("compiled", "full", "cpu")):
            say(reason)
            continue
        chosen = [case for case in cases if "bf16" not in case or not missing("fused", "bf16", "cpu")]
        for row in rows(script, chosen if options.quick else None, few if options.quick else []):
            say(comparison.line(row))
    if options.write:
        path = HERE / "results" / f"{datetime.date.today()}-cpu.md"
        path.parent.mkdir(exist_ok=True)
        body = "\n".join(lines)
        path.write_text(f"# Speed on the CPU, {datetime.date.today()}\n\n```\n{body}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
