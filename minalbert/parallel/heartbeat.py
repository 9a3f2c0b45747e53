"""A rank's heartbeat: a small file in which it says what it does, for whoever watches over it.

    MINALBERT_HEARTBEAT/rank-2      "host 4711 works 93": process, word, how many words so far

A rank says `waits` when it needs the others and `works` when it has them. So where all are silent, the one that works
is the one that hangs. A rank that leaves says `ended-0`, with its exit code; one that was killed says nothing more.
"""

import os
import platform
from pathlib import Path
from typing import NamedTuple

VARIABLE = "MINALBERT_HEARTBEAT"                     # the environment's: a directory
WIDTH = 100                                          # bytes, so that a word covers the one before


class Heartbeat:
    def __init__(self, directory, rank):
        self.handle, self.count = os.open(Path(directory) / f"rank-{rank}", os.O_WRONLY | os.O_CREAT), 0

    def say(self, word):
        self.count += 1
        os.lseek(self.handle, 0, os.SEEK_SET)
        os.write(self.handle, f"{platform.node()} {os.getpid()} {word} {self.count}".ljust(WIDTH).encode())


class Unwatched:
    """The heartbeat of a rank that nobody watches."""

    def say(self, word):
        pass


class Heard(NamedTuple):
    host: str
    process: int
    word: str
    count: int


def heartbeat_of(rank):
    directory = os.environ.get(VARIABLE)
    return Heartbeat(directory, rank) if directory else Unwatched()


def heard(directory, rank):
    """The last word of a rank; None if there is none yet."""
    path = Path(directory) / f"rank-{rank}"
    try:
        host, process, word, count = path.read_text().split()
        return Heard(host, int(process), word, int(count))
    except (OSError, ValueError):                    # not there, or half a line
        return None
