def moved_average(average, weights, t, beta):
    new = average.astype(np.float64)
    new *= (beta - beta**t) / (1 - beta**t)
    new += (1 - beta) / (1 - beta**t) * weights
    return new


def train(model, batches, steps, warmup, decay, peak, beta):
    opt, moments = AdamW(), Moments.zeros(model.params)
    history, biased = [], np.zeros(model.params.flat.shape)
    for t in range(1, steps + 1):
        losses, grads = model.loss_and_grads(batches[(t - 1) % len(batches)])
        history.append(np.float64(losses.total))
        scale = clip_factor(global_norm(grads), 1)
        opt.step(model.params, grads, moments, learning_rate(t - 1, steps, warmup, decay, peak), t, scale)
        biased += (1 - beta) * (model.params.flat - biased)
    return tuple(history), biased / (1 - beta**steps)


def held_out_loss(model, batches, weights):
    swapped = np.array(weights, float)
    own = swapped.copy()
    model.params.flat[...], own[...] = swapped, model.params.flat.copy()
    try:
        words = [batch.mlm_weights.sum() for batch in batches]
        return sum(model.loss(batch).mlm * n for batch, n in zip(batches, words, strict=True)) / sum(words)
    finally:
        model.params.flat[...] = own
