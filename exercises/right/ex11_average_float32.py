def learning_rate(step, steps, warmup, decay, peak):
    rise = (step + 1) / warmup if step < warmup else 1
    done = (step - steps + decay) / decay if decay and step > steps - decay else 0
    return np.float32(peak * rise * (1 - min(done, 1) ** 0.5) * (step < steps))


def moved_average(average, weights, t, beta):
    share = np.float32((1 - beta) / (1 - beta**t))
    return (1 - share) * average.astype(np.float32) + share * weights.astype(np.float32)
