"""A config that changes from call to call."""

from ..given import maker

CONFIG = {}


@maker("one dict")
def one_dict(items):
    """Every time the same dict, with these items alone."""
    CONFIG.clear()
    CONFIG.update(items)
    return CONFIG
