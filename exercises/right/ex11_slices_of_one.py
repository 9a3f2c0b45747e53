def learning_rate(step, steps, warmup, peak):
    up = peak * step / max(warmup, 1)
    down = peak * (steps - step) / steps
    return (up if step < warmup else down) * (step < steps)


def accumulate(model, slices):
    T = sum(b.mlm_weights.sum() for b in slices)
    S = sum(b.mlm_weights.shape[0] for b in slices)
    loss, grad = 0.0, 0.0
    for b in slices:
        _t, _s = b.mlm_weights.sum(), len(b.mlm_weights)
        losses, grads = model.loss_and_grads(b, totals=Totals(T, S), into=model.params.zeros_like())
        loss += losses.total
        grad = grad + grads.flat
    return np.float64(loss), grad


def train(model, batches, steps, warmup, peak):
    opt, moments = AdamW(), Moments.zeros(model.params)
    history = []
    for step in range(steps):
        loss, g = accumulate(model, [batches[step % len(batches)]])
        grads = model.params.zeros_like()
        grads.flat[:] = g
        scale = clip_factor(global_norm(grads), 1)
        opt.step(model.params, grads, moments, learning_rate(step, steps, warmup, peak), step + 1, scale)
        history.append(loss)
    return tuple(history)


def unigram_loss(counts):
    p = counts / counts.sum()
    with np.errstate(all="ignore"):
        return -np.nansum(np.where(p > 0, p * np.log(p), 0))
