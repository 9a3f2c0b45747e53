"""Which of two sentences does a model prefer? Minimal pairs differ in one mistake; no model is fine-tuned for them.

    found = minimal_pairs(model, tokenizer, "worlds/tasks/grammar/dev.tsv")
    found["article"], found["all"]                   # the shares of pairs of which it prefers the right one

A masked language model has no probability of a sentence. Its pseudo-log-likelihood takes its place (Salazar et al.,
2020):

    PLL(w) = Σ_i log p(w_i | w with [MASK] in place of w_i)          without [CLS] and [SEP]
"""

from collections import defaultdict
from statistics import mean

import numpy as np

from ..albert import Albert
from ..arguments import of_kind, path_of
from ..backend import to_host
from ..data.tokenizer import MASK, Tokenizer, check_belongs
from ..errors import DataError, InputError
from .decoding import log_softmax
from .sequences import single
from .tables import Columns, read_table

COLUMNS = Columns(("phenomenon", "sentence1", "sentence2"), "label", ("first", "second"))    # which one has no mistake


def pseudo_log_likelihoods(model, tokenizer, texts):
    """(n,) those of the texts"""
    of_kind("model", model, Albert)
    check_belongs(of_kind("tokenizer", tokenizer, Tokenizer), model.tokenizer_digest)
    longest, sequences = model.config.max_position_embeddings, []
    for number, ids in enumerate(tokenizer.encode_many(texts)):
        if not 0 < len(ids) <= longest - 2:
            raise InputError(f"text {number} has {len(ids)} tokens; it must have from 1 to {longest - 2}, which the "
                             "model reads beside [CLS] and [SEP]")
        sequences.append(np.array(single(ids).input_ids))
    return np.array([pseudo_log_likelihood(model, ids) for ids in sequences])


def pseudo_log_likelihood(model, ids):
    """ids: of a text, with [CLS] and [SEP]"""
    places = np.arange(1, len(ids) - 1)
    rows = np.arange(len(places))
    hidden_once = np.tile(ids, (len(places), 1))
    hidden_once[rows, places] = MASK
    states, _ = model.encode(hidden_once, positions=places[:, None])
    scores = to_host(model.mlm_logits(states)).astype(np.float64)[:, 0]
    return log_softmax(scores)[rows, ids[places]].sum()


def minimal_pairs(model, tokenizer, path):
    """{phenomenon: the share of its pairs of which the model prefers the one without a mistake}, and that of "all".

    path   of a file with the columns phenomenon, sentence1, sentence2 and label, which is "first" or "second"
    """
    pairs = read_table(path_of("path", path, DataError), COLUMNS).examples
    scores = pseudo_log_likelihoods(model, tokenizer, [text for pair in pairs for text in pair.texts[1:]])
    preferred = defaultdict(list)
    for pair, both in zip(pairs, scores.reshape(-1, 2), strict=True):
        for group in (pair.texts[0], "all"):
            preferred[group].append(bool(both[pair.label] > both[1 - pair.label]))
    return {group: mean(found) for group, found in sorted(preferred.items(), key=lambda item: item[0] == "all")}
