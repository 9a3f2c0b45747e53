"""All tables, in the order of the page."""

from ..errors import UnknownNameError, nearest
from . import counts, pair_loss, sharing

TABLES = {module.EXPERIMENT.name: module.EXPERIMENT for module in (counts, pair_loss, sharing)}


def open_table(name):
    """The Experiment of this name."""
    if name not in TABLES:
        raise UnknownNameError(f"there is no table {name!r}; {nearest(name, TABLES)}")
    return TABLES[name]
