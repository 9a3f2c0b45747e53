"""Pseudo-log-likelihoods, beside the plainest way to compute them, and how pairs are judged by them."""

import numpy as np
import pytest
from test_task import SIZES, TOKENIZER

from minalbert import Albert, AlbertConfig
from minalbert.data.tiny_worlds.tasks import write_tasks
from minalbert.data.tokenizer import CLS, MASK, SEP
from minalbert.errors import DataError, InputError
from minalbert.tasks import minimal_pairs, pseudo_log_likelihoods

TEXTS = ["ada fell .", "emil bought an easel .", "karl swept the porch with a mop .", "the the the"]


@pytest.fixture(scope="module")
def model():
    model = Albert.init(AlbertConfig(**SIZES), heads=("mlm",), dtype="float64")
    model.params.flat[...] = np.random.default_rng(0).normal(0, 0.3, model.params.flat.shape)
    return model


def by_brute_force(model, text):
    """One sequence at a time, scores at all of its tokens, and a softmax written out."""
    ids, total = [CLS, *TOKENIZER.encode(text), SEP], 0.0
    for place in range(1, len(ids) - 1):
        one = [MASK if i == place else id for i, id in enumerate(ids)]
        scores = model.mlm_logits(model.encode([one])[0])[0, place]
        total += scores[ids[place]] - np.log(sum(np.exp(score) for score in scores))
    return total


def test_pseudo_log_likelihoods_are_those_of_brute_force(model):
    found = pseudo_log_likelihoods(model, TOKENIZER, TEXTS)
    assert found == pytest.approx([by_brute_force(model, text) for text in TEXTS], rel=1e-12)
    assert len(set(found)) == len(TEXTS)


def test_pairs_are_counted_by_phenomenon(model, tmp_path):
    write_tasks(tmp_path, train=2, dev=48)
    path = tmp_path / "grammar" / "dev.tsv"
    found = minimal_pairs(model, TOKENIZER, path)
    _, *lines = (line.split("\t") for line in path.read_text().splitlines())
    right = {"all": []}
    for _, phenomenon, first, second, label in lines:
        good, bad = (first, second) if label == "first" else (second, first)
        prefers = by_brute_force(model, good) > by_brute_force(model, bad)
        right.setdefault(phenomenon, []).append(prefers)
        right["all"].append(prefers)
    assert found == {name: np.mean(each) for name, each in right.items()}
    assert [*found][-1] == "all"
    assert {*found} == {"article", "gender", "case", "order", "all"}


def test_what_cannot_be_judged_is_one_sentence(model, tmp_path):
    for texts, said in ((["ada fell .", " "], "text 1 has 0 tokens"), (["a " * 63], "text 0 has 63 tokens")):
        with pytest.raises(InputError, match=f"{said}; it must have from 1 to 62, which the model reads"):
            pseudo_log_likelihoods(model, TOKENIZER, texts)
    with pytest.raises(InputError, match="this model has no mlm head"):
        pseudo_log_likelihoods(Albert.init(model.config, heads=("pooler",)), TOKENIZER, TEXTS)
    path = tmp_path / "pairs.tsv"
    path.write_text("phenomenon\tsentence1\tsentence2\tlabel\norder\ta b\tb a\tthird\n")
    with pytest.raises(DataError, match=r"pairs\.tsv:2: column 'label' is 'third'; it must be one of: first, second"):
        minimal_pairs(model, TOKENIZER, path)
