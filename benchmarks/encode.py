"""How long does it take to encode a batch, and how long does PyTorch take?

    python benchmarks/encode.py [--case NAME ...] [--kernels plain|fused|compiled] [--runs 9] [--threads 2] [--json]

ids to last states, no gradients, the same weights and ids on both sides, whose states must agree before anything is
timed. float32, or on both sides bf16 for what is multiplied. The floor is the matrix products at the rate of one large
product of the same precision.

Where texts differ in length, eight batches of them become features, a vector each: by `encode_many` here, in batches of
texts of similar length, each padded to its longest, there.
"""

import comparison
from peer import Peer, assert_same_states
from workloads import CASES, WORKLOADS

from minalbert import Albert


def states_of(model, batch):
    return lambda: model.encode(batch.input_ids, batch.attention_mask, batch.token_type_ids)[0]


def features_of(model, batch):
    lengths = batch.attention_mask.sum(axis=1)
    texts, types = ([row[:n] for row, n in zip(rows, lengths, strict=True)] for rows in (batch[0], batch[2]))
    return lambda: model.encode_many(texts, len(texts) // 8, token_type_ids=types)


def measure(name, runs):
    workload, tuned, bf16 = CASES[name]
    work = WORKLOADS[workload]
    if work.padding:
        work = work._replace(size=8 * work.size)
    model = Albert.init(work.config, precision="bf16" if bf16 else "full", kernels=comparison.KERNELS)
    batch = work.batch()
    peer = Peer(model, batch, tuned, bf16)
    ours, theirs = (features_of, peer.features) if work.padding else (states_of, peer.encode)
    ours = ours(model, batch)
    assert_same_states(name, ours(), theirs(), tolerance=0.2 if bf16 else 1e-3)
    least = work.encoding_operations(), work.encoding_bytes(), bf16
    return comparison.compare(name, ours, theirs, least, runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=9)
