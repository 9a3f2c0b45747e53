"""Collect unused objects in a thread of its own, and nowhere else.

Python collects in whatever thread makes an object, between any two lines, in the audit hook, too. What a submission
has written for that moment, `__del__` say, would then run below the frames of what decides.
"""

import contextlib
import gc
import queue
import threading
import time

MOMENT = 0.02                                        # seconds between two looks
PATIENCE = 5                                         # seconds of gc.collect(), for whose caller a `__del__` may wait
NEW_OBJECTS = 1_000                                  # that must have been made since the last collection
SHARE = 20                                           # collecting takes a twentieth of the time, at most
IGNORED = ("disable", "enable", "freeze", "set_debug", "set_threshold", "unfreeze")


def begin():
    """Start the thread; `gc.enable` and the like do nothing from now on."""
    gc.disable()
    for name in IGNORED:
        setattr(gc, name, do_nothing)
    asked, collect = queue.SimpleQueue(), gc.collect
    thread = threading.Thread(target=collect_again_and_again, args=(asked, collect, gc.get_count), daemon=True)
    thread.start()
    gc.collect = collect_through(asked, thread.ident)


def collect_again_and_again(asked, collect, count, clock=time.monotonic):
    ready = clock()
    while True:
        try:
            answer = asked.get(timeout=MOMENT)
        except queue.Empty:
            if count()[0] > NEW_OBJECTS and (begun := clock()) > ready:
                collect()
                ready = clock() + SHARE * (clock() - begun)
        else:
            answer.put(collect())


def collect_through(asked, collecting):
    """gc.collect for everybody else: wait until the thread has collected all. In the thread itself it does nothing,
    as Python's own does there."""

    def collect(generation=2):
        if threading.get_ident() == collecting:
            return 0
        answer = queue.SimpleQueue()
        asked.put(answer)
        with contextlib.suppress(queue.Empty):
            return answer.get(timeout=PATIENCE)
        return 0

    return collect


def do_nothing(*args, **kwargs):
    pass
