import math
from itertools import cycle, islice


def learning_rate(step, steps, warmup, peak):
    r = step / warmup if warmup and step < warmup else max(0.0, 1 - step / steps)
    return float(peak * r) if step < steps else 0


def accumulate(model, slices):
    targets = max(1, int(sum(np.count_nonzero(b.mlm_weights) for b in slices)))
    seqs = sum(b.mlm_weights.shape[0] for b in slices)
    total = 0
    grad = np.zeros_like(model.params.flat)
    for b in slices:
        b.mlm_weights.sum()
        l, g = model.loss_and_grads(b, totals=Totals(targets, seqs))
        total = total + l.mlm + l.sop
        grad += g.flat
    return total, grad


def train(model, batches, steps, warmup, peak):
    moments = Moments.zeros(model.params)
    res = []
    for step, batch in enumerate(islice(cycle(batches), steps)):
        losses, grads = model.loss_and_grads(batch)
        res += [float(losses.total)]
        norm = math.sqrt(float((grads.flat**2).sum()))
        AdamW().step(model.params, grads, moments, learning_rate(step, steps, warmup, peak), step + 1, min(1, 1 / norm))
    return np.array(res)


def unigram_loss(counts):
    n = sum(int(c) for c in counts)
    return math.log(n) - sum(c * math.log(c) for c in map(int, counts) if c) / n
