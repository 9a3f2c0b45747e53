"""How much faster does ALBERT-base train than BERT-base: alone, on two ranks, and with a slow link between the two?

    python benchmarks/communication.py minalbert/experiments/results/speed.jsonl [--rounds 5]

Both read 4 × 128 tokens for each rank, with LAMB, a core and a thread each. Models and places take turns, and the
fastest of the rounds counts. The link of 1 Gbit/s joins two network namespaces, which need Linux and root.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import scaling
from workloads import WORKLOADS, Workload

from minalbert import PRESETS
from minalbert.train.environment import environment

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "parity"))  # its two hosts are no part of the library
from two_hosts import two_hosts

MODELS = {"ALBERT-base": "albert-base", "BERT-base": "bert-base"}
WORKLOADS |= {name: Workload(PRESETS[preset], 8, 128) for name, preset in MODELS.items()}
STEPS = 4  # timed in a process, after one that is not
MPIEXEC, LINK = Path(sys.executable).with_name("mpiexec"), "1gbit"


def places(hosts):
    """{place: (micro-batches, command that starts a script there, environment)}"""
    return {"one rank": (1, [], {}), "two ranks": (2, [MPIEXEC, "-n", "2"], {}),
            "two ranks, 1 Gbit/s": (2, hosts.mpiexec(MPIEXEC, 2), hosts.environment)}  # fmt: skip


def seconds(model, micro_batches, starter, variables):
    """The median of some steps, in processes of their own."""
    call = [*starter, sys.executable, __file__, "--side", model, "--micro-batches", micro_batches]
    found = subprocess.run([*map(str, call)], stdout=subprocess.PIPE, check=True, env=os.environ | variables)
    return json.loads(found.stdout)


def lines(rounds):
    taken = {}
    with tempfile.TemporaryDirectory() as directory, two_hosts(Path(directory), LINK) as hosts:
        for _ in range(rounds):
            for place, how in places(hosts).items():
                for model in MODELS:
                    taken.setdefault((model, place), []).append(seconds(model, *how))
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    for (model, place), found in taken.items():
        yield {"table": "speed", "model": model, "place": place, "seconds": round(min(found), 4), "rounds": rounds,
               "slowest": round(max(found), 4), "date": date, "environment": environment()}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, nargs="?", help="file of JSON lines, which is overwritten")
    parser.add_argument("--rounds", type=int, default=5, help="of both models in all places (default: 5)")
    parser.add_argument("--side", choices=MODELS, help=argparse.SUPPRESS)
    parser.add_argument("--micro-batches", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        comm, ranks = scaling.ranks_with_a_core_each()
        found = scaling.timed(scaling.step_of(WORKLOADS[options.side], "fused", options.micro_batches, ranks), STEPS)
        print(json.dumps(found) if comm.rank == 0 else "", end="")
        return
    text = "".join(f"{json.dumps(line)}\n" for line in lines(options.rounds))
    print(text, end="")
    if options.results:
        options.results.write_text(text)


if __name__ == "__main__":
    main()
