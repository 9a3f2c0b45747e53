"""What fine-tuning leaves is a model of transformers for the same task, with the same logits and labels' names."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
sys.path.insert(0, str(Path(__file__).parents[1]))
from small_task import small_place, train  # noqa: E402

from minalbert.tasks import open_task  # noqa: E402
from minalbert.tasks.objectives import HeadContext  # noqa: E402
from minalbert.train import open_trained  # noqa: E402


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return small_place(tmp_path_factory.mktemp("place"))


@pytest.mark.parametrize(("files", "theirs"), [("before", "AutoModelForSequenceClassification"),
                                               ("next", "AutoModelForMultipleChoice")])  # fmt: skip
def test_transformers_opens_what_was_fine_tuned(place, tmp_path, files, theirs):
    train(tmp_path / "run", place, files, steps=4)
    model, tokenizer, directory = open_trained(tmp_path / "run")
    kept = json.loads((directory / "config.json").read_text())
    kind = getattr(transformers, theirs)
    other, report = kind.from_pretrained(directory, output_loading_info=True)
    assert type(other).__name__ == kept["architectures"][0]
    assert [*report["missing_keys"], *report["unexpected_keys"]] == []
    task = open_task(**kept["minalbert_task"], place=place / files)
    if task.kind == "label":
        assert list(other.config.id2label.values()) == list(task.columns.labels)
    examples = task.examples("dev", tokenizer)
    inputs, _ = task.batch([examples[i] for i in range(6)])
    pooled = model.encode(*inputs)[1]
    ours = task.objective().scores(pooled, HeadContext(model.params, model.config))
    shape = inputs.input_ids.shape if task.kind == "label" else (6, -1, inputs.input_ids.shape[1])
    names = "input_ids", "attention_mask", "token_type_ids"
    given = {name: torch.tensor(array).reshape(shape) for name, array in zip(names, inputs, strict=True)}
    with torch.no_grad():
        logits = other.eval()(**given).logits.numpy()
    assert np.abs(logits - ours).max() < 1e-5
