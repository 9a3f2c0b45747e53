"""The one line of the plain model in which gradients meet parameters' names."""


def add_to(grads, prefix, names, dparams):
    """Add each gradient to what its tensor has so far: a tensor that is used twice gets both."""
    for name, dparam in zip(names, dparams, strict=True):
        grads[f"{prefix}.{name}"] += dparam
