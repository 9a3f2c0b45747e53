"""The first twenty losses of a fine-tuning of ours, for each head, and of PyTorch with the same weights and batches.

Theirs: transformers' model for the task from our checkpoint of step 0, for SQuAD 2.0 its AlbertModel under the head
that test_answers.py builds; torch.optim.AdamW, and the whole batch at once where we add micro-batches.
"""

import json
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")
transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")

sys.path.extend(map(str, Path(__file__).parents[:2]))
from small_task import small_place, small_settings, train  # noqa: E402
from test_answers import rebuilt  # noqa: E402
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy  # noqa: E402

from minalbert import Albert  # noqa: E402
from minalbert.tasks import finetuning  # noqa: E402
from minalbert.tasks.objectives import Answers  # noqa: E402
from minalbert.train.log import read_lines  # noqa: E402

STEPS, PEAK, WARMUP = 20, 0.01, 4
SETTINGS = {
    "steps": STEPS, "rate": PEAK, "warmup": WARMUP, "dtype": "float64", "log_every": 1, "dropout": 0.0,
    "classifier_dropout": 0.0, "weight_decay": 0.1, "spikes": "note", "evaluate_every": 100, "dev_examples": 4,
    "keep": 100,
}  # fmt: skip
HEADS = {
    "label": ("topic", {}, "AlbertForSequenceClassification"),
    "label, frozen": ("topic", {"frozen": True}, "AlbertForSequenceClassification"),
    "number": ("lengths", {"kind": "number"}, "AlbertForSequenceClassification"),
    "choice": ("next", {}, "AlbertForMultipleChoice"),
    "token": ("words", {"task": "tokens"}, "AlbertForTokenClassification"),
    "span": ("answerable", {"task": "squad1"}, "AlbertForQuestionAnswering"),
    "answer": ("spans1", {}, "AlbertModel"),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = small_place(tmp_path_factory.mktemp("place"))
    for split in ("train", "dev"):
        path = place / "answerable" / f"{split}-v1.1.json"
        path.parent.mkdir(exist_ok=True)
        data = json.loads((place / "spans1" / f"{split}-v2.0.json").read_text())
        data["data"] = [
            {**text, "paragraphs": [p for p in text["paragraphs"] if not p["qas"][0]["is_impossible"]]}
            for text in data["data"]
        ]
        path.write_text(json.dumps(data))
        (place / "lengths").mkdir(exist_ok=True)
        _, *lines = (place / "before" / f"{split}.tsv").read_text().splitlines()
        rows = [f"{line.split(chr(9))[1]}\t{len(line) / 30}" for line in lines]
        (place / "words").mkdir(exist_ok=True)
        sentences = ["".join(f"{word}\t{len(word) % 3}\n" for word in line.split("\t")[1].split()) for line in lines]
        (place / "words" / f"{split}.conll").write_text("\n".join(sentences))
        (place / "lengths" / f"{split}.tsv").write_text("\n".join(["sentence\tlabel", *rows]) + "\n")
    return place


def theirs(kind, directory, frozen=False):
    """A model of transformers from a checkpoint of ours: what learns, and its loss, a function of inputs and labels."""
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    extra = {"add_pooling_layer": False} if kind == "AlbertModel" else {}
    model = getattr(transformers, kind).from_pretrained(directory, dtype=torch.float64, **extra).eval()
    model.base_model.embeddings.word_embeddings.padding_idx = None  # Google's code trains that row like any other
    for name, tensor in model.named_parameters():
        tensor.requires_grad_(not frozen or any(head in name for head in ("pooler", "classifier")))
    weights = [tensor for tensor in model.parameters() if tensor.requires_grad]
    if kind != "AlbertModel":
        return weights, lambda inputs, labels: loss_of(model, inputs, labels)
    own = Albert.from_pretrained(directory, "float64").params.select("answer.").items()
    head = {name: torch.tensor(tensor, requires_grad=True) for name, tensor in own}
    return [*weights, *head.values()], lambda inputs, labels: answer_loss(model, head, inputs, labels)


def loss_of(model, inputs, labels):
    if not isinstance(labels, Answers):
        labels = torch.tensor(np.where(labels < 0, -100, labels) if labels.dtype.kind == "i" else labels)
        if isinstance(model, transformers.AlbertForMultipleChoice):
            inputs = {name: array.reshape(len(labels), -1, array.shape[1]) for name, array in inputs.items()}
        return model(**inputs, labels=labels).loss
    found, spans, barred = model(**inputs), torch.tensor(labels.spans), torch.tensor(labels.barred)
    ends = [scores.masked_fill(barred, -1e30) for scores in (found.start_logits, found.end_logits)]
    return sum(cross_entropy(scores, spans[:, i]) for i, scores in enumerate(ends)) / 2


def answer_loss(model, head, inputs, labels):
    hidden, spans = model(**inputs).last_hidden_state, torch.tensor(labels.spans)
    start, end, unanswerable = rebuilt(hidden, head, spans[:, :1], labels.barred)
    there = binary_cross_entropy_with_logits(unanswerable, torch.tensor(labels.impossible).double())
    return (cross_entropy(start, spans[:, 0]) + cross_entropy(end[:, 0], spans[:, 1]) + there) / 2


def their_losses(weights, loss_of, batches):
    groups = [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": SETTINGS["weight_decay"]},
        {"params": [w for w in weights if w.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, eps=1e-6)
    for step, (inputs, labels) in enumerate(batches):
        rate = PEAK * step / WARMUP if step < WARMUP else PEAK * (1 - step / STEPS)
        for group in optimiser.param_groups:
            group["lr"] = rate
        optimiser.zero_grad()
        loss = loss_of(inputs, labels)
        loss.backward()
        norm = sum((w.grad**2).sum() for w in weights).sqrt()
        for w in weights:
            w.grad *= 1.0 / max(float(norm), 1.0)
        optimiser.step()
        yield float(loss.detach())


def whole(slices):
    """The batch that comes in slices, as they are: each as long as its own longest text."""
    length = max(one.input_ids.shape[1] for one in slices)
    ids, mask, types = (np.concatenate([longer(one[i], length) for one in slices]) for i in range(3))
    labels = [one.labels for one in slices]
    if isinstance(labels[0], Answers):
        spans, barred, impossible = zip(*labels, strict=True)
        barred = [longer(rows, length, True) for rows in barred]
        labels = Answers(*map(np.concatenate, (spans, barred, impossible)))
    else:
        labels = np.concatenate([longer(rows, length, -1) if rows.ndim == 2 else rows for rows in labels])
    names = "input_ids", "attention_mask", "token_type_ids"
    return {name: torch.tensor(array).long() for name, array in zip(names, (ids, mask, types), strict=True)}, labels


def longer(rows, length, value=0):
    return np.pad(rows, ((0, 0), (0, length - rows.shape[1])), constant_values=value)


@pytest.mark.parametrize("head", HEADS)
def test_a_fine_tuning_has_the_losses_of_one_in_pytorch(head, place, tmp_path):
    files, changes, kind = HEADS[head]
    train(tmp_path / "run", place, files, **SETTINGS | changes)
    ours = [line["loss"] for line in read_lines(tmp_path / "run") if line["kind"] == "train"]
    model = theirs(kind, tmp_path / "run" / "step-00000000", changes.get("frozen", False))
    job = finetuning.FineTuning(small_settings(place, files, **SETTINGS | changes))
    losses = their_losses(*model, map(whole, islice(job.batches(0), STEPS)))
    found = list(losses)
    np.testing.assert_allclose(ours, found, rtol=0, atol=1e-9)
    assert len(ours) == STEPS
    assert min(ours[-4:]) < ours[0]  # it has learnt, so the steps mattered
