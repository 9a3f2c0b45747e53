def learning_rate(step, steps, warmup, peak):
    rise = np.inf if warmup == 0 else step / warmup
    return float(np.where(step < warmup, rise, np.clip((steps - step) / steps, 0, 1)) * peak)


def train(model, batches, steps, warmup, peak):
    optimiser, moments = AdamW(weight_decay=0.01, eps=1e-6), Moments.zeros(model.params)
    grads = model.params.zeros_like()
    losses = np.zeros(steps)
    for t in range(1, steps + 1):
        grads.flat[...] = 0
        found, grads = model.loss_and_grads(batches[(t - 1) % len(batches)], into=grads)
        losses[t - 1] = found.mlm + found.sop
        norm = np.sqrt(sum((g * g).sum() for g in grads.values()))
        if norm > 1:
            grads.flat /= norm
        optimiser.step(model.params, grads, moments, learning_rate(t - 1, steps, warmup, peak), t)
    return losses


def unigram_loss(counts):
    total = sum(int(count) for count in counts)
    return sum(count / total * np.log(total / count) for count in counts.tolist() if count)
