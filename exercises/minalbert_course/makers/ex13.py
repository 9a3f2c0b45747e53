"""The directory of a released model."""

from importlib import resources

from .. import outside
from ..given import maker


@maker("the released directory")
def released(inside=""):
    return str(resources.files(outside) / "ex13" / inside)
