"""How well a model does on documents it has not seen, and what a model that knows nothing of them would do."""

from typing import Any, NamedTuple

import numpy as np

from ..albert import Albert
from ..arguments import like, of_kind
from ..backend import to_host
from ..batch import Batch
from ..data.shards import Corpus
from ..data.tokenizer import CLS, MASK, PAD, SEP
from ..layers import log_softmax
from ..parallel import ALONE
from .watch import milestones

ROWS = 64                                            # at a time
TOKENS = 2**24                                       # to count words in, at most


class Evaluation(NamedTuple):
    """Losses in nats. None where the model has no head for it; `sop` also means NSP, where pairs are made for that."""

    mlm_loss: float | None
    mlm_accuracy: float | None
    sop_loss: float | None
    sop_accuracy: float | None
    sop_recall_in_order: float | None                # of pairs in order, found to be so
    sop_recall_swapped: float | None

    def headline(self):
        return ("MLM", self.mlm_accuracy), ("SOP", self.sop_accuracy)


class Baselines(NamedTuple):
    """Without looking at the sentence. A model that is no better has learnt how frequent words are, and no more."""

    unigram_entropy: float                           # loss of guessing each word as often as it occurs
    most_frequent_word: float                        # accuracy of always guessing that one


class HeldOutTest(NamedTuple):
    """What a run is tested on, again and again: test(model) -> Evaluation."""

    batch: Batch
    baselines: Baselines
    pairs: str                                       # what the second segment is about: sop, nsp or none
    ranks: Any = ALONE                               # who share the work

    scores = Evaluation

    def __call__(self, model):
        return evaluate(model, self.batch, self.ranks)

    def milestones(self, found):
        return milestones(found, self.baselines, self.pairs)


def evaluate(model, batch, ranks=ALONE):
    """Score a model: means over the batch's targets and pairs. Ranks share the rows, and all find the same."""
    of_kind("model", model, Albert)
    of_kind("batch", batch, Batch).check(model.config)
    like("ranks", ranks, "parallel.ALONE or parallel.world()", "share", "gather")
    mlm, sop, begins = [], [], range(0, len(batch.sop_labels), ROWS)
    for first in begins[ranks.share(len(begins))]:
        rows = Batch(*(array[first : first + ROWS] for array in batch))
        hidden, pooled = model.encode(rows.input_ids, rows.attention_mask, rows.token_type_ids, rows.mlm_positions)
        if "mlm.bias" in model.params:
            used = rows.mlm_weights > 0
            logits = to_host(model.mlm_logits(hidden))[used]
            mlm.append(judged(logits, rows.mlm_labels[used]))
        if "sop.b" in model.params:
            sop.append(judged(to_host(model.sop_logits(pooled)), rows.sop_labels))
    mlm, sop = ([one for found in ranks.gather(own) for one in found] for own in (mlm, sop))
    mlm_scores, sop_scores = means(mlm) if mlm else [None] * 2, [None] * 4
    if sop and len(np.unique(batch.sop_labels)) == 2:         # else there is nothing to tell apart
        right = np.concatenate([right for _, right in sop])
        sop_scores = *means(sop), *(float(right[batch.sop_labels == label].mean()) for label in (0, 1))
    return Evaluation(*mlm_scores, *sop_scores)


def judged(logits, labels):
    """(each target's loss, whether the best guess is right)"""
    losses = -log_softmax(logits.astype(np.float64))[np.arange(len(labels)), labels]
    return losses, logits.argmax(-1) == labels


def means(scored):
    losses, right = (np.concatenate(column) for column in zip(*scored, strict=True))
    return float(losses.mean()), float(right.mean())


def baselines(corpus, batch):
    """What the frequencies of words in `corpus` are worth on the batch's targets."""
    of_kind("corpus", corpus, Corpus)
    of_kind("batch", batch, Batch)
    counts = np.zeros(corpus.vocab_size)
    for shard in corpus.shards:
        tokens = shard.tokens[: max(1, TOKENS // len(corpus.shards))]
        counts += np.bincount(tokens, minlength=corpus.vocab_size)
    counts += 1                                      # a word may be missing from what was counted
    counts[[PAD, CLS, SEP, MASK]] = 0                # never targets, as an unknown word may be
    labels = batch.mlm_labels[batch.mlm_weights > 0]
    chances = counts[labels] / counts.sum()
    entropy = -np.log(np.maximum(chances, 1e-300)).mean()
    return Baselines(float(entropy), float((labels == counts.argmax()).mean()))
