def train(model, batches, steps, warmup, peak):
    from itertools import cycle
    m, adam, grads, out = Moments.zeros(model.params), AdamW(), model.params.zeros_like(), []
    feed = cycle(batches)
    for i in range(steps):
        grads.flat.fill(0)
        losses, _ = model.loss_and_grads(next(feed), into=grads)
        out.append(losses.mlm + losses.sop)
        n = np.linalg.norm(grads.flat)
        rate = np.float64(learning_rate(i, steps, warmup, peak))
        adam.step(model.params, grads, m, rate, i + 1, float(1 / max(n, 1)))
    return np.asarray(out)
def accumulate(model, slices):
    whole = Totals(sum(b.mlm_weights.sum() for b in slices), sequences=sum(b.sop_labels.shape[0] for b in slices))
    grads = model.params.zeros_like()
    return sum(model.loss_and_grads(b, into=grads, totals=whole)[0].total for b in slices), grads.flat.copy()
