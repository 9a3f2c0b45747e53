"""The small ALBERT that comes with minalbert: it is whole, small, and as good as what `minalbert demo` trains."""

import hashlib
import json

import numpy as np
import pytest

from minalbert import PRESETS, Albert, train
from minalbert.commands import main
from minalbert.commands.demo import STORIES, masked_story, step_sentences
from minalbert.errors import InputError
from minalbert.train.trained import SHIPPED

MOST = 500_000  # bytes


@pytest.fixture(scope="module")
def shipped():
    return train.open_trained()


def test_it_is_small_and_whole():
    files = {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    sums = json.loads(files["hashes.json"])
    assert hashlib.sha256(files["model.safetensors"]).hexdigest() in str(sums)
    assert sum(map(len, files.values())) <= MOST


def test_it_orders_sentences_that_it_has_not_read(shipped):
    right = []
    for index in range(STORIES, STORIES + 150):
        first, second = step_sentences(index)[:2]
        right += [train.swapped(*shipped[:2], first, second) < 0.5, train.swapped(*shipped[:2], second, first) > 0.5]
    assert np.mean(right) > 0.98  # one sentence a side: all are right


def test_it_guesses_words_that_it_has_not_read(shipped):
    found = [masked_story(*shipped[:2], index) for index in range(STORIES, STORIES + 100)]
    assert np.mean([story["word"] in [piece for piece, _ in story["guesses"]] for story in found]) > 0.85


def test_fill_needs_no_other_model(capsys):
    assert main(["fill", "franz dunked the [MASK] in the tub ."]) == 0
    assert "[MASK] may be" in capsys.readouterr().out


def test_what_cannot_be_ordered_is_refused(shipped):
    model, tokenizer, _ = shipped
    with pytest.raises(InputError, match="second is 3; it must be a text"):
        train.swapped(model, tokenizer, "she left .", 3)
    with pytest.raises(InputError, match=r"the text is 63 tokens long, .* the model reads at most 32"):
        train.swapped(model, tokenizer, "the " * 29, "the " * 29)
    with pytest.raises(InputError, match="sop"):
        train.swapped(
            Albert.init(PRESETS["tiny"].replace(vocab_size=tokenizer.vocab_size), heads=("mlm",)),
            tokenizer,
            "she left .",
            "he left .",
        )
