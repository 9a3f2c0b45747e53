"""The words that a decision depends on: their shares are derivatives, compared with numeric ones."""

import numpy as np
import pytest
from test_facts import saved
from test_fill import Pieces
from test_task import SIZES, TOKENIZER, model_for

from minalbert import PLAIN, Albert, AlbertConfig, Pair
from minalbert.errors import InputError
from minalbert.tasks import answer, classify, open_finetuned, open_task
from minalbert.tasks.decoding import log_softmax
from minalbert.tasks.sequences import pair, single
from minalbert.tasks.shares import answer_decision, label_decision, span_decision, token_shares, word_shares

SEQUENCE = pair([7, 30, 8, 30, 9], [11, 12, 30, 13, 40, 41])
BARRED = np.array([False, *[True] * 6, *[False] * 6, True])
DECISIONS = {
    "rte": label_decision(1, 0),
    "stsb": label_decision(0),
    "mnli": label_decision(2, 1),
    "squad1": span_decision(BARRED, 8, 10),
    "squad2": answer_decision(BARRED, 8, 10, 1e-12),
}


def score(model, decision, factors):
    """A decision's score where the first layer reads each token's vector times a factor: (T,)"""

    def forward(input_ids, token_type_ids, ctx):
        x, cache = PLAIN.embeddings.forward(input_ids, token_type_ids, ctx)
        return x * factors[:, None], cache

    pairs = PLAIN._replace(embeddings=Pair(forward, PLAIN.embeddings.backward))
    changed = Albert(model.config, model.params, pairs=pairs)
    encoding = changed.forward([SEQUENCE.input_ids], None, [SEQUENCE.token_type_ids])
    return decision.forward(getattr(encoding, decision.reads), model.params)[0]


def derivative(model, decision, direction, step=1e-5):
    ends = (score(model, decision, 1 + sign * step * direction) for sign in (1, -1))
    return (next(ends) - next(ends)) / (2 * step)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("name", DECISIONS)
def test_shares_are_derivatives(name, kernels):
    model, decision = model_for(open_task(name, max_length=64)), DECISIONS[name]
    T = len(SEQUENCE.input_ids)
    before = model.params.flat.copy()
    shares = token_shares(model.copy(kernels=kernels), SEQUENCE, decision)
    assert shares.shape == (T,)
    expected = [derivative(model, decision, direction) for direction in np.eye(T)]
    np.testing.assert_allclose(shares, expected, rtol=1e-6, atol=1e-8)
    assert shares.sum() == pytest.approx(derivative(model, decision, np.ones(T)), rel=1e-6, abs=1e-8)
    assert (model.params.flat == before).all()


def test_shares_go_through_pairs_of_ones_own_and_reversible_layers():
    task = open_task("rte", max_length=64)
    halves = []

    def mine(*args):
        halves.append(args)
        return PLAIN.ffn_half.forward(*args)

    model = model_for(task)
    expected = token_shares(model, SEQUENCE, DECISIONS["rte"])
    own = Albert(model.config, model.params, pairs=PLAIN._replace(ffn_half=Pair(mine, PLAIN.ffn_half.backward)))
    np.testing.assert_array_equal(token_shares(own, SEQUENCE, DECISIONS["rte"]), expected)
    assert len(halves) == model.config.num_hidden_layers
    config = AlbertConfig(**SIZES, reversible=True)
    model = Albert.init(config, 0, ("pooler", "classifier"), "float64")
    shares = token_shares(model, SEQUENCE, DECISIONS["rte"])
    assert shares.sum() == pytest.approx(derivative(model, DECISIONS["rte"], np.ones(len(shares))), rel=1e-6)


def test_the_pieces_of_a_word_are_added_up():
    pieces = Pieces()
    ids = pieces.encode("the cat in")
    assert [pieces.pieces[i] for i in ids] == ["▁the", "▁", "c", "a", "t", "▁", "i", "n"]
    config = AlbertConfig(**SIZES | {"vocab_size": pieces.vocab_size})
    model = Albert.init(config, 0, ("pooler", "classifier"), "float64")
    sequence = single(ids)
    tokens, words = token_shares(model, sequence, label_decision(1, 0)), None
    words = word_shares(model, pieces, sequence, label_decision(1, 0))
    assert [(word.kind, word.word) for word in words][:2] == [("special", "[CLS]"), ("A", "the")]
    assert [word.word for word in words][2:] == ["▁cat", "▁in", "[SEP]"]
    sums = [tokens[:1].sum(), tokens[1:2].sum(), tokens[2:6].sum(), tokens[6:9].sum(), tokens[9:].sum()]
    assert [word.share for word in words] == pytest.approx(sums)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Fine-tuned models of random weights, by the names of their tasks."""
    root = tmp_path_factory.mktemp("models")
    tasks = {name: open_task(name, max_length=64) for name in ("sst2", "mnli", "stsb", "squad1", "squad2")}
    return {name: open_finetuned(saved(root / name, task), kernels="plain") for name, task in tasks.items()}


def test_a_text_is_classified(models):
    found = classify(models["mnli"], "Ada saw the key.", "she saw it")
    assert [name for name, _ in found.labels] == sorted(
        ("contradiction", "entailment", "neutral"), key=lambda name: -dict(found.labels)[name]
    )
    assert sum(chance for _, chance in found.labels) == pytest.approx(1)
    first, second, _ = (name for name, _ in found.labels)
    assert (found.found, found.decides) == (first, f"{first} rather than {second}")
    assert [word.word for word in found.words] == "[CLS] ada saw the key . [SEP] she saw it . [SEP]".split()
    assert found.notes == ["a full stop was added, as each sentence of its training had one"]
    assert "".join(word.kind[0] for word in found.words) == "sAAAAAsBBBBs"
    model = models["mnli"].model
    ids, types = pair(*map(TOKENIZER.encode, ("ada saw the key .", "she saw it .")))
    pooled = model.encode([ids], None, [types])[1]
    scores = (pooled @ model.params["classifier.w"] + model.params["classifier.b"])[0]
    chances = np.exp(log_softmax(scores))
    assert dict(found.labels) == pytest.approx(
        dict(zip(("contradiction", "entailment", "neutral"), chances, strict=True))
    )


def test_a_number_has_no_labels(models):
    found = classify(models["stsb"], "ada saw it", "she saw it")
    assert (found.labels, found.decides) == ([], "a higher number")
    assert 0 <= float(found.found) <= 5


def test_a_long_text_is_cut(models):
    found = classify(models["sst2"], "ada saw it . " * 30)
    assert "the text is too long, and was cut to 64 tokens" in found.notes
    assert len(found.words) == 64


@pytest.mark.parametrize("name", ["squad1", "squad2"])
def test_an_answer_is_that_of_the_task(name, models):
    trained = models[name]
    context = "ada took the key . " * 24 + "nina saw the cup ."
    found = answer(trained, "Ada saw the cup?", context)
    assert found.windows > 2
    assert found.context == context
    for each in found.answers:
        assert context[slice(*each.characters)] == each.text
    assert sum(each.probability for each in found.answers) == pytest.approx(1)
    assert [word.word for word in found.words][:3] == ["[CLS]", "ada", "saw"]
    _, start, end = found.answers[0].tokens
    assert " ".join(word.word for word in found.words[start : end + 1]) == found.answers[0].text
    if name == "squad1":
        assert (found.none, found.found) == (None, found.answers[0].text)
    else:
        assert 0 < found.none < 1
        assert found.threshold == 0.5
        assert found.found == ("" if found.none > 0.5 else found.answers[0].text)


def test_the_words_of_an_answer_are_those_of_its_score(models):
    """Where there is one window, the share is of the very score that ranks the answer."""
    trained = models["squad1"]
    found = answer(trained, "ada saw the key", "nina had the cup . ada took the key .")
    _, start, end = found.answers[0].tokens
    ids, types = pair(*map(TOKENIZER.encode, ("ada saw the key .", "nina had the cup . ada took the key .")))
    hidden, _ = trained.model.encode([ids], None, [types])
    scores = hidden[0] @ trained.model.params["span.w"] + trained.model.params["span.b"]
    assert found.answers[0].score == pytest.approx(scores[start, 0] + scores[end, 1])


def test_a_task_of_another_kind_is_one_sentence(models):
    for call, sentence in (
        (
            lambda: classify(models["squad1"], "x"),
            "task squad1 has no labels of texts; minalbert answer is the command",
        ),
        (
            lambda: answer(models["sst2"], "x", "y"),
            "task sst2 has no questions about a text; minalbert classify is for",
        ),
        (lambda: classify(models["sst2"], "x", "y"), r"task sst2 is about one text \(sentence\); 2 were given"),
        (lambda: classify(models["mnli"], "x"), r"task mnli is about two texts \(sentence1, sentence2\); 1 were given"),
        (lambda: classify(models["sst2"], " \n"), r"the text is ' \\n'; it must have a word"),
        (lambda: answer(models["squad1"], "who", ""), "the text is ''; it must have a word"),
        (lambda: classify(models["sst2"], 5), "first is 5; it must be a text"),
        (lambda: classify(None, "x"), "trained is None; it must be a FineTuned"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()
