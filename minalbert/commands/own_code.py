"""A student's own functions for the model, which another package reads: `--with FILE`.

That package has an entry point "files" of the group `minalbert.own_code`: a context manager that takes a list of paths
and gives an object with

    .pairs                  model.Pairs, or None             .facts             {name: text}, for a checkpoint
    .optimiser(lamb)        an optimiser, or None            .keep(folder)      copies of the files
    str()                   which functions of which files
"""

import os
from contextlib import nullcontext
from importlib.metadata import entry_points

from ..errors import MissingLibraryError


def own_code(files):
    """A context with the functions of these files, which are separated as in PATH; with None if there are none."""
    if not files:
        return nullcontext()
    points = [point.load() for point in entry_points(group="minalbert.own_code", name="files")]
    if not points:
        raise MissingLibraryError("--with needs the course, minalbert_course, which is not installed")
    return points[0](files.split(os.pathsep))
