def learning_rate(step, steps, warmup, decay, peak):
    """By the whole run's rates, in an array."""
    rates = np.full(steps + 1, float(peak))
    rates[:warmup] *= np.arange(1, warmup + 1) / max(warmup, 1)
    rates[steps - decay : steps] *= 1 - np.sqrt(np.arange(decay) / max(decay, 1))
    rates[steps] = 0
    return rates[min(step, steps)]


def train(model, batches, steps, warmup, decay, peak, beta):
    from itertools import cycle, islice

    m, adam, grads, out, kept = Moments.zeros(model.params), AdamW(), model.params.zeros_like(), [], []
    for i, batch in enumerate(islice(cycle(batches), steps)):
        grads.flat.fill(0)
        losses, _ = model.loss_and_grads(batch, into=grads)
        out.append(losses.mlm + losses.sop)
        n = np.linalg.norm(grads.flat)
        adam.step(model.params, grads, m, learning_rate(i, steps, warmup, decay, peak), i + 1, float(1 / max(n, 1)))
        kept.append(np.array(model.params.flat))
    shares = float(beta) ** np.arange(steps - 1, -1, -1)
    return np.asarray(out), np.average(kept, axis=0, weights=shares)


def held_out_loss(model, batches, weights):
    import copy

    other = copy.deepcopy(model)
    other.params.flat[...] = weights
    losses = np.array([other.loss(batch).mlm for batch in batches], float)
    return np.average(losses, weights=[np.count_nonzero(batch.mlm_weights) for batch in batches])


def settings():
    return [np.int64(120), 20, 0, np.float64(0.01), 0.85]
