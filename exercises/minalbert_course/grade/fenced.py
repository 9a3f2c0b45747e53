"""A submission in a worker, as a check's host: call by call, each with an end."""

import contextlib
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import NamedTuple

from ..yours import NotWritten, Stopped
from . import codec

STARTUP = 60                                         # seconds to import NumPy, on a machine that is very busy
RUNNING = 4                                          # calls' time for the file itself, which may import much
OWN = 1024                                           # MB of address space that Python and NumPy take themselves
running = weakref.WeakSet()                          # workers, for an interrupt to end


class SubmissionLimits(NamedTuple):
    call: float = 10.0                               # seconds of one call
    all: float = 120.0                               # of all calls
    memory: int = 1024                               # MB


class Refused(Exception):
    """The file could not be run at all; the text says why."""


class Fenced:
    """with Fenced(lesson, path) as host: mark(lesson, host, term)

    new_worker: makes a WorkerProcess, or another with its methods; by default a WorkerProcess.
    """

    def __init__(self, lesson, path, limits=SubmissionLimits(), new_worker=None):
        self.lesson, self.path, self.limits = lesson, Path(path), limits
        self.new_worker = new_worker or WorkerProcess
        self.left, self.remark, self.fences, self.endless = limits.all, "", [], {}
        self.worker = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def start(self):
        """A new process in a new folder: of an earlier one nothing is left, whatever it wrote."""
        self.worker = self.new_worker()
        folder, copy = self.worker.take(self.path)
        task = {"lesson": self.lesson.name, "path": copy, "folder": folder,
                "seconds": int(STARTUP + self.limits.all), "megabytes": OWN + self.limits.memory}  # fmt: skip
        try:
            self.fences = self.ask(task, "starting Python", STARTUP)["fences"]
            answer = self.ask({}, f"running {self.path.name}", RUNNING * self.limits.call)
        except Stopped as error:
            raise Refused(str(error)) from error
        self.remark, there = answer.get("remark"), answer.get("functions")
        if not (isinstance(self.remark, str) and isinstance(there, list)):
            self.stop()
            raise Refused(f"{self.path.name} did not answer as a submission does")
        if not there:
            reason = self.remark or f"{self.path.name} has none of the functions: {', '.join(self.lesson.functions)}"
            raise Refused(reason)

    def call(self, name, args, static, opaque):
        if name in self.endless:
            raise Stopped(self.endless[name])
        if self.worker is None:                      # an earlier call ended it
            try:
                self.start()
            except Refused as error:
                raise Stopped(str(error)) from error
        if self.left <= 0:
            raise Stopped(f"the submission has used up its {self.limits.all:g} seconds")
        question = {"name": name, "args": tuple(args), "static": static, "opaque": opaque}
        answer = self.ask(question, name, min(self.limits.call, self.left))
        if answer.get("error"):
            raise (NotWritten if answer["error"] == "not written" else Stopped)(answer.get("text", ""))
        if "result" not in answer or not isinstance(answer.get("written"), list):
            self.stop()
            raise Stopped(f"{name} did not answer as a function does")
        return answer["result"], answer["written"]

    def ask(self, question, what, seconds):
        """The worker's answer, a dict; Stopped where there is none in time."""
        begin = time.monotonic()
        try:
            answer = self.worker.ask(question, seconds)
        except queue.Empty:
            self.endless[what] = f"{what} took longer than {seconds:g} seconds: an endless loop?"
            answer = None
        finally:
            self.left -= time.monotonic() - begin
        if isinstance(answer, dict):
            return answer
        self.stop()
        raise Stopped(self.endless.get(what) or f"{what} {answer.how if isinstance(answer, Ended) else 'sent junk'}")

    def stop(self):
        worker, self.worker = self.worker, None
        if worker is not None:
            worker.stop()


class Ended(NamedTuple):
    how: str


class WorkerProcess:
    """A process with a folder of its own. One question, one answer: nothing is read that was not asked for."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="minalbert-")
        self.process = subprocess.Popen(
            self.command(), cwd=self.folder, env=self.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=os.name != "nt",
        )  # fmt: skip
        self.questions, self.answers = queue.Queue(), queue.Queue()
        threading.Thread(target=converse, args=(self.process, self.questions, self.answers), daemon=True).start()
        running.add(self)

    def command(self):
        return [sys.executable, "-P", "-s", "-m", "minalbert_course.grade.worker"]

    def environment(self):
        return environment(self.folder)

    def take(self, path):
        """(the folder, the path) of a submission's copy, as the process sees them."""
        copy = Path(self.folder) / path.name
        with open(path, "rb") as original, open(copy, "xb") as file:
            shutil.copyfileobj(original, file)
        return self.folder, str(copy)

    def ask(self, question, seconds):
        self.questions.put(question)
        return self.answers.get(timeout=max(seconds, 0.0))

    def stop(self):
        running.discard(self)
        self.questions.put(None)
        with contextlib.suppress(OSError):
            if os.name == "nt":
                self.process.kill()
            else:
                os.killpg(self.process.pid, signal.SIGKILL)          # with a process namespace, all it ever started
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def stop_all():
    for worker in list(running):
        worker.stop()


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
