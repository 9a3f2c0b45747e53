"""What runs in a container: python -m minalbert_course.grade.received

The submission arrives as the first message; then this process is a worker like any other.
"""

import contextlib
import os
import tempfile
from pathlib import Path

from . import codec, worker


def receive():
    with os.fdopen(os.dup(0), "rb") as incoming, os.fdopen(os.dup(1), "wb") as outgoing:
        text, body = codec.sizes(incoming.read(codec.HEAD.size))
        message = codec.loads(incoming.read(text), incoming.read(body))
        path = Path(tempfile.mkdtemp(), Path(message["name"]).name)
        path.write_bytes(message["content"].tobytes())
        outgoing.write(codec.dumps({"folder": str(path.parent), "path": str(path)}))


if __name__ == "__main__":
    with contextlib.suppress(EOFError, BrokenPipeError, codec.struct.error):
        receive()
        worker.main()
