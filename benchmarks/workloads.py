"""What is timed: models and batches."""

from typing import NamedTuple

import numpy as np

from minalbert import PRESETS, AlbertConfig, Batch
from minalbert.analysis.cost import forward_operations, optimiser_bytes, training_operations
from minalbert.analysis.memory import activation_bytes
from minalbert.kernels import missing


class Workload(NamedTuple):
    config: AlbertConfig
    size: int
    length: int

    @property
    def predictions(self):
        return max(1, round(0.15 * self.length))

    def batch(self):
        """Without padding: every position is work for both sides."""
        rng = np.random.default_rng(1)
        config, shape = self.config, (self.size, self.length)
        batch = Batch.random(config, *shape, self.predictions)
        return batch._replace(
            input_ids=rng.integers(5, config.vocab_size, shape),
            attention_mask=np.ones(shape, np.int64),
            mlm_positions=np.sort(rng.random(shape).argsort(axis=1)[:, : self.predictions]),
            mlm_labels=rng.integers(5, config.vocab_size, (self.size, self.predictions)),
            mlm_weights=np.ones((self.size, self.predictions), np.float32),
        )

    def training_operations(self, recompute=False):
        return self.size * training_operations(self.config, self.length, self.predictions, recompute=recompute)

    def training_bytes(self):
        """The fewest: weights read, gradients, moments and weights written, activations written and read again."""
        shape = self.config, self.size, self.length, self.predictions
        return 2 * sum(optimiser_bytes(self.config).values()) + 2 * activation_bytes(*shape)

    def encoding_operations(self):
        return self.size * forward_operations(self.config, self.length, 0, heads=())

    def encoding_bytes(self):
        return optimiser_bytes(self.config)["weights"]


def teaching(hidden, layers):
    return AlbertConfig(
        vocab_size=1000, embedding_size=64, hidden_size=hidden, num_hidden_layers=layers,
        num_attention_heads=hidden // 32, intermediate_size=4 * hidden, max_position_embeddings=64,
    )  # fmt: skip


BASE = PRESETS["albert-base-v2"]
WORKLOADS = {
    "ALBERT-base, 8 × 128": Workload(BASE, 8, 128),
    "ALBERT-base, 2 × 512": Workload(BASE, 2, 512),
    "H 64, L 2, 64 × 32": Workload(teaching(64, 2), 64, 32),
    "H 64, L 4, 64 × 64": Workload(teaching(64, 4), 64, 64),
    "H 128, L 2, 64 × 32": Workload(teaching(128, 2), 64, 32),
    "H 128, L 4, 64 × 64": Workload(teaching(128, 4), 64, 64),
}
CASES = {
    # name: (workload, is the peer tuned, bf16)
    f"{name}, {kind}": (name, "tuned" in kind, "bf16" in kind)
    for name, work in WORKLOADS.items()
    for kind in ("as released", "tuned", "bf16 as released", "bf16 tuned")
    if "bf16" not in kind or (work.config is BASE and not missing("fused", "bf16", "cpu"))
}
