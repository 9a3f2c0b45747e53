"""The process that runs a submission: python .../grade/worker.py LIFELINE FOLDER

LIFELINE is the number of a pipe's reading end, or - where the system has no `fork`. Nothing of the course is imported
but what `inside` needs: a package's own __init__ would bring the lessons, which hold what is right.

    python .../grade/worker.py fork SOCKET FOLDER

is the server of which such processes are copies (`fork_server`). FOLDER, in which theirs are, tells a list of processes
whose it is.
"""

import os
import signal
import sys
import threading
import types
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
LARGE = 16 * 2**20                                   # bytes of the thread's stack


def bare(name, folder):
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    sys.modules[name] = package


def main(*arguments):
    bare("minalbert_course", COURSE)
    bare("minalbert_course.grade", COURSE / "grade")
    from minalbert_course.grade import fork_server, keeper

    lifeline, folder = fork_server.serve(int(arguments[1])) if arguments[0] == "fork" else arguments
    fences = [] if lifeline == "-" else keeper.keep(int(lifeline), folder)
    from minalbert_course.grade import inside

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.modules["__main__"] = types.ModuleType("__main__")
    threading.stack_size(LARGE)
    thread = threading.Thread(target=serve_and_end, args=(inside.serve, fences, os._exit), daemon=True)
    forever = threading.Lock()
    forever.acquire()
    thread.start()                                   # not in the main thread, the only one that takes signals
    forever.acquire()                                # if it ended, Python would end, and its audit hooks first


def serve_and_end(serve, fences, end):
    """Serve, then end the process at once: what a submission registered for the end does not run."""
    try:
        serve(fences)
    finally:
        end(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
