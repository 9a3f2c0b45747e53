"""Python's audit hooks: what a submission may not do, as far as Python hears of it.

The first hook refuses with an error that says why. An error carries the frames it passed through, and a submission
could change what they hold. So a second hook asks the same again; it never raises, so that nobody gets hold of its
frame, and ends the process where the first let pass what it had to refuse.
"""

import builtins
import os
import sys
import types
from pathlib import Path

REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "os.setpriority", "signal.pthread_kill", "signal.pidfd_send_signal", "resource.", "pty.",
    "socket.", "ctypes.", "mmap.", "gc.", "winreg.", "_winapi.", "msvcrt.", "webbrowser.", "ftplib.", "http.",
    "imaplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "syslog.", "sqlite3.", "sys.remote_exec",
    "sys.unraisablehook", "sys._current_frames", "sys._current_exceptions", "cpython._PySys_ClearAuditHooks",
    "cpython.PyInterpreterState_New",
)  # fmt: skip
NOT_ANEW = {                                         # modules that fork, run code without a hook, or call C
    "_posixsubprocess", "_xxsubinterpreters", "_interpreters", "_testcapi", "_testinternalcapi", "_cffi_backend",
}  # fmt: skip
LOOKS = {"os.listdir": ((0, None),), "os.scandir": ((0, None),), "os.chdir": ((0, None),)}
CHANGES = {                                          # event: its arguments that are paths, each with that of its dir_fd
    "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.rmdir": ((0, 1),), "os.mkdir": ((0, 2),),
    "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.lchown": ((0, None),), "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((0, None), (1, 2)), "os.truncate": ((0, None),), "os.utime": ((0, 3),), "os.setxattr": ((0, None),),
    "os.removexattr": ((0, None),), "os.chflags": ((0, None),), "shutil.rmtree": ((0, 1),),
    "shutil.copyfile": ((1, None),), "shutil.move": ((0, None), (1, None)), "tempfile.mkstemp": ((0, None),),
    "tempfile.mkdtemp": ((0, None),),
}  # fmt: skip
WRITTEN = 200                                        # files opened for writing, each of a megabyte at most
TOUCHED = 66                                         # the exit status of a process whose hook was touched


def listen(own, readable, secret):
    """From now on: to read, `readable` without `secret`; to write, `own`."""
    globals()["__builtins__"] = dict(vars(builtins))         # the functions defined from here on have these
    polite, strict = decider(own, readable, secret), decider(own, readable, secret)
    end = os._exit

    def refuse(event, args):
        if reason := polite(event, args):
            raise PermissionError(f"a submission may not do this: {reason}")

    def make_sure(event, args):
        if strict(event, args):
            end(TOUCHED)

    sys.addaudithook(refuse)
    sys.addaudithook(make_sure)


def decider(own, readable, secret):
    """(event, args) -> what is refused, or None. All that it uses is bound here, for anybody may change modules."""
    paths = private(os.path)
    realpath, join, isdir, readlink = paths["realpath"], paths["join"], paths["isdir"], paths["os"].readlink
    guarded = frozenset(id(function) for function in paths.values())
    separator, nothing, fspath, encoding = os.sep, os.devnull, os.fspath, sys.getfilesystemencoding()
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    looks, changes, left = tuple(LOOKS.items()), tuple(CHANGES.items()), iter(range(WRITTEN))
    libraries = tuple(root for root in readable if root != own)
    own, readable, secret, refused = (own,), tuple(readable), tuple(secret), REFUSED
    known, not_anew, last_part = (str, bytes, type(Path())), frozenset(NOT_ANEW), str.rpartition

    def depth(path, roots):
        """The length of the longest root that it lies in; 0: it lies in none."""
        inside = [root for root in roots if path == root or path[: len(root) + 1] == root + separator]
        return max(map(len, inside), default=0)

    def real(path, folder=None):
        """Where a path or an open file leads; "" if nobody can say."""
        try:
            if isinstance(path, int):
                return readlink(f"/proc/self/fd/{path + 0}")
            if type(path) is known[2]:
                path = fspath(path)
            if not isinstance(path, known[:2]):
                return ""
            path = bytes(path).decode(encoding, "surrogateescape") if isinstance(path, bytes) else str.__str__(path)
            return realpath(path if folder in (None, -1) else join(real(folder), path))
        except (OSError, ValueError):
            return ""

    def outside(path, roots, folder=None):
        """The path, if it lies in none of the roots, or deeper in a secret."""
        if path is None:
            return None
        place = real(path, folder)
        return None if depth(place, roots) > depth(place, secret) else place or "a file that nobody can name"

    def opened(path, flags):
        if isinstance(path, int) or (type(path) is str and path == nothing):
            return None
        into = flags & writing if isinstance(flags, int) else 0
        if (where := outside(path, own if into else readable)) is not None:
            return f"open {where}"
        if into and next(left, None) is None:
            return "open so many files"
        if not into and outside(path, own) and isdir(real(path)):
            return "open a folder"                   # with which others' files could be named
        return None

    def imported(name, place):
        """place: the library in which a module's machine code is, or None"""
        if not issubclass(type(name), str) or last_part(name, ".")[2] in not_anew:
            return "import a module that goes around this"
        return None if (where := outside(place, libraries)) is None else f"import {where}"

    def decide(event, args):
        if event == "builtins.id":                   # by far the most frequent one
            return None
        if event == "open":
            return opened(args[0], args[2])
        if event == "import":
            return imported(args[0], args[1])
        for known_events, roots in ((changes, own), (looks, readable)):
            for name, places in known_events:
                if event == name:
                    found = [where for i, at in places if (where := outside(
                        args[i], roots, None if at is None or at >= len(args) else args[at])) is not None]  # fmt: skip
                    return f"{event} {found[0]}" if found else None
        if event == "object.__setattr__" and id(args[0]) in guarded:
            return event
        return event if event.startswith(refused) else None

    return decide


def private(module):
    """{name: thing} of a copy of os.path, which uses a copy of os."""
    own = dict(vars(module)) | {"__builtins__": globals()["__builtins__"]}
    for name in ("os", "genericpath"):
        if name in own:
            own[name] = types.SimpleNamespace(**vars(own[name]))
    for name, value in own.items():
        if isinstance(value, types.FunctionType):
            own[name] = types.FunctionType(value.__code__, own, name, value.__defaults__, value.__closure__)
            own[name].__kwdefaults__ = value.__kwdefaults__
    return own
