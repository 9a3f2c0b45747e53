"""The models and batches that are timed."""

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from minalbert import PRESETS, AlbertConfig, Batch
from minalbert.analysis.cost import forward_operations, optimiser_bytes, training_operations
from minalbert.analysis.memory import activation_bytes
from minalbert.commands.demo import RECIPE, WORLDS
from minalbert.data.instances import Instances
from minalbert.data.shards import Corpus
from minalbert.data.word_tokenizer import WordTokenizer
from minalbert.kernels import missing


class Workload(NamedTuple):
    config: AlbertConfig
    size: int
    length: int
    padding: str | None = None  # lengths of texts as "the demo" or "GLUE" has them; None: all are full

    @property
    def predictions(self):
        return RECIPE.recipe.max_predictions if self.padding == "the demo" else max(1, round(0.15 * self.length))

    def batch(self):
        if self.padding == "the demo":
            return demo_batch(self.size)
        rng = np.random.default_rng(1)
        config, shape, slots = self.config, (self.size, self.length), (self.size, self.predictions)
        lengths = glue_lengths(self.size, self.length) if self.padding else np.full(self.size, self.length)
        mask = np.arange(self.length) < lengths[:, None]
        used = np.arange(self.predictions) < np.maximum(1, np.round(0.15 * lengths))[:, None]
        places = np.where(mask, rng.random(shape), 2.0).argsort(axis=1)  # those of tokens first
        return Batch.random(config, *shape, self.predictions)._replace(
            input_ids=rng.integers(5, config.vocab_size, shape) * mask,
            attention_mask=mask.astype(np.int64),
            token_type_ids=(mask & (np.arange(self.length) >= lengths[:, None] // 2)).astype(np.int64),
            mlm_positions=places[:, : self.predictions] * used,
            mlm_labels=rng.integers(5, config.vocab_size, slots) * used,
            mlm_weights=used.astype(np.float32),
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


def glue_lengths(size, longest):
    """Quantiles of a log-normal distribution of median 27, mean 30: the mean of GLUE's sentence pairs, in any order."""
    shares = (np.arange(size) + 0.5) / size
    quantiles = [NormalDist(math.log(27), 0.46).inv_cdf(share) for share in shares]
    lengths = np.clip(np.round(np.exp(quantiles)), 6, longest).astype(int)
    return np.random.default_rng(2).permutation(lengths)


def demo_corpus():
    tokenizer = WordTokenizer(WORLDS.words())
    return Corpus.from_documents(WORLDS.documents(0, 2000), tokenizer), tokenizer


def demo_batch(size):
    """A batch of `make demo`."""
    return next(Instances(*demo_corpus(), RECIPE.recipe).batches(size))


def demo_config():
    return RECIPE.change(vocab_size=len(WordTokenizer(WORLDS.words()).word_starts)).model


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
    "the demo, 64 × 32, padded": Workload(demo_config(), 64, 32, "the demo"),
    "ALBERT-base, 8 × 128, GLUE": Workload(BASE, 8, 128, "GLUE"),
}
CASES = {
    # name: (workload, is the peer tuned, bf16)
    f"{name}, {kind}": (name, "tuned" in kind, "bf16" in kind)
    for name, work in WORKLOADS.items()
    for kind in ("as released", "tuned", "bf16 as released", "bf16 tuned")
    if "bf16" not in kind or (work.config is BASE and not missing("fused", "bf16", "cpu"))
    if "tuned" in kind or not work.padding
}
