"""All tables, in the order of the page."""

from ..errors import UnknownNameError, nearest
from . import (
    collisions,
    counts,
    depth,
    depth_at_cost,
    dropout,
    embedding_size,
    fine_tuning,
    hops,
    optimiser,
    pair_loss,
    pair_tasks,
    real_text,
    same_time,
    sharing,
    smoothness,
    speed,
    width,
)
from .texts import RealText, texts_of

FILES = (counts, speed, embedding_size, sharing, pair_loss, pair_tasks, collisions, real_text, same_time, dropout,
         depth, depth_at_cost, hops, width, smoothness, optimiser, fine_tuning)
TABLES = {module.EXPERIMENT.name: module.EXPERIMENT for module in FILES}


def open_table(name, place=None):
    """The Experiment of this name; one that reads real text reads that of the place, if there is one."""
    if name not in TABLES:
        raise UnknownNameError(f"there is no table {name!r}; {nearest(name, TABLES)}")
    experiment = TABLES[name]
    own = texts_of(place) if place and reads_text(experiment) else None
    return experiment._replace(worlds=own) if own else experiment


def reads_text(experiment):
    return isinstance(experiment.worlds, RealText)
