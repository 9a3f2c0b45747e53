"""Processes by fork, in which a test may hang, crash, be killed, and be a user without root."""

import os
import sys
import tempfile
import traceback

NOBODY = 65534


def in_a_process(call):
    """call(pipe) in a process of its own. Returns the lines that it wrote, and the process's status."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        try:
            with os.fdopen(writing, "w") as pipe:
                call(pipe)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        lines = pipe.readlines()
    return lines, os.waitpid(child, 0)[1]


class Printed:
    """What was written to stdout and stderr, from C, too, since it was last called."""

    def __init__(self):
        self.files = [tempfile.TemporaryFile() for _ in range(2)]  # noqa: SIM115
        for file, stream in zip(self.files, (1, 2), strict=True):
            os.dup2(file.fileno(), stream)

    def __call__(self):
        found = []
        for file, stream in zip(self.files, (sys.stdout, sys.stderr), strict=True):
            stream.flush()
            file.seek(0)
            found.append(file.read().decode(errors="replace"))
            os.truncate(file.fileno(), 0)
            os.lseek(file.fileno(), 0, os.SEEK_SET)
        return found


def give_away(place):
    """Let the user without root own all that is there."""
    if os.getuid() == 0:
        for path in [place, *place.rglob("*")]:
            os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def give_up_root():
    """Be that user from now on."""
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
