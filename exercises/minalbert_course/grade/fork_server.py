"""Workers by fork: one process imports what every worker needs, and each worker begins as a copy of it.

To import NumPy and the rest takes a worker a tenth of a second of processor time; a copy has them at once. Each copy
is fenced as a process of its own is: it has a session, a folder, namespaces and limits. The server never runs a
submission, so that all copies begin equal. It answers one process of the grader through a socket, and ends with it.
On Linux alone: libraries of macOS do not survive a fork.
"""

import contextlib
import gc
import importlib
import json
import os
import socket
import subprocess
import sys
import sysconfig
import threading
import time

LONGEST = 2**16                                      # bytes of a request
MOMENT = 0.001                                       # seconds between two looks at a process that is ending


class ForkServer:
    """The grader's side."""

    def __init__(self, command, environment, folder):
        """command: of a worker, without its arguments; folder: where the workers' own folders are made"""
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.one, self.asked = threading.Lock(), 0
        with theirs:
            self.process = subprocess.Popen(
                [*command, "fork", str(theirs.fileno()), folder], cwd=folder, env=environment, start_new_session=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )  # fmt: skip

    @property
    def alive(self):
        return self.process.poll() is None

    def request(self, what, ends=()):
        with self.one:
            self.asked, number = self.asked + 1, 0
            socket.send_fds(self.socket, [json.dumps([self.asked, what]).encode()], ends)
            while number != self.asked:              # an earlier one may have been interrupted before its answer came
                if not (message := self.socket.recv(LONGEST)):
                    raise OSError("the process that workers are forked from has ended")
                number, answer = json.loads(message)
        return answer

    def stop(self):
        self.socket.close()
        self.process.wait()


class Forked:
    """A worker, with as much of a Popen as its grader uses."""

    def __init__(self, server, folder, lifeline):
        self.server, self.ended = server, False
        incoming, to = os.pipe()
        back, outgoing = os.pipe()
        self.stdin, self.stdout = os.fdopen(to, "wb", 0), os.fdopen(back, "rb", 0)
        try:
            self.pid = server.request({"fork": folder}, (incoming, outgoing, lifeline))
        except BaseException:
            self.stdin.close()
            self.stdout.close()
            raise
        finally:
            os.close(incoming)
            os.close(outgoing)

    def wait(self, timeout=None):
        with contextlib.suppress(OSError):           # a server that has ended leaves the worker to the system
            self.ended = self.ended or self.server.request({"wait": self.pid, "seconds": timeout})
            if not self.ended:
                raise subprocess.TimeoutExpired("a worker", timeout)


def serve(number):
    """The server's side. Returns in each copy: (the lifeline, the folder)."""
    from . import inside, offered  # noqa: F401      what every worker needs

    gc.freeze()                                      # which no copy looks through again
    for module in offered.HARMLESS:                  # `offered` does look through these
        importlib.import_module(module)
    sysconfig.get_config_vars()                      # which are kept
    connection = socket.socket(fileno=number)
    while True:
        text, ends, *_ = socket.recv_fds(connection, LONGEST, 3)
        if not text:
            os._exit(0)                              # the grader has ended
        number, asked = json.loads(text)
        if "fork" not in asked:
            answer = ended(asked["wait"], asked["seconds"])
        elif not (answer := os.fork()):
            connection.close()
            return begin(asked["fork"], *ends), asked["fork"]
        for end in ends:
            os.close(end)
        connection.send(json.dumps([number, answer]).encode())


def begin(folder, incoming, outgoing, lifeline):
    """In a copy: what a process of its own begins with."""
    os.setsid()
    for end, number in ((incoming, 0), (outgoing, 1)):
        os.dup2(end, number)
        os.close(end)
    os.chdir(folder)
    os.environ |= {"HOME": folder, "TMPDIR": folder, "TEMP": folder}
    sys.modules["numpy"].random.seed()               # not the same numbers in each
    return lifeline


def ended(pid, seconds):
    """Wait so long; has it ended?"""
    end = None if seconds is None else time.monotonic() + seconds
    try:
        while not os.waitpid(pid, os.WNOHANG if end else 0)[0]:
            if time.monotonic() > end:
                return False
            time.sleep(MOMENT)
    except ChildProcessError:                        # the answer that said so was not read
        pass
    return True
