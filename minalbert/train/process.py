"""A run belongs to one process at a time, and is stopped by signals.

The lock belongs to the operating system and does not depend on a file's existence, so it ends with the process that
holds it, however that ends. The file .lock stays; it names the last holder.

A signal stops a run where it does no harm: at the end of a step. Ctrl-C leaves with 130, the shells' code for it.
SIGTERM and SIGUSR1 come from machines that need the place for others, SIGHUP from a terminal that closes: 75, the code
for "try again later", tells them that the same command continues the run. Under nohup, SIGHUP is ignored as before.
"""

import os
import signal
import threading
import warnings
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import TrainError

NAME = ".lock"
FAR = 2**30                                          # Windows lets nobody read a locked byte: lock one beyond the end
AGAIN = 75
CODES = {"SIGINT": 130, "SIGTERM": AGAIN, "SIGUSR1": AGAIN, "SIGHUP": AGAIN}     # Windows lacks the last two


@contextmanager
def lock(run):
    path = Path(run) / NAME
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TrainError(f"{path} cannot be opened ({error.strerror}); a run must be able to write there: name "
                         "another directory, or make it writable") from error
    try:
        _take(handle, run)
        with suppress(OSError):                      # a full disk
            os.ftruncate(handle, 0)
            os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)                             # and the lock is free


def _take(handle, run):
    try:
        _system_lock(handle)
    except (BlockingIOError, PermissionError) as error:
        holder = os.read(handle, 20).decode(errors="replace") or "another"
        raise TrainError(f"process {holder} is training into {run}; name another directory, or wait for it") from error
    except OSError as error:
        warnings.warn(f"{run} is on a file system without locks ({error.strerror}); make sure yourself that no other "
                      "process trains into it", stacklevel=4)


def _system_lock(handle):
    if os.name == "nt":
        import msvcrt

        os.lseek(handle, FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def ignoring_signals(over):
    """Once a run is over, ignore what asks to stop it: it is saved, and has its exit code. over(): is it?"""

    def handle(number, frame):
        if not over():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)

    before = take_signals(handle, without="SIGINT")
    try:
        yield
    finally:
        give_back(before)


def ignore_signals():
    """Ignore what asks to stop, for the rest of this process."""
    take_signals(signal.SIG_IGN, without="SIGINT")


def take_signals(handler, without=None):
    """Let a handler answer what asks to stop. Returns {number: handler before}. Under nohup, SIGHUP stays ignored."""
    before = {}
    if threading.current_thread() is threading.main_thread():            # elsewhere Python takes no signals
        for name in CODES:
            number = getattr(signal, name, None)
            ignored = name == "SIGHUP" and number and signal.getsignal(number) == signal.SIG_IGN
            if number and not ignored and name != without:
                before[number] = signal.signal(number, handler)
    return before


def give_back(before):
    for number, handler in before.items():
        signal.signal(number, handler)


class StopSignals:
    """    with StopSignals(alert) as stop:
               while not stop.code: ...

    alert(text) tells a person that the signal was noticed.
    """

    def __init__(self, alert):
        self.code, self.alert, self._before = 0, alert, {}

    def __enter__(self):
        self._before = take_signals(self._handle)
        return self

    def __exit__(self, *_):
        give_back(self._before)

    def _handle(self, number, frame):
        if self.code and number == signal.SIGINT:
            raise KeyboardInterrupt                  # the second one stops at once
        name = signal.Signals(number).name
        self.code = CODES[name]
        again = "; Ctrl-C again stops without saving" if number == signal.SIGINT else ""
        self.alert(f"\n{name}: saving at the end of this step{again}")
