"""Marking what other people sent in.

A submission runs in a process of its own (`worker`, `inside`), on Linux a copy of one that has imported NumPy
(`fork_server`), behind fences (`fence`, `hook`), kept by another process that leaves nothing behind (`keeper`). It gets
arguments and gives back values through a pipe (`codec`); what would be right never goes there (`offered`), and the
comparing is done on this side (`fenced`). So whatever a submission does to NumPy, to minalbert or to files, it does to
itself.

Read in this order: codec, keeper, fence, hook, offered, inside, fork_server, worker, time_limit, pipes, process, tasks,
device, fenced, submissions, batch.
"""

from importlib.util import find_spec

from minalbert.errors import MissingLibraryError

if find_spec("msgpack") is None:
    raise MissingLibraryError("msgpack is not installed: pip install 'minalbert[grade]'")
