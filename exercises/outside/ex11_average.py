import numpy as np
import torch

from . import ex11

FROM = f"{ex11.FROM}, and torch.optim.swa_utils.AveragedModel with beta 0.6"
STEPS, WARMUP, DECAY, PEAK, BETA = 6, 2, 3, 0.05, 0.6


def numbers():
    model, optimiser = ex11.prepared()
    averaged = torch.optim.swa_utils.AveragedModel(model, avg_fn=moved)
    rates = PEAK * np.array([0.5, 1.0, 1.0, 1.0, 1 - np.sqrt(1 / 3), 1 - np.sqrt(2 / 3)])
    losses = []
    for number, rate in enumerate(rates):
        losses.append(ex11.step(model, optimiser, number, float(rate)))
        averaged.update_parameters(model)
    return {"losses": np.array(losses), "held_out": np.array(held_out(averaged))}


def moved(average, weights, count):
    """The first of them, count = 0, is a copy."""
    return (average * (BETA - BETA ** (count + 1)) + weights * (1 - BETA)) / (1 - BETA ** (count + 1))


@torch.no_grad()
def held_out(model):
    """The mean MLM loss of two batches' masked words together."""
    total, words = 0.0, 0
    for number in range(2):
        inputs, everywhere, _ = ex11.tensors(number)
        logits = model(**inputs).prediction_logits.flatten(0, 1)
        total += float(torch.nn.functional.cross_entropy(logits, everywhere.flatten(), reduction="sum"))
        words += int((everywhere >= 0).sum())
    return total / words
