"""How long does it take to encode a batch, and how long does PyTorch take?

    python benchmarks/encode.py [--case NAME ...] [--kernels plain|fused|compiled] [--runs 9] [--threads 2] [--json]

ids to last states, no gradients, the same weights and ids on both sides, whose states must agree before anything is
timed. float32, or on both sides bf16 for what is multiplied. The floor is the matrix products at the rate of one large
product of the same precision.
"""

import comparison
from peer import Peer, assert_same_states
from workloads import CASES, WORKLOADS

from minalbert import Albert


def measure(name, runs):
    workload, tuned, bf16 = CASES[name]
    work = WORKLOADS[workload]
    model = Albert.init(work.config, precision="bf16" if bf16 else "full", kernels=comparison.KERNELS)
    batch = work.batch()
    theirs = Peer(model, batch, tuned, bf16).encode

    def ours():
        return model.encode(batch.input_ids, batch.attention_mask, batch.token_type_ids)[0]

    assert_same_states(name, ours(), theirs(), tolerance=0.2 if bf16 else 1e-3)
    least = work.encoding_operations(), work.encoding_bytes(), bf16
    return comparison.compare(name, ours, theirs, lambda: comparison.floor(*least), runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=9)
