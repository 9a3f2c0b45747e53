"""Objects that nobody uses any more are collected in a thread of its own, and nowhere else.

Python collects in whatever thread makes an object, between any two lines: in the audit hook, too. What a submission has
written for that moment, `__del__` say, would then run below the frames of what decides.
"""

import gc
import queue
import threading

MOMENT = 0.1                                         # seconds between two looks
SELDOM = 1_000                                       # objects to make before they are looked through
IN_VAIN = ("disable", "enable", "freeze", "set_debug", "set_threshold", "unfreeze")


def begin():
    """From now on. What a submission may ask of `gc` beside `collect` does nothing."""
    gc.disable()
    for name in IN_VAIN:
        setattr(gc, name, nothing)
    asked, collect = queue.SimpleQueue(), gc.collect
    thread = threading.Thread(target=serve, args=(asked, collect, gc.get_count), daemon=True)
    thread.start()
    gc.collect = asking(asked, thread.ident)


def serve(asked, collect, count):
    while True:
        try:
            answer = asked.get(timeout=MOMENT)
        except queue.Empty:
            if count()[0] > SELDOM:
                collect()
        else:
            answer.put(collect())


def asking(asked, collecting):
    """A function as gc.collect: it waits until that thread has collected. Called there it does nothing, as Python's."""

    def collect(generation=2):
        if threading.get_ident() == collecting:
            return 0
        answer = queue.SimpleQueue()
        asked.put(answer)
        return answer.get()

    return collect


def nothing(*args, **kwargs):
    """In the place of functions of `gc`."""
