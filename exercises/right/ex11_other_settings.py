def held_out_loss(model, batches):
    losses = np.array([model.loss(batch).mlm for batch in batches], float)
    return np.average(losses, weights=[np.count_nonzero(batch.mlm_weights) for batch in batches])


def settings():
    return [np.int64(200), 0, np.float64(0.01)]
