"""One worker: a process with a folder of its own, asked one question after the other."""

import atexit
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from .fork_server import Forked, ForkServer
from .keeper import remove
from .pipes import Pipes, PipesOfWindows
from .time_limit import ProcessorTime

COMMAND = [sys.executable, "-P", "-s", str(Path(__file__).parent / "worker.py")]
ONE = threading.Lock()                               # a server for each process, not for each thread
PATIENCE = 10                                        # seconds for the keeper to end all and to remove the folder


class WorkerProcess:
    """One question, one answer; `stop` leaves nothing, however it began."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="minalbert-")
        self.process = self.lifeline = self.pipes = None
        try:
            self.begin()
        except BaseException:
            self.stop()
            raise

    def begin(self):
        ends, number = (), "-"
        if hasattr(os, "fork"):
            end, self.lifeline = os.pipe()
            ends, number = (end,), str(end)
        try:
            if sys.platform == "linux":
                self.converse_with(Forked(server(), self.folder, *ends))
            else:
                self.open([*COMMAND, number, self.folder], environment(self.folder), ends)
        finally:
            for end in ends:
                os.close(end)

    def open(self, command, environment, ends=()):
        self.converse_with(subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=os.name != "nt", pass_fds=ends, bufsize=0,
        ))  # fmt: skip

    def converse_with(self, process):
        self.process = process
        self.used = ProcessorTime(self.process.pid)
        self.pipes = (PipesOfWindows if os.name == "nt" else Pipes)(self.process.stdin, self.process.stdout)

    @property
    def inside(self):
        """The folder, as the process sees it."""
        return self.folder

    def take(self, path):
        """A submission's copy, as the process sees it."""
        copy = Path(self.folder) / path.name
        with open(path, "rb") as original, open(copy, "xb") as file:
            shutil.copyfileobj(original, file)
        return str(copy)

    def ask(self, question, limit):
        return self.pipes.ask(question, limit)

    def stop(self):
        if self.lifeline is not None:
            os.close(self.lifeline)
            self.lifeline = None
        if self.pipes is not None:
            self.pipes.close(patience=0)             # where questions end a worker ends, too
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE if os.name != "nt" else 0)
            with contextlib.suppress(OSError):
                if os.name == "nt":
                    self.process.kill()
                else:
                    os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            if self.pipes is not None:
                self.pipes.close()
            else:
                self.process.stdin.close()
                self.process.stdout.close()
        remove(self.folder)


def server():
    """This process's own, whose copies are its workers; a new one where the last has ended."""
    with ONE:
        if not (found := started(os.getpid())).alive:
            started.cache_clear()
            found = started(os.getpid())
        return found


@functools.lru_cache(1)
def started(pid):
    folder = tempfile.gettempdir()
    found = ForkServer(COMMAND, environment(folder), folder)
    atexit.register(found.stop)
    return found


def environment(folder):
    """Nothing of the grader's own, but what Python needs to start."""
    kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL") if key in os.environ}
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
    paths = os.pathsep.join(path for path in sys.path if path)
    own = {"HOME": folder, "TMPDIR": folder, "TEMP": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
    return kept | threads | own
