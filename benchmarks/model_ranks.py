"""How much memory does each rank need when several share one model, and what do they send each other?

    python benchmarks/model_ranks.py [--ranks 1 2] [--length 512 128] [--dropout 0.0 0.1] [--json]

Three training steps of ALBERT-base by plain kernels: a micro-batch of as many sequences as go through the model at a
time, and LAMB's step. Counted is the most that a rank ever held, less what it held before the model was made; of
several ranks, the one that held most. The bytes are those that left all ranks for one micro-batch, counted at MPI's
calls.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import threads

threads.limit("1")

sys.path.append(str(Path(__file__).parents[1] / "tests"))

import numpy as np  # noqa: E402
from counting import Counting  # noqa: E402
from memory import held  # noqa: E402

from minalbert import PRESETS, Albert, Batch, DropoutKey  # noqa: E402
from minalbert.optim import Lamb, Moments  # noqa: E402
from minalbert.parallel import ALONE, Ranks, Workers  # noqa: E402
from minalbert.parallel.slices import LARGEST_PART  # noqa: E402
from minalbert.split import model_share, optimiser_over  # noqa: E402

STEPS = 3


def take_steps(length, dropout, comm):
    """On each rank: {"bytes": what it held at most, "sent": for one micro-batch by all ranks}"""
    config = PRESETS["albert-base"].replace(hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout)
    size, predictions = max(1, LARGEST_PART // (config.hidden_size * length)), max(1, round(0.15 * length))
    batch = Batch.random(config, size, length, predictions, seed=1)
    batch = batch._replace(mlm_weights=np.ones_like(batch.mlm_weights))  # every slot is used: none is cut off
    ranks = Ranks(Counting(comm)) if comm.size > 1 else ALONE
    before = held("VmRSS")
    model, optimiser = Albert.init(config), Lamb()
    if ranks.size > 1:
        model, optimiser = model_share(config, model.params, ranks), optimiser_over(ranks, optimiser)
    moments = Moments.zeros(model.params)
    with Workers(model, 1) as workers:
        for t in range(1, STEPS + 1):
            found = workers.gradient(workers.slices_of([batch]), DropoutKey(0, t))
            optimiser.step(model.params, found.grads, moments, 1e-3, t)
            workers.release(found.grads)
    needed, sent = held("VmHWM") - before, ranks.comm.sent // STEPS if ranks.size > 1 else 0
    assert np.isfinite(float(found.losses.total))
    return {"bytes": max(comm.allgather(needed)), "sent": sum(comm.allgather(sent))}


def measure(ranks, length, dropout):
    mpiexec = Path(sys.executable).with_name("mpiexec")
    call = [mpiexec, "-n", ranks, sys.executable, __file__, "--side", "--length", length, "--dropout", dropout]
    return json.loads(subprocess.run(list(map(str, call)), stdout=subprocess.PIPE, check=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", nargs="*", type=int, default=[1, 2], help="that share a model (default: 1 2)")
    parser.add_argument("--length", nargs="*", type=int, default=[512, 128], help="tokens (default: 512 128)")
    parser.add_argument("--dropout", nargs="*", type=float, default=[0.0, 0.1], help="rates (default: 0.0 0.1)")
    parser.add_argument("--json", action="store_true", help="one object per case")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        from mpi4py import MPI

        found = take_steps(options.length[0], options.dropout[0], MPI.COMM_WORLD)
        print(json.dumps(found) if MPI.COMM_WORLD.rank == 0 else "", end="")
        return
    for length in options.length:
        for dropout in options.dropout:
            found = {ranks: measure(ranks, length, dropout) for ranks in options.ranks}
            for ranks, row in found.items():
                case = f"{length} tokens, dropout {dropout:g}, {ranks} ranks"
                ratio = row["bytes"] / found[options.ranks[0]]["bytes"]
                text = f"{case}: {row['bytes'] / 1e6:,.0f} MB ({ratio:.2f}), sent {row['sent'] / 1e6:,.1f} MB"
                print(json.dumps({"case": case, **row, "ratio": ratio}) if options.json else text, flush=True)


if __name__ == "__main__":
    main()
