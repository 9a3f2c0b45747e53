"""The first twenty losses of a run of ours, and of PyTorch with the same weights, batches and optimiser.

Theirs: AlbertForPreTraining from our checkpoint of step 0, torch.optim.AdamW, ALBERT's schedule as one formula. The
whole batch at once where we add micro-batches.
"""

import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")
transformers = pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")

sys.path.insert(0, str(Path(__file__).parent.parent))
from small_run import small_corpus, small_settings, train  # noqa: E402

from minalbert.data.order import batches  # noqa: E402
from minalbert.train.log import read_lines  # noqa: E402
from minalbert.train.training_data import prepare  # noqa: E402

STEPS, PEAK, WARMUP = 20, 0.02, 4
SETTINGS = {
    "steps": STEPS, "rate": PEAK, "warmup": WARMUP, "optimiser": "adamw", "dtype": "float64", "log_every": 1,
    "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "weight_decay": 0.1, "spikes": "note",
    "keep": 100, "every": 10,
}  # fmt: skip


def their_losses(directory, batches):
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    model = transformers.AlbertForPreTraining.from_pretrained(directory, dtype=torch.float64).train()
    model.sop_classifier.dropout.p = 0.0
    model.albert.embeddings.word_embeddings.padding_idx = None  # Google's code trains that row like any other
    weights = list(model.parameters())
    groups = [
        {"params": [w for w in weights if w.ndim > 1], "weight_decay": SETTINGS["weight_decay"]},
        {"params": [w for w in weights if w.ndim == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, eps=1e-6)
    for step, batch in enumerate(batches):
        rate = PEAK * step / WARMUP if step < WARMUP else PEAK * (1 - step / STEPS)
        for group in optimiser.param_groups:
            group["lr"] = rate
        ids, mask, types, positions, labels, used, orders = (torch.tensor(array).long() for array in batch)
        rows, slots = used.nonzero(as_tuple=True)
        everywhere = torch.full(ids.shape, -100)
        everywhere[rows, positions[rows, slots]] = labels[rows, slots]
        optimiser.zero_grad()
        inputs = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        loss = model(**inputs, labels=everywhere, sentence_order_label=orders).loss
        loss.backward()
        norm = sum((w.grad**2).sum() for w in weights).sqrt()
        for w in weights:
            w.grad *= 1.0 / max(float(norm), 1.0)
        optimiser.step()
        yield float(loss.detach())


def test_a_run_has_the_losses_of_one_in_pytorch(tmp_path):
    train(tmp_path, **SETTINGS)
    ours = [line["loss"] for line in read_lines(tmp_path) if line["kind"] == "train"]
    settings = small_settings(**SETTINGS)
    instances = prepare(settings, small_corpus()).instances
    in_slices = islice(batches(instances, settings.training.micro_batch, settings.slices), STEPS)
    whole = [[np.concatenate(arrays) for arrays in zip(*slices, strict=True)] for slices in in_slices]
    theirs = list(their_losses(tmp_path / "step-00000000", whole))
    assert len(ours) == len(theirs) == STEPS
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)
    assert ours[-1] < ours[0] - 0.5  # it has learnt, so the steps mattered
