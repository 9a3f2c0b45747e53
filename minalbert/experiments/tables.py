"""All tables, in the order of the page."""

from ..errors import UnknownNameError, nearest
from . import collisions, counts, depth, dropout, embedding_size, pair_loss, sharing, smoothness, speed, width

FILES = (counts, speed, embedding_size, sharing, pair_loss, collisions, dropout, depth, width, smoothness)
TABLES = {module.EXPERIMENT.name: module.EXPERIMENT for module in FILES}


def open_table(name):
    """The Experiment of this name."""
    if name not in TABLES:
        raise UnknownNameError(f"there is no table {name!r}; {nearest(name, TABLES)}")
    return TABLES[name]
