"""The words that a decision depends on, against PyTorch's automatic gradients of transformers' models."""

import pytest
from test_shares import BARRED, SEQUENCE
from test_task import model_for

torch = pytest.importorskip("torch", reason="torch is not installed; make parity compares with it")
transformers = pytest.importorskip("transformers", reason="transformers is not installed; make parity compares with it")

from minalbert.tasks import open_task  # noqa: E402
from minalbert.tasks.shares import label_decision, span_decision, token_shares  # noqa: E402


def lead(outputs):
    return outputs.logits[0, 2] - outputs.logits[0, 1]


def span(outputs):
    return outputs.start_logits[0, 8] + outputs.end_logits[0, 10]


@pytest.mark.parametrize(
    ("name", "decision", "kind", "score"),
    [
        ("mnli", label_decision(2, 1), "AlbertForSequenceClassification", lead),
        ("squad1", span_decision(BARRED, 8, 10), "AlbertForQuestionAnswering", span),
    ],
)
def test_shares_are_those_of_automatic_gradients(name, decision, kind, score, tmp_path):
    model = model_for(open_task(name, max_length=64))
    model.save_pretrained(tmp_path)
    theirs, seen = getattr(transformers, kind).from_pretrained(tmp_path, dtype=torch.float64).eval(), []

    def see(module, inputs, x):
        x.retain_grad()
        seen.append(x)

    theirs.albert.encoder.embedding_hidden_mapping_in.register_forward_hook(see)
    ids, types = (torch.tensor([row]) for row in SEQUENCE)
    score(theirs(input_ids=ids, token_type_ids=types)).backward()
    expected = (seen[0] * seen[0].grad).sum(dim=-1)[0].detach().numpy()
    assert token_shares(model, SEQUENCE, decision) == pytest.approx(expected, rel=1e-9, abs=1e-12)
