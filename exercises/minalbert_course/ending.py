"""An end for a student's code, which may have a loop that never ends.

    with ended_after(120, "ex05_attention.py"):
        ...                                          # CourseError, which says where it was

It is interrupted as by Ctrl-C, once a second until it stops: code that catches every exception gets several.
"""

import _thread
import signal
import sys
import threading
from contextlib import contextmanager

from .errors import CourseError

SECONDS = 120                                        # the grader's limit for all calls of a submission


@contextmanager
def ended_after(seconds, name):
    if sys.platform == "emscripten" or threading.current_thread() is not threading.main_thread():
        yield                                        # a browser has no threads; other threads take no signals
        return
    done, late = threading.Event(), threading.Event()

    def watch():
        wait = seconds
        while not done.wait(wait):
            late.set()
            _thread.interrupt_main()
            wait = 1

    before = signal.signal(signal.SIGINT, signal.default_int_handler)        # a shell's background has none
    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt as error:
        if not late.is_set():
            raise                                    # Ctrl-C
        raise CourseError(f"{name} took more than {seconds:g} s and was ended{where(error)}; is there a loop that "
                          "never ends?") from None  # fmt: skip
    finally:
        done.set()
        signal.signal(signal.SIGINT, before)


def where(interrupt):
    """In brackets: where a function was interrupted, if one was."""
    place = str(interrupt).removesuffix("KeyboardInterrupt: ").rstrip(": ")
    return f" ({place})" if place else ""
