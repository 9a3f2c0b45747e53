"""The head of SQuAD 2.0 against one built in PyTorch from its description: scores, loss, every gradient."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="parity needs torch (pip install 'minalbert[parity]')")

from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, layer_norm  # noqa: E402

from minalbert import PRESETS, Albert, Batch  # noqa: E402
from minalbert.model.answer import answer_forward  # noqa: E402
from minalbert.params import count  # noqa: E402
from minalbert.tasks.gradient import loss_and_grads  # noqa: E402
from minalbert.tasks.objectives import Answers, MaybeAnswers  # noqa: E402

CONFIG = PRESETS["tiny"].replace(vocab_size=60)
H, B, T = CONFIG.hidden_size, 5, 11
RNG = np.random.default_rng(3)
BARRED = (np.arange(T) >= 9) | ((np.arange(T) > 0) & (np.arange(T) < 4)) | np.zeros((B, 1), bool)
SPANS = np.array([[4, 6], [0, 0], [8, 8], [0, 0], [5, 8]])
IMPOSSIBLE = (SPANS[:, 1] == 0).astype(int)


def heads_weights():
    model = Albert.init(CONFIG, heads=("answer",), dtype="float64")
    for name, tensor in model.params.select("answer.").items():
        tensor[...] = RNG.standard_normal(tensor.shape) * 0.2 + name.endswith("gain")
    return model


def rebuilt(hidden, params, starts, barred=BARRED):
    """As the released code computes it: each position beside the start, in one matrix of 2 H rows."""
    barred, (B, T, H) = torch.tensor(barred), hidden.shape
    start = (hidden @ params["answer.start.w"] + params["answer.start.b"])[..., 0]
    start = start * (1 - barred.double()) - 1e30 * barred
    first = hidden[torch.arange(B)[:, None], starts]  # (B, S, H)
    S = first.shape[1]
    beside = torch.cat([hidden[:, None].expand(-1, S, -1, -1), first[:, :, None].expand(-1, -1, T, -1)], dim=-1)
    x = torch.tanh(beside @ params["answer.end.w"] + params["answer.end.b"])
    x = layer_norm(x, (H,), params["answer.end.norm.gain"], params["answer.end.norm.bias"], CONFIG.layer_norm_eps)
    end = (x @ params["answer.end.score.w"] + params["answer.end.score.b"])[..., 0]
    end = end * (1 - barred.double())[:, None] - 1e30 * barred[:, None]
    mean = torch.einsum("bt,bth->bh", torch.softmax(start, dim=-1), hidden)
    x = torch.cat([mean, hidden[:, 0]], dim=-1) @ params["answer.unanswerable.w"] + params["answer.unanswerable.b"]
    return start, end, (torch.tanh(x) @ params["answer.unanswerable.score.w"])[:, 0]


def test_the_head_has_as_many_weights_as_the_released_one():
    for name, weights in (("albert-base-v2", 2_364_674), ("albert-xxlarge-v2", 67_137_538)):
        config = PRESETS[name]
        assert (
            count(config, ("answer",)) - count(config, ())
            == weights
            == 4 * config.hidden_size**2 + 7 * (config.hidden_size) + 2
        )


@pytest.mark.parametrize("S", [1, 5])
def test_scores_are_those_of_the_released_head(S):
    model, hidden = heads_weights(), RNG.standard_normal((B, T, H))
    starts = RNG.integers(0, T, (B, S))
    found, _ = answer_forward(hidden, model.params, BARRED, starts, CONFIG.layer_norm_eps)
    params = {name: torch.tensor(tensor) for name, tensor in model.params.items()}
    for mine, theirs in zip(found, rebuilt(torch.tensor(hidden), params, torch.tensor(starts)), strict=True):
        np.testing.assert_allclose(mine, theirs.numpy(), atol=1e-12)


def test_loss_and_gradients_are_those_of_the_released_head():
    model = heads_weights()
    inputs = Batch.random(CONFIG, B, T, 1)[:3]
    inputs = inputs[0], np.ones((B, T), int), inputs[2]
    loss, grads = loss_and_grads(model, MaybeAnswers(), inputs, Answers(SPANS, BARRED, IMPOSSIBLE))

    encoding = model.forward(*inputs)
    hidden = torch.tensor(encoding.hidden, requires_grad=True)
    params = {name: torch.tensor(tensor, requires_grad=True) for name, tensor in model.params.select("answer.").items()}
    spans = torch.tensor(SPANS)
    start, end, unanswerable = rebuilt(hidden, params, spans[:, :1])
    theirs = cross_entropy(start, spans[:, 0]) + cross_entropy(end[:, 0], spans[:, 1])
    theirs = (theirs + binary_cross_entropy_with_logits(unanswerable, torch.tensor(IMPOSSIBLE).double())) / 2
    theirs.backward()

    assert float(loss) == pytest.approx(theirs.item(), rel=1e-12)
    for name, tensor in params.items():
        np.testing.assert_allclose(grads[name], tensor.grad.numpy(), atol=1e-12, err_msg=name)
    trunk = encoding.backward(dhidden=hidden.grad.numpy())
    for name in (name for name in grads if not name.startswith("answer.")):
        np.testing.assert_allclose(grads[name], trunk[name], atol=1e-12, err_msg=name)
