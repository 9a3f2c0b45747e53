"""How long does it take to encode a batch, and how long does PyTorch take?

    python benchmarks/encode.py [--case NAME ...] [--runs 9] [--threads 2] [--json]

ids to last states, float32, no gradients, the same weights and ids on both sides, whose states must agree before
anything is timed. The floor is the matrix products at the rate of one large product.
"""

import comparison
from peer import Peer, assert_same_states
from workloads import WORKLOADS

from minalbert import Albert

CASES = {f"{name}, {kind}": (name, kind == "tuned") for name in WORKLOADS for kind in ("as released", "tuned")}


def measure(name, runs):
    work, tuned = WORKLOADS[CASES[name][0]], CASES[name][1]
    model, batch = Albert.init(work.config), work.batch()
    theirs = Peer(model, batch, tuned).encode

    def ours():
        return model.encode(batch.input_ids, batch.attention_mask, batch.token_type_ids)[0]

    assert_same_states(name, ours(), theirs())
    operations = work.encoding_operations()
    return comparison.compare(name, ours, theirs, lambda: operations * comparison.product_seconds(), runs)


if __name__ == "__main__":
    comparison.main(__doc__, CASES, measure, runs=9)
