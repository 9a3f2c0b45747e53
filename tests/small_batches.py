"""A small model's config with dropout, and batches with padding where a test wants it."""

import numpy as np
import pytest

from minalbert import PRESETS, Batch, DropoutKey

CONFIG = PRESETS["tiny"].replace(hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, vocab_size=50)
KEY = DropoutKey(3, 7)
both_kernels = pytest.mark.parametrize("kernels", ["plain", "fused"])


def padded(masks, places, seed=0):
    """A batch with these attention masks, and a prediction at each of these places of an example, or an unused slot."""
    mask, places = np.array(masks), np.array(places)
    used, rng = places >= 0, np.random.default_rng(seed)
    return Batch(
        input_ids=rng.integers(0, 50, mask.shape),
        attention_mask=mask,
        token_type_ids=rng.integers(0, 2, mask.shape),
        mlm_positions=np.where(used, places, mask.shape[1] - 1),
        mlm_labels=rng.integers(0, 50, places.shape),
        mlm_weights=used * rng.choice([0.5, 1.0, 2.0], places.shape),
        sop_labels=rng.integers(0, 2, len(mask)),
    )
