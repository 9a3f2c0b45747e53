"""The process that runs a submission: python .../grade/worker.py LIFELINE FOLDER

LIFELINE is the number of a pipe's reading end, or - where the system has no `fork`. Nothing of the course is imported
but what `inside` needs: a package's own __init__ would bring the lessons, which hold what is right.

    python .../grade/worker.py fork SOCKET FOLDER

is the server of which such processes are copies (`fork_server`). FOLDER, in which theirs are, tells a list of processes
whose it is.
"""

import gc
import os
import sys
import threading
import types
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
MOMENT = 0.1                                         # seconds between two looks for objects that are unused
SELDOM = 1_000                                       # objects to make before Python looks for them
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

    threading.stack_size(LARGE)
    thread = threading.Thread(target=inside.serve, args=(fences,), daemon=True)
    sys.modules["__main__"] = types.ModuleType("__main__")
    gc.disable()                                     # in the submission's thread, between two lines of an audit hook
    collect, count = gc.collect, gc.get_count
    thread.start()                                   # not in the main thread, the only one that takes signals
    while thread.is_alive():
        thread.join(MOMENT)
        if count()[0] > SELDOM:
            collect()
    os._exit(0)                                      # whatever a submission registered for the end


if __name__ == "__main__":
    main(*sys.argv[1:])
