"""What attention looked at: ours and the `attentions` of transformers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")
pytest.importorskip("transformers", reason="parity needs transformers (pip install 'minalbert[parity]')")

from test_transformers import CASES, make_batch, make_model, make_peer  # noqa: E402

from minalbert import Batch  # noqa: E402

NAMES = (
    "all shared",
    "heads of width 5",
    "one head",
    "2 groups",
    "nothing shared",
    "attention shared",
    "three segments",
)


@pytest.mark.parametrize("name", NAMES)
def test_attention_maps_are_theirs(name, tmp_path):
    model, batch = make_model(CASES[name]), make_batch(CASES[name])
    peer = make_peer(model, tmp_path)
    with torch.no_grad():
        inputs = {key: torch.tensor(getattr(batch, key)) for key in Batch._fields[:3]}
        theirs = peer(**inputs, output_attentions=True).attentions
    ours = model.attention_maps(*batch[:3])
    assert len(ours) == len(theirs) == CASES[name].num_hidden_layers
    for mine, their in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, their.numpy(), rtol=0, atol=1e-12)
