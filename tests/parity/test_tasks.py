"""Heads of tasks against transformers' models: scores, loss and every gradient, loaded in both directions."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")
transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")

from minalbert import Albert, AlbertConfig  # noqa: E402
from minalbert.interop.state_dict import from_state_dict  # noqa: E402
from minalbert.tasks.gradient import loss_and_grads  # noqa: E402
from minalbert.tasks.objectives import (  # noqa: E402
    Answers,
    AnswerSpans,
    Choices,
    HeadContext,
    Labels,
    Numbers,
    TokenLabels,
)

SIZES = {"vocab_size": 50, "embedding_size": 8, "hidden_size": 12, "num_hidden_layers": 3, "num_attention_heads": 3,
         "intermediate_size": 20, "max_position_embeddings": 16}  # fmt: skip
STILL = {"classifier_dropout_prob": 0.0, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
B, T, C = 6, 9, 3
RNG = np.random.default_rng(0)
LENGTHS = np.array([9, 7, 4, 9, 5, 3])
MASK = (np.arange(T) < LENGTHS[:, None]).astype(int)
INPUTS = RNG.integers(1, 50, (B, T)) * MASK, MASK, RNG.integers(0, 2, (B, T)) * MASK
TOKENS = np.where(MASK, RNG.integers(0, 4, (B, T)), -100)
SPANS = np.array([[1, 3], [2, 2], [0, 0], [4, 8], [30, 30], [1, 2]])  # one outside of its window
CASES = {
    "AlbertForSequenceClassification": (Labels(4), {"num_labels": 4}, RNG.integers(0, 4, B)),
    "AlbertForSequenceClassification, a number": (Numbers(), {"num_labels": 1}, RNG.random(B) * 5),
    "AlbertForMultipleChoice": (Choices(C), {}, RNG.integers(0, C, B // C)),
    "AlbertForTokenClassification": (TokenLabels(4), {"num_labels": 4}, TOKENS),
    "AlbertForQuestionAnswering": (AnswerSpans(), {}, Answers(SPANS, MASK == 0)),
}


def theirs(name, tmp_path):
    """A random model of transformers, and its directory."""
    _, settings, _ = CASES[name]
    torch.manual_seed(1)
    config = transformers.AlbertConfig(**SIZES, **STILL, **settings)
    model = getattr(transformers, name.split(",")[0])(config).double()
    for tensor in model.parameters():
        torch.nn.init.normal_(tensor, std=0.3)
    model.eval().save_pretrained(tmp_path / "theirs")
    return model


def answer_of(model, labels):
    ids, mask, types = map(torch.tensor, INPUTS)
    if isinstance(model, transformers.AlbertForMultipleChoice):
        ids, mask, types = (array.reshape(B // C, C, T) for array in (ids, mask, types))
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
    if isinstance(model, transformers.AlbertForQuestionAnswering):
        return answer_in_the_text(model(**given), torch.tensor(labels.spans))
    found = model(**given, labels=torch.tensor(labels))
    return found.loss, found.logits


def answer_in_the_text(found, spans):
    """Their loss, but nothing of it goes to padding, to which ours gives no probability."""
    scores = torch.stack([found.start_logits, found.end_logits], axis=-1)
    scores = scores.masked_fill(torch.tensor(MASK == 0)[..., None], -1e30)
    spans = spans.masked_fill(spans >= T, T)
    losses = [torch.nn.functional.cross_entropy(scores[..., i], spans[:, i], ignore_index=T) for i in (0, 1)]
    return sum(losses) / 2, scores


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("name", CASES)
def test_scores_loss_and_gradients_are_those_of_transformers(name, kernels, tmp_path):
    objective, _, labels = CASES[name]
    peer = theirs(name, tmp_path)
    loss, scores = answer_of(peer, labels)
    loss.backward()
    model = Albert.from_pretrained(tmp_path / "theirs", kernels=kernels)
    hidden, pooled = model.encode(*INPUTS)
    x, ctx = {"hidden": hidden, "pooled": pooled}[objective.reads], HeadContext(model.params, model.config)
    found = objective.scores(x, ctx, labels.barred) if isinstance(labels, Answers) else objective.scores(x, ctx)
    there = MASK[..., None] if objective.reads == "hidden" else 1
    np.testing.assert_allclose(found * there, scores.detach().numpy() * there, atol=1e-12)
    own, grads = loss_and_grads(model, objective, INPUTS, labels)
    assert float(own) == pytest.approx(loss.item(), rel=1e-12)
    right = from_state_dict({name: parameter.grad if parameter.grad is not None else torch.zeros_like(parameter)
                             for name, parameter in peer.named_parameters()}, model.config)  # fmt: skip
    right["embeddings.word"] = right["embeddings.word"].copy()
    right["embeddings.word"][0] = grads["embeddings.word"][0]  # theirs of padding is always zero
    for tensor in grads:
        np.testing.assert_allclose(grads[tensor], right[tensor], atol=1e-12, err_msg=tensor)


@pytest.mark.parametrize("name", CASES)
def test_transformers_reads_what_we_save(name, tmp_path):
    objective, _, labels = CASES[name]
    theirs(name, tmp_path)
    model = Albert.from_pretrained(tmp_path / "theirs")
    model.params.flat *= 1.01
    model.save_pretrained(tmp_path / "ours")
    kind = getattr(transformers, name.split(",")[0])
    again, report = kind.from_pretrained(tmp_path / "ours", dtype=torch.float64, output_loading_info=True)
    assert not any(report.values())
    own, _ = loss_and_grads(model, objective, INPUTS, labels)
    assert float(own) == pytest.approx(answer_of(again.eval(), labels)[0].item(), rel=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_ours_is_saved_for_transformers(name, tmp_path):
    objective, _, labels = CASES[name]
    model = Albert.init(AlbertConfig(**SIZES), heads=objective.heads, outputs=objective.outputs, dtype="float64")
    model.save_pretrained(tmp_path / "ours")
    config = transformers.AutoConfig.from_pretrained(tmp_path / "ours")
    kind = getattr(transformers, name.split(",")[0])
    assert config.num_labels == objective.outputs
    assert config.architectures == [kind.__name__] or objective.outputs == 1
    again = kind.from_pretrained(tmp_path / "ours", dtype=torch.float64)
    own, _ = loss_and_grads(model, objective, INPUTS, labels)
    assert float(own) == pytest.approx(answer_of(again.eval(), labels)[0].item(), rel=1e-12)
