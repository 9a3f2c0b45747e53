class PretrainedError(ValueError):
    """A directory that cannot be loaded, or arrays that do not fit, and why."""
