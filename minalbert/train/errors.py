class TrainError(RuntimeError):
    """A run that cannot begin, or cannot go on."""
