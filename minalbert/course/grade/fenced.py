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
from pathlib import Path
from typing import NamedTuple

from ..yours import NotWritten, Stopped
from . import codec

STARTUP = 60                                         # seconds to import NumPy, on a machine that is very busy
OWN = 1024                                           # MB of address space that Python and NumPy take themselves


class Limits(NamedTuple):
    call: float = 10.0                               # seconds of one call
    all: float = 120.0                               # of all calls
    memory: int = 1024                               # MB


class Refused(Exception):
    """The file could not be run at all; the text says why."""


class Fenced:
    """with Fenced(lesson, path) as host: mark(lesson, host, term)"""

    def __init__(self, lesson, path, limits=Limits()):
        self.lesson, self.path, self.limits = lesson, Path(path), limits
        self.left, self.process, self.remark, self.fences, self.endless = limits.all, None, "", [], {}

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="minalbert-")
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *error):
        self.close()

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self):
        copy = Path(self.folder) / self.path.name
        shutil.copyfile(self.path, copy)
        command = [sys.executable, "-P", "-m", "minalbert.course.grade.worker"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment(self.folder),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=os.name != "nt",
        )  # fmt: skip
        self.answers = queue.Queue()
        threading.Thread(target=listen, args=(self.process.stdout, self.answers), daemon=True).start()
        self.send({"lesson": self.lesson.name, "path": str(copy), "folder": self.folder,
                   "seconds": int(STARTUP + self.limits.all), "megabytes": OWN + self.limits.memory})  # fmt: skip
        try:
            answer = self.receive(f"running {self.path.name}", STARTUP + self.limits.call)
        except Stopped as error:
            raise Refused(str(error)) from error
        self.remark, self.fences = clean(answer.get("remark", "")), answer.get("fences", [])
        if not answer.get("functions"):
            reason = self.remark or f"{self.path.name} has none of the functions: {', '.join(self.lesson.functions)}"
            raise Refused(reason)

    def call(self, name, args, static, opaque):
        if name in self.endless:
            raise Stopped(self.endless[name])
        if self.left <= 0:
            raise Stopped(f"the submission has used up its {self.limits.all:g} seconds")
        if self.process is None:                     # an earlier call ended it
            try:
                self.start()
            except Refused as error:
                raise Stopped(str(error)) from error
        self.send({"name": name, "args": tuple(args), "static": static, "opaque": opaque})
        answer = self.receive(name, min(self.limits.call, self.left))
        if "error" in answer:
            kind = NotWritten if answer["error"] == "not written" else Stopped
            raise kind(clean(answer.get("text", "")))
        if "result" not in answer:
            self.stop()
            raise Stopped(f"{name} did not answer as a function does")
        return answer["result"], [clean(part) for part in answer.get("written", [])]

    def send(self, message):
        with contextlib.suppress(OSError):           # it has ended; receive will tell
            self.process.stdin.write(codec.dumps(message))
            self.process.stdin.flush()

    def receive(self, what, seconds):
        start = time.monotonic()
        try:
            answer = self.answers.get(timeout=seconds)
        except queue.Empty:
            self.stop()
            self.endless[what] = f"{what} took longer than {seconds:g} seconds: an endless loop?"
            raise Stopped(self.endless[what]) from None
        finally:
            self.left -= time.monotonic() - start
        if isinstance(answer, dict):
            return answer
        self.stop()
        raise Stopped(f"{what} {answer}")

    def stop(self):
        process, self.process = self.process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if os.name == "nt":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)               # and whatever it started
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()


def listen(pipe, answers):
    """Every message of the worker, and at the end a sentence that says how it ended."""
    try:
        while True:
            head = pipe.read(codec.HEAD.size)
            if len(head) < codec.HEAD.size:
                return answers.put("ended the whole process (os._exit, too much memory, or a crash)")
            text, body = codec.sizes(head)
            answers.put(codec.loads(pipe.read(text), pipe.read(body)))
    except codec.CodecError as error:
        answers.put(f"sent {error}")
    except (OSError, ValueError):                    # stopped from this side
        answers.put("was stopped")


def environment(folder):
    """Nothing of the grader's own, but what Python needs to start."""
    kept = {key: os.environ[key] for key in ("PATH", "SYSTEMROOT", "LANG", "LC_ALL") if key in os.environ}
    threads = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "VECLIB_MAXIMUM")}
    paths = os.pathsep.join(path for path in sys.path if path)
    own = {"HOME": folder, "TMPDIR": folder, "TEMP": folder, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONPATH": paths}
    return kept | threads | own


def clean(text):
    """Without control characters, with which a terminal could be written over."""
    return "".join(letter if letter.isprintable() else " " for letter in str(text))[:600]
