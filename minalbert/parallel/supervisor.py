"""Watch over ranks: start them, notice that they hang or died, end what is left of them, start them again.

MPI alone hangs where a rank is stuck or its network is cut, and its launcher may hang with it; a launcher may also
report success although a rank left half-way. So the exit code of mpiexec is not believed, and nothing is waited for
without a limit: every rank has a heartbeat, and has ended only if it said so.

    a rank said nothing for `patience` seconds      SIGUSR1, SIGTERM, SIGKILL to all, then a new start
    a rank is gone without a word                   the same
    all have ended                                  so does this, with the largest of their exit codes

A new start resumes from the newest checkpoint, as any start does. If there has been no newer one since the last
start, half as many ranks are tried, down to those that one model needs, and then no more.
"""

import os
import platform
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import NamedTuple

from .heartbeat import VARIABLE, heard

LOOK = 0.1                                           # seconds between looks at the heartbeats
GRACE = 5.0                                          # seconds for an answer to a signal, of ranks that hang
REFUSED, TRY_AGAIN, INTERRUPTED = 2, 75, 130         # exit codes


class Attempt(NamedTuple):
    code: int | None                                 # the largest of the ranks' exit codes; None if one did not end
    cause: str                                       # why not


class Supervisor:
    def __init__(self, start, progress, alert, patience=60.0, fewest=1):
        """
        start(count)     the command that starts so many ranks
        progress()       a number that grows when something has been saved
        alert(text)      shows a person a sentence
        patience         seconds in which each rank must say something; longer than a step, and than a checkpoint
        fewest           ranks that a model needs
        """
        self.start, self.progress, self.alert, self.patience = start, progress, alert, patience
        self.fewest = fewest
        self.asked = None                            # the signal that asked to stop

    def run(self, count):
        """Supervise until the ranks have ended by themselves, or were asked to. Returns the exit code."""
        ranks = count
        while True:
            before = self.progress()
            code, cause = self.attempt(ranks)
            if code is not None:
                return INTERRUPTED if code == TRY_AGAIN and self.asked == signal.SIGINT else code
            if self.asked:
                self.alert(f"{cause}; it was asked to stop, and the same command resumes it")
                return TRY_AGAIN
            advanced = self.progress() > before
            if not advanced and ranks <= self.fewest:
                self.alert(f"{cause}; without anything saved since its start it is not started again")
                return 1
            ranks = count if advanced else ranks // 2
            self.alert(f"{cause}; starting again on {ranks} {'ranks' if ranks > 1 else 'rank'}")

    def stop(self, number, frame=None):
        """Ask the ranks to save and end: a signal's handler."""
        self.asked = signal.Signals(number)

    def attempt(self, count):
        place = os.environ.get(VARIABLE)             # one that all hosts see; None for this one's own
        with tempfile.TemporaryDirectory(prefix=".minalbert-heartbeat-", dir=place) as heartbeats:
            job = subprocess.Popen(self.start(count), stdin=subprocess.DEVNULL,
                                   env=os.environ | {VARIABLE: heartbeats}, start_new_session=True)
            try:
                return self.watch(Watch(heartbeats, count, self.patience), job)
            finally:
                end(job, heartbeats, count)

    def watch(self, watch, job):
        asked = said = None                          # when to stop: at first, and lately
        while True:
            ended, now = watch.look(gone=job.poll() is not None), time.monotonic()
            if ended:
                return ended
            if self.asked and (said is None or now - said > GRACE):      # at its start a job may miss a signal
                job.send_signal(signal.SIGUSR1)
                asked, said = asked or now, now
            if asked and now - asked > self.patience:
                return Attempt(None, f"the ranks have not stopped in {self.patience:g} s")
            time.sleep(LOOK)


class Watch:
    """The heartbeats of one attempt."""

    def __init__(self, heartbeats, count, patience):
        self.heartbeats, self.count, self.patience = heartbeats, count, patience
        self.last, self.since = [None] * count, [time.monotonic()] * count      # what each said last, and when

    def look(self, gone):
        """The Attempt, if it is over, with the largest of the ranks' exit codes; else None.

        gone: has the launcher ended? If it has and one rank was refused, all were, said or not.
        """
        now = time.monotonic()
        for rank in range(self.count):
            found = heard(self.heartbeats, rank)
            if found and found != self.last[rank]:
                self.last[rank], self.since[rank] = found, now
        codes = [int(one.word[6:]) if one and one.word.startswith("ended-") else None for one in self.last]
        if None not in codes and (gone or now - max(self.since) > GRACE):
            return Attempt(max(codes), "")
        if gone and REFUSED in codes:
            return Attempt(REFUSED, "")
        if gone:
            failed = [rank for rank, one in enumerate(self.last) if one and one.word == "failed"]
            met = f"rank {failed[0]} met an error" if failed else f"{self.behind()} was killed, or left without a word"
            return Attempt(None, met)
        if max(now - since for since in self.since) > self.patience:
            return Attempt(None, f"{self.behind()} has said nothing for {self.patience:g} s")
        return None

    def behind(self):
        """The rank that all others wait for, if what they said last tells."""
        counts = [one.count if one else 0 for one in self.last]
        behind = [rank for rank, count in enumerate(counts) if count == min(counts)]
        return f"rank {behind[0]}" if len(behind) == 1 else "a rank"


def end(job, heartbeats, count):
    """End what is left of a job: ask, insist, kill. mpiexec itself may hang, and its processes outlive it."""
    for number in (signal.SIGUSR1, signal.SIGTERM):
        if job.poll() is None:
            job.send_signal(number)
            with suppress(subprocess.TimeoutExpired):
                job.wait(GRACE)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(job.pid, signal.SIGKILL)
    for rank in range(count):
        said = heard(heartbeats, rank)
        if said and said.host == platform.node() and not said.word.startswith("ended"):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(said.process, signal.SIGKILL)
    job.wait()
