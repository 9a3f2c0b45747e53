"""The cases of the gradient check for the heads of tasks: each a pair over its input and its own tensors."""

import numpy as np

from ..backend import DropoutKey
from ..model import answer, tasks
from ..params import Params, shapes
from .pair_case import PairCase

KEY = DropoutKey(seed=7, step=3)


def task_cases(config, B, T, seed=0):
    """A case for every head and every loss of `model.tasks` and `model.answer`."""
    rng, outputs, H = np.random.default_rng(seed), 3, config.hidden_size
    pooled, hidden = rng.standard_normal((B, H)), rng.standard_normal((B, T, H))
    scores, labels = rng.standard_normal((B, T, outputs)), rng.integers(-1, outputs, (B, T))
    labels[0, 0] = 1                                 # one at least
    spans, barred = np.array([[1, T - 1], [0, T + 2]]), np.arange(T) == np.array([[2], [3]])
    ends, impossible = np.array([[1, T - 1], [0, 0]]), np.array([0, 1])

    def head(name, x, module, **given):
        forward, backward = getattr(module, f"{name}_forward"), getattr(module, f"{name}_backward")
        tensors = hard_head(config, name, outputs, rng)

        def of_values(x, *values):
            return forward(x, dict(zip(tensors, values, strict=True)), **given)

        def gradients(dscores, cache):
            grads = Params.zeros(tensors.shapes, np.float64)
            return backward(dscores, cache, grads), *grads.values()

        return of_values, gradients, {"x": x, **tensors}

    def loss(name, **given):
        forward, backward = getattr(tasks, f"{name}_loss_forward"), getattr(tasks, f"{name}_loss_backward")
        return (lambda x: forward(x, **given)), (lambda dloss, cache: (backward(dloss, cache),))

    def joined(name, module, *labels, **given):
        """A head and its loss as one pair: where an answer is barred, its scores are too large to be compared."""
        forward, backward, args = head(name, hidden, module, **given)

        def of_values(x, *values):
            scores, cache = forward(x, *values)
            y, last = getattr(module, f"{name}_loss_forward")(scores, *labels)
            return y, (cache, last)

        def gradients(dloss, cache):
            cache, last = cache
            return backward(getattr(module, f"{name}_loss_backward")(dloss, last), cache)

        return of_values, gradients, args

    dropped = {"rate": 0.4, "key": KEY}
    answered = {"barred": barred, "starts": ends[:, :1], "eps": 0.1, **dropped}
    return [
        PairCase("head, classifier", *head("classifier", pooled, tasks, **dropped)),
        PairCase("head, classifier of tokens", *head("classifier", hidden, tasks, **dropped)),
        PairCase("head, span", *joined("span", tasks, ends, barred=barred)),
        PairCase("head, answer", *joined("answer", answer, ends, impossible, **answered)),
        PairCase("loss, labels", *loss("label", labels=labels), {"scores": scores}),
        PairCase("loss, number", *loss("number", labels=rng.standard_normal(B)), {"scores": scores[:, 0, :1]}),
        PairCase("loss, span", *loss("span", spans=spans), {"scores": scores[..., :2]}),
    ]


def hard_head(config, name, outputs, rng):
    """Tensors of a head: no gain is one, no bias zero."""
    wanted = {key: shape for key, shape in shapes(config, (name,), outputs).items() if key.startswith(f"{name}.")}
    tensors = Params.zeros(wanted, np.float64)
    for tensor in tensors.values():
        tensor[...] = rng.standard_normal(tensor.shape)
    return tensors
