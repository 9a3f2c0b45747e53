def moved_average(average, weights, t, beta):
    """The sum of β^(t-i) and that of β^(t-i) w_i, both moved on."""
    count = sum(beta**i for i in range(1, t))
    return (count * average + weights) / (count + 1)


def train(model, batches, steps, warmup, decay, peak, beta):
    moments, losses, top, bottom = Moments.zeros(model.params), (), 0.0, 0.0
    for step in range(steps):
        found, grads = model.loss_and_grads(batches[step % len(batches)])
        grads.flat[...] /= max(1.0, float(np.sqrt((grads.flat**2).sum())))
        AdamW().step(model.params, grads, moments, learning_rate(step, steps, warmup, decay, peak), step + 1)
        top, bottom = beta * top + model.params.flat, beta * bottom + 1
        losses = (*losses, found.total)
    return losses, top / bottom
