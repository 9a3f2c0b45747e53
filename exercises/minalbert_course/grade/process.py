"""One worker: a process with a folder of its own, asked one question after the other."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

from . import codec
from .keeper import remove
from .time_limit import MOMENT, ProcessorTime

WORKER = Path(__file__).parent / "worker.py"
PATIENCE = 10                                        # seconds for the keeper to end all and to remove the folder


class Ended(NamedTuple):
    how: str


class Late(Ended):
    pass


class WorkerProcess:
    """One question, one answer: nothing is read that was not asked for. `stop` leaves nothing, however it began."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="minalbert-")
        self.questions, self.answers = queue.SimpleQueue(), queue.SimpleQueue()
        self.process = self.lifeline = self.talk = None
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
            self.open([sys.executable, "-P", "-s", str(WORKER), number, self.folder], environment(self.folder), ends)
        finally:
            for end in ends:
                os.close(end)

    def open(self, command, environment, ends=()):
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=os.name != "nt", pass_fds=ends,
        )  # fmt: skip
        talk = threading.Thread(target=converse, args=(self.process, self.questions, self.answers), daemon=True)
        talk.start()
        self.talk, self.used = talk, ProcessorTime(self.process.pid)

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
        """The answer; Ended where there is none, Late where it takes more time than the TimeLimit."""
        self.questions.put(question)
        while not (exceeded := limit.exceeded):
            with contextlib.suppress(queue.Empty):
                return self.answers.get(timeout=MOMENT)
        return Late(exceeded)

    def stop(self):
        self.questions.put(None)
        if self.lifeline is not None:
            os.close(self.lifeline)
            self.lifeline = None
        if self.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(PATIENCE if os.name != "nt" else 0)
            with contextlib.suppress(OSError):
                if os.name == "nt":
                    self.process.kill()
                else:
                    os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            if self.talk is not None:
                self.talk.join(PATIENCE)
            else:
                self.process.stdin.close()
                self.process.stdout.close()
        remove(self.folder)


def converse(process, questions, answers):
    """In a thread of its own, which alone touches the pipes, and may wait for them as long as it likes."""
    with contextlib.suppress(OSError), process.stdin, process.stdout:
        while (question := questions.get()) is not None:
            try:
                process.stdin.write(codec.dumps(question))
                process.stdin.flush()
            except OSError:                          # it has ended; its last answer is still to be read
                pass
            answers.put(read(process.stdout))


def read(pipe):
    try:
        head = pipe.read(codec.HEAD.size)
        if len(head) < codec.HEAD.size:
            return Ended("ended the whole process (os._exit, too much memory, or a crash)")
        text, body = codec.sizes(head)
        return codec.loads(pipe.read(text), pipe.read(body))
    except codec.CodecError as error:
        return Ended(f"sent {error}")
    except (OSError, ValueError, MemoryError):
        return Ended("was stopped")


def environment(folder):
    """Nothing of the grader's own, but what Python needs to start."""
    kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL") if key in os.environ}
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
    paths = os.pathsep.join(path for path in sys.path if path)
    own = {"HOME": folder, "TMPDIR": folder, "TEMP": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
    return kept | threads | own
