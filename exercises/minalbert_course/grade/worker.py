"""The process that runs a submission: python -m minalbert_course.grade.worker

It is told which file to run, and then, call by call, which function to call with what. It knows no right answers.
What the submission prints goes nowhere; the pipe to the grader is another one, and says only what codec can say.
"""

import contextlib
import os

import numpy as np

from minalbert.kernels.cpu.gemm import gemm
from minalbert.parallel.threads import blas_threads

from ..catalogue import find
from ..errors import CourseError
from ..files import run
from ..here import Here
from ..marking import printable
from ..withholding import withholding
from ..yours import NotWritten, Opaque, Stopped
from . import codec
from .fence import raise_fences


def main():
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)

    def read():
        text, body = codec.sizes(incoming.read(codec.HEAD.size))
        return codec.loads(incoming.read(text), incoming.read(body))

    def write(message):
        outgoing.write(codec.dumps(message))
        outgoing.flush()

    Worker(read, write).serve()


class Worker:
    def __init__(self, read, write):
        self.read, self.write, self.caches = read, write, []

    def serve(self):
        task = self.read()
        lesson = find(task["lesson"])
        open_libraries()
        raised = raise_fences(task["folder"], task["seconds"], task["megabytes"])
        self.write({"fences": raised})
        self.read()                                  # only now the clock of the submission itself begins
        with withholding(lesson.withheld):
            try:
                namespace, remark = run(task["path"])
            except CourseError as error:             # no text, no notebook
                namespace, remark = {}, str(error)
            there = [name for name in lesson.functions if callable(namespace.get(name))]
            self.write({"remark": printable(remark), "functions": there})
            host = Here(namespace, task["path"], lesson.withheld)
            while True:
                self.write(self.answer(host, self.read()))

    def answer(self, host, call):
        try:
            args, static = self.unwrapped(call["args"]), self.unwrapped(call["static"])
            result, written = host.call(call["name"], args, static, call["opaque"])
            answer = {"result": self.wrapped(result), "written": written}
            codec.dumps(answer)
            return answer
        except NotWritten as error:
            return {"error": "not written", "text": printable(error)}
        except Stopped as error:
            return {"error": "stopped", "text": printable(error)}
        except BaseException as error:               # KeyboardInterrupt, a number of 5000 digits, a class of its own
            return {"error": "stopped", "text": printable(f"{call['name']} stopped: {type(error).__name__}")}

    def wrapped(self, result):
        """Caches stay here; the grader gets their numbers."""
        if isinstance(result, Opaque):
            self.caches.append(result.value)
            return Opaque(len(self.caches) - 1)
        return tuple(self.wrapped(part) for part in result) if type(result) is tuple else result

    def unwrapped(self, value):
        if isinstance(value, Opaque):
            return Opaque(self.caches[value.value])
        if type(value) in (tuple, list):
            return type(value)(self.unwrapped(part) for part in value)
        return {key: self.unwrapped(part) for key, part in value.items()} if isinstance(value, dict) else value


def open_libraries():
    """Those that a submission may need through ours; later, opening one is refused."""
    with blas_threads(1):
        pass
    for dtype in ("float32", "float64"):
        gemm(*np.ones((2, 1, 1), dtype), out=np.ones((1, 1), dtype), add=True)


if __name__ == "__main__":
    with contextlib.suppress(EOFError, BrokenPipeError, codec.struct.error):
        main()
