"""A small language, and a model for it: what exercise 11's training run learns in half a second.

A text has a topic, one of four. Its first part has four words of the three that begin this topic, its second part four
of the three that end it; half of the texts have their parts swapped, which is what SOP asks. Of the eight words two
are masked. Who knows nothing but the 24 words' frequencies has an MLM loss of log 24 = 3.18; who sees the topic, log 6
= 1.79; who sees topic and part, log 3 = 1.10, and less is not possible.

`language` is any whole number: it chooses which words belong together, the texts, and the model's first weights.
"""

import numpy as np

from minalbert.albert import Albert
from minalbert.batch import Batch
from minalbert.config import AlbertConfig

CLS, SEP, MASK, ORDINARY = 2, 3, 4, 5
TOPICS, PARTS, WORDS = 4, 2, 3
SIZE, BATCHES, HELD_OUT = 32, 20, 4                  # texts of a batch, batches to train on, batches to measure with

CONFIG = AlbertConfig(
    vocab_size=ORDINARY + TOPICS * PARTS * WORDS, embedding_size=16, hidden_size=16, num_hidden_layers=2,
    num_attention_heads=2, intermediate_size=32, max_position_embeddings=11, initializer_range=0.2,
)  # fmt: skip


def new_model(language):
    return Albert.init(CONFIG, language)


def training_batches(language):
    """640 texts, as a list of 20 batches."""
    return [batch_of(language, number) for number in range(BATCHES)]


def held_out_batches(language):
    """128 other texts, as a list of 4 batches."""
    return [batch_of(language, number) for number in range(BATCHES, BATCHES + HELD_OUT)]


def batch_of(language, number):
    words = ORDINARY + np.random.default_rng(language).permutation(TOPICS * PARTS * WORDS)
    words = words.reshape(TOPICS, PARTS, WORDS)
    rng = np.random.default_rng((language, number))
    topics = rng.integers(TOPICS, size=(SIZE, 1))
    text = words[topics, np.repeat([0, 1], 4), rng.integers(WORDS, size=(SIZE, 8))]                   # (B, 8)
    swapped = rng.integers(2, size=SIZE)
    text = np.where(swapped[:, None] == 1, np.roll(text, 4, axis=1), text)
    cls, sep = np.full((SIZE, 1), CLS), np.full((SIZE, 1), SEP)
    ids = np.concatenate([cls, text[:, :4], sep, text[:, 4:], sep], axis=1)                           # (B, 11)
    places = np.tile([1, 2, 3, 4, 6, 7, 8, 9], (SIZE, 1))
    positions = np.sort(rng.permuted(places, axis=1)[:, :2])
    labels = np.take_along_axis(ids, positions, axis=1)
    np.put_along_axis(ids, positions, MASK, axis=1)
    return Batch(
        input_ids=ids, attention_mask=np.ones_like(ids), token_type_ids=np.tile(np.arange(11) > 5, (SIZE, 1)) + 0,
        mlm_positions=positions, mlm_labels=labels, mlm_weights=np.ones(labels.shape), sop_labels=swapped,
    )  # fmt: skip
