"""All tables, in the order of the page."""

from ..errors import UnknownNameError, nearest
from . import (
    collisions,
    counts,
    depth,
    dropout,
    embedding_size,
    fine_tuning,
    optimiser,
    pair_loss,
    pair_tasks,
    same_time,
    sharing,
    smoothness,
    speed,
    width,
)

FILES = (counts, speed, embedding_size, sharing, pair_loss, pair_tasks, collisions, same_time, dropout, depth, width,
         smoothness, optimiser, fine_tuning)
TABLES = {module.EXPERIMENT.name: module.EXPERIMENT for module in FILES}


def open_table(name):
    """The Experiment of this name."""
    if name not in TABLES:
        raise UnknownNameError(f"there is no table {name!r}; {nearest(name, TABLES)}")
    return TABLES[name]
