"""What exercise 11 is marked with: the right loop, and the loop with one mistake in it."""



from minalbert.optim import Schedule


def rate_of(step, steps, warmup, peak):
    return Schedule(peak, steps, warmup).rate(step)
