"""How long does a step take beside a process that multiplies matrices on two threads? POSIX only.

    python benchmarks/neighbour.py [--kernels plain|fused|compiled] [--runs 9] [--before CHECKOUT] [--json]

Threads of BLAS wait for each other by spinning. On a quiet machine they bring something; on one that is busy, a product
waits for the thread that has no core. Each way to compute a step is a process of its own: with the threads that the
machine gives it, with one thread for everything, and that of another checkout. They take turns, alone and beside the
neighbour, which is stopped and continued in between. Medians, in milliseconds, and their ratios to one thread's.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

from tqdm import tqdm

from minalbert import PRESETS, Albert, AlbertConfig, Batch
from minalbert.parallel import Workers

HERE = Path(__file__).resolve().parents[1]
NEIGHBOUR = "import numpy as np\nx = np.ones((1024, 1024), 'f')\nprint(flush=True)\nwhile True: x @ x"
THREADS = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"))
CASES = {
    # name: (config, examples, tokens, predictions)
    "demo, 64 × 32": (AlbertConfig(vocab_size=1558, embedding_size=32, hidden_size=64, num_hidden_layers=2,
                                   num_attention_heads=4, intermediate_size=256, max_position_embeddings=32),
                      64, 32, 3),
    "H 128, L 4, 64 × 64": (AlbertConfig(vocab_size=1000, embedding_size=64, hidden_size=128, num_hidden_layers=4,
                                         num_attention_heads=4, intermediate_size=512, max_position_embeddings=64),
                            64, 64, 9),
    "ALBERT-base, L 2, 2 × 128": (PRESETS["albert-base-v2"].replace(num_hidden_layers=2, vocab_size=2000), 2, 128, 19),
}  # fmt: skip


def serve(kernels):
    """A step of the case named on each line of stdin; its milliseconds on stdout."""
    steps = {}
    for name in map(str.strip, sys.stdin):
        if name not in steps:
            config, *sizes = CASES[name]
            model, batch = Albert.init(config, kernels=kernels), Batch.random(config, *sizes)
            if os.environ.get("OMP_NUM_THREADS") == "1":
                model._workers = Workers(model, 1)  # one thread for everything
            steps[name] = model, batch, model.params.zeros_like()
            model.loss_and_grads(batch)
        model, batch, grads = steps[name]
        begin = time.perf_counter()
        model.loss_and_grads(batch, into=grads)
        print(1e3 * (time.perf_counter() - begin), flush=True)


def started(command, threads=None, checkout=HERE):
    """threads: None for the machine's own number."""
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment |= dict.fromkeys(THREADS, str(threads)) if threads else {}
    environment["PYTHONPATH"] = str(checkout)
    return subprocess.Popen([sys.executable, *command], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            text=True)  # fmt: skip


def measured(servers, neighbour, case, runs):
    """{(server, beside the neighbour?): milliseconds of each run}"""
    times = {(name, beside): [] for name in servers for beside in (False, True)}
    for _ in tqdm(range(runs), desc=case, leave=False, disable=None):
        for name, beside in times:
            neighbour.send_signal(signal.SIGCONT if beside else signal.SIGSTOP)
            time.sleep(0.2)
            servers[name].stdin.write(f"{case}\n")
            servers[name].stdin.flush()
            times[name, beside].append(float(servers[name].stdout.readline()))
    return times


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kernels", choices=("plain", "fused", "compiled"), default="plain")
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--before", metavar="CHECKOUT", help="a folder with another minalbert/, to compare with")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    serve(options.kernels) if options.serve else compare(options)


def compare(options):
    command = [__file__, "--serve", "--kernels", options.kernels]
    servers = {"ours": started(command), "one thread": started(command, threads=1)}
    if options.before:
        servers["before"] = started(command, checkout=Path(options.before).resolve())
    neighbour, found = started(["-c", NEIGHBOUR], threads=2), {}
    neighbour.stdout.readline()
    try:
        for case in CASES:
            times = measured(servers, neighbour, case, options.runs)
            medians = {key: statistics.median(values) for key, values in times.items()}
            found[case] = {
                f"{name}, {'beside' if beside else 'alone'}": {
                    "ms": medians[name, beside], "of one thread": medians[name, beside] / medians["one thread", beside],
                } for name, beside in times
            }  # fmt: skip
            for name, values in [] if options.json else found[case].items():
                print(f"{case:<28} {name:<20} {values['ms']:9.1f} ms   {values['of one thread']:5.2f} of one thread's")
    finally:
        for process in (neighbour, *servers.values()):
            process.kill()
    if options.json:
        print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
