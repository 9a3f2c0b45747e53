"""How long a worker may take: by its processor time, to which other work on the same machine adds nothing.

The clock has a limit, too, for a submission that sleeps or waits. It is several times as long, and the only one where
the processor time cannot be read: on macOS, on Windows, and of a container.
"""

import contextlib
import os
import time

CLOCK = 5                                            # times as many seconds by the clock
STARTUP = 60                                         # seconds to import NumPy
MOMENT = 0.1                                         # seconds between two looks at a worker


class TimeLimit:
    """So many seconds of processor time for a worker from now on, and CLOCK times as many by the clock."""

    def __init__(self, worker, seconds):
        self.worker, self.seconds = worker, seconds
        self.processor_then, self.clock_then = worker.used.seconds, time.monotonic()

    @property
    def processor(self):
        """What the worker has used since then."""
        return self.worker.used.seconds - self.processor_then

    @property
    def clock(self):
        return time.monotonic() - self.clock_then

    @property
    def exceeded(self):
        """In words, or None."""
        if self.processor > self.seconds:
            return f"took more than {self.seconds:g} seconds of processor time: an endless loop?"
        if self.clock > (seconds := CLOCK * self.seconds):
            return f"took more than {seconds:g} seconds by the clock: an endless loop, or does it wait for something?"
        return None


class ProcessorTime:
    """What a process and all that it has started have used, read from outside, where none of them can change it."""

    def __init__(self, pid):
        self.pid, self.latest, self.looked = pid, 0.0, -MOMENT

    @property
    def seconds(self):
        """So far, as it was a MOMENT ago at most; 0 where it cannot be read."""
        if time.monotonic() - self.looked >= MOMENT:
            with contextlib.suppress(OSError):       # one that ended meanwhile, or no Linux
                self.latest = max(self.latest, ticks(self.pid) / os.sysconf("SC_CLK_TCK"))
            self.looked = time.monotonic()
        return self.latest


def ticks(pid):
    """/proc/PID/stat: processor time of the process and of its children, those that have ended and those that run."""
    with open(f"/proc/{pid}/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()        # before it a name, which the process may choose
    return sum(map(int, numbers[11:15])) + sum(map(ticks, children(pid)))


def children(pid):
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as file:
            yield from map(int, file.read().split())
