"""The two pipes to a worker: a question goes in, an answer comes out, and a TimeLimit ends the wait for either.

A submission may leave the question unread, or write half an answer. So the grader asks the system first whether a pipe
is ready. On Windows, where the system does not say, a thread waits in its place.
"""

import contextlib
import os
import queue
import select
import threading
from typing import NamedTuple

from . import codec
from .time_limit import MOMENT

AT_ONCE = 2**16                                      # bytes that are read
PATIENCE = 10                                        # seconds for a conversation to end whose worker has ended


class Ended(NamedTuple):
    how: str


class Late(Ended):
    pass


class Pipes:
    """to, back: files without a buffer; the worker has the other ends. Nothing is read that was not asked for."""

    def __init__(self, to, back):
        self.to, self.back, self.talking, self.ready = to, back, threading.Lock(), {}
        for pipe, event in ((to, select.POLLOUT), (back, select.POLLIN)):
            os.set_blocking(pipe.fileno(), False)
            self.ready[pipe] = select.poll()
            self.ready[pipe].register(pipe, event)

    def ask(self, question, limit):
        """The answer; Ended where there is none, Late where it takes more time than the limit."""
        with self.talking:
            return self.exchange(question, limit)

    def exchange(self, question, limit):
        try:
            with contextlib.suppress(BrokenPipeError):               # it has ended; its last answer is still to be read
                self.write(codec.dumps(question), limit)
            return self.answer(limit)
        except codec.CodecError as error:
            return Ended(f"sent {error}")
        except TimeoutError as error:
            return Late(str(error))
        except (OSError, ValueError, MemoryError):
            return Ended("was stopped")

    def answer(self, limit):
        message = self.read(bytearray(), codec.HEAD.size, limit)
        if len(message) < codec.HEAD.size:
            return Ended("ended the whole process (os._exit, too much memory, or a crash)")
        text, body = codec.sizes(message[: codec.HEAD.size])
        message = self.read(message, codec.HEAD.size + text + body, limit)
        return codec.loads(memoryview(message)[codec.HEAD.size :], text)

    def write(self, message, limit):
        message = memoryview(message)
        while message:
            if not (count := self.to.write(message)):
                self.wait(self.to, limit)
            message = message[count or 0 :]

    def read(self, message, count, limit):
        """The message with what comes after it, until it has so many bytes, or fewer at the end."""
        while len(message) < count:
            self.wait(self.back, limit)
            piece = self.back.read(max(count - len(message), AT_ONCE))
            if piece == b"":
                break
            message += piece or b""                  # None: nothing yet
        if len(message) > count > codec.HEAD.size:
            raise codec.CodecError("more than one answer")
        return message

    def wait(self, pipe, limit):
        """Until the pipe is ready; TimeoutError, with the limit's words, where that takes too long."""
        while not (exceeded := limit.exceeded):
            if self.ready[pipe].poll(1000 * MOMENT):
                return
        raise TimeoutError(exceeded)

    def close(self, patience=PATIENCE):
        """As soon as nobody talks; not at all where somebody talks longer than that."""
        if self.talking.acquire(timeout=patience):
            self.to.close()
            self.back.close()
            self.talking.release()


class PipesOfWindows(Pipes):
    def __init__(self, to, back):
        self.to, self.back, self.questions, self.answers = to, back, queue.SimpleQueue(), queue.SimpleQueue()
        self.thread = threading.Thread(target=self.converse, daemon=True)
        self.thread.start()

    def ask(self, question, limit):
        self.questions.put(question)
        while not (exceeded := limit.exceeded):
            with contextlib.suppress(queue.Empty):
                return self.answers.get(timeout=MOMENT)
        return Late(exceeded)

    def converse(self):
        """In a thread of its own, which alone touches the pipes."""
        with self.to, self.back:
            while (question := self.questions.get()) is not None:
                self.answers.put(self.exchange(question, None))

    def wait(self, pipe, limit):
        """It waits in the pipe itself, as long as it likes."""

    def close(self, patience=PATIENCE):
        self.questions.put(None)
        self.thread.join(patience)
