"""What all benchmarks share: threads, turns, floors, and how a row is printed.

Ours and the peer's runs take turns, so that a busy machine slows both; a ratio is the median over pairs of neighbours.
The floor is what no program that multiplies these matrices can be faster than: the operations at the rate of one large
product, or the fewest bytes at the rate of one large copy, whichever takes longer; both are measured between the runs.
Padding is counted as if it were text, and the last layer as if all of it were read: who does less work can be below.

NumPy's library and PyTorch's do not multiply equally fast everywhere. "at equal libraries" is ours over our floor,
divided by the peer's over its own: the same operations at the rate of one large product by PyTorch.
"""

import argparse
import json
import statistics
import sys
import time

from threads import limit

threads = argparse.ArgumentParser(add_help=False)  # libraries read the number of threads when they are imported
threads.add_argument("--threads", default="2", help="for both sides (default: 2)")
early = argparse.ArgumentParser(add_help=False, parents=[threads])
early.add_argument(
    "--kernels", default="fused", choices=("plain", "fused", "compiled"), help="of ours (default: fused)"
)
THREADS, KERNELS = vars(early.parse_known_args()[0]).values()
limit(THREADS)

import numpy as np  # noqa: E402
from tqdm import tqdm  # noqa: E402

from minalbert.kernels.cpu import bf16 as bf16_kernels  # noqa: E402


def seconds(call, block=0.0):
    """The mean time of calls in a row that take `block` seconds together, as in training.

    Before it a pause, for the threads of the library called before spin for a while and take a core from the next; and
    before short calls one that is not counted, which wakes threads and fills caches.
    """
    time.sleep(0.05)
    if block:
        call()
    count, start = 0, time.perf_counter()
    while not count or time.perf_counter() - start < block:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def product_seconds(bf16=False):
    """The seconds for one operation of a large matrix product, float32 or bf16."""
    a, b, out = np.ones((3, 2048, 2048), np.float32)
    if not bf16:
        return seconds(lambda: np.matmul(a, b, out=out), block=0.1) / (2 * 2048**3)
    a, b = bf16_kernels.rounded(a), bf16_kernels.rounded(b)
    return seconds(lambda: bf16_kernels.gemm(a, b, out=out), block=0.1) / (2 * 2048**3)


def copy_seconds():
    """The seconds that a large copy takes for a byte it reads or writes."""
    a = np.ones(2**25, np.float32)
    b = np.empty_like(a)
    np.copyto(b, a)
    return seconds(lambda: np.copyto(b, a)) / (2 * a.nbytes)


def torch_product_seconds(bf16=False):
    """The seconds for one operation of a large matrix product by PyTorch."""
    import torch

    torch.set_num_threads(int(THREADS))
    a, b, out = torch.ones((3, 2048, 2048), dtype=torch.bfloat16 if bf16 else torch.float32)
    return seconds(lambda: torch.mm(a, b, out=out), block=0.1) / (2 * 2048**3)


def compare(case, ours, theirs, least, runs):
    """least: operations, bytes, and is it bf16? Returns the row, times in seconds.

    Both have been called before, when their results were compared: the first call touches fresh memory.
    """
    times = {ours: [], theirs: []}
    operations, transferred, bf16 = least
    prices = []  # seconds of one: (operation of ours, of PyTorch's, byte copied)
    block = 0.3 if seconds(ours) + seconds(theirs) < 0.3 else 0.0
    for run in tqdm(range(runs), desc=case, leave=False, disable=not sys.stderr.isatty()):
        for call in (ours, theirs) if run % 2 else (theirs, ours):
            times[call].append(seconds(call, block))
        prices.append((product_seconds(bf16), torch_product_seconds(bf16), copy_seconds()))
    *products, copy = (statistics.median(price) for price in zip(*prices, strict=True))
    floor, peer_floor = (max(operations * product, transferred * copy) for product in products)
    ratios = sorted(a / b for a, b in zip(times[ours], times[theirs], strict=True))
    return {
        "case": case,
        "ours": statistics.median(times[ours]),
        "peer": statistics.median(times[theirs]),
        "floor": floor,
        "ratio": statistics.median(ratios),
        "rates": [1e-9 / product for product in products],
        "equal": statistics.median(ratios) * peer_floor / floor,
        "spread": [ratios[0], ratios[-1]],
    }


HEAD = f"{'':42} {'ours':>9} {'peer':>9} {'floor':>9} {'ours/peer':>10}  {'spread':11} {'ours/floor':>10}" + (
    f"  {'GFLOP/s':>11} {'at equal libraries':>19}"
)


def line(row):
    """One row of the table; times in milliseconds, or bytes in MB where the row says so."""
    scale, unit = (1e6, "MB") if row.get("unit") == "bytes" else (1e-3, "ms")
    numbers = "".join(
        f"{row[key] / scale:7.{0 if row[key] / scale >= 100 else 1}f} {unit}" for key in ("ours", "peer", "floor")
    )
    spread = "{:.2f} - {:.2f}".format(*row["spread"]) if "spread" in row else ""
    rates = "  {:4.0f} / {:4.0f} {:19.2f}".format(*row["rates"], row["equal"]) if "rates" in row else ""
    return f"{row['case']:42}{numbers} {row['ratio']:10.2f}  {spread:11} {row['ours'] / row['floor']:10.2f}{rates}"


def main(doc, cases, measure, runs):
    """measure(name, runs) -> a row, for each of the cases asked for. Plain kernels compute in full precision only."""
    cases = [name for name in cases if not (KERNELS == "plain" and "bf16" in name)]
    parser = argparse.ArgumentParser(description=doc.splitlines()[0], parents=[early])
    parser.add_argument("--case", nargs="*", default=cases, choices=cases, metavar="NAME", help=" | ".join(cases))
    parser.add_argument("--runs", type=int, default=runs, help=f"pairs of runs per case (default: {runs})")
    parser.add_argument("--json", action="store_true", help="one object per case")
    options = parser.parse_args()
    if not options.json:
        print(HEAD)
    for name in options.case:
        row = measure(name, options.runs)
        print(json.dumps(row) if options.json else line(row), flush=True)
