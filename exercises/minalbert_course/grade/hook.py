"""Python's audit hooks: what a submission may not do, as far as Python hears of it.

The first hook refuses with an error that says why, the second ends the process where the first let pass what it had to
refuse. A submission can patch every module. It sees the frames that an error passed through, those that call its
functions, and, where objects are collected, those of whatever runs then. So the functions that decide have globals and
builtins of their own, call no function that a submission can replace, no method of an argument's own among them, and
let no error out. The frame that raises one holds none of them, and `collecting` keeps away what is collected.
"""

import builtins
import functools
import os
import re
import sys
import types

REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "os.link", "os.symlink", "os.setpriority", "signal.pthread_kill",
    "signal.pidfd_send_signal", "resource.", "pty.", "socket.", "ctypes.", "mmap.", "gc.", "winreg.", "_winapi.",
    "msvcrt.", "webbrowser.", "ftplib.", "http.", "imaplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "syslog.",
    "sqlite3.", "sys.remote_exec", "sys.unraisablehook", "sys._current_frames", "sys._current_exceptions",
    "cpython._PySys_ClearAuditHooks", "cpython.PyInterpreterState_New",
)  # fmt: skip
NOT_ANEW = {                                         # modules that fork, run code without a hook, or call C
    "_posixsubprocess", "_xxsubinterpreters", "_interpreters", "_cffi_backend", "_remote_debugging", "_testcapi",
    "_testexternalinspection", "_testinternalcapi", "_testlimitedcapi",
}  # fmt: skip
LOOKS = {"os.listdir": ((0, None),), "os.scandir": ((0, None),), "os.chdir": ((0, None),)}
CHANGES = {                                          # event: its arguments that are paths, each with that of its dir_fd
    "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.rmdir": ((0, 1),), "os.mkdir": ((0, 2),),
    "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.lchown": ((0, None),), "os.truncate": ((0, None),),
    "os.utime": ((0, 3),), "os.setxattr": ((0, None),), "os.removexattr": ((0, None),), "os.chflags": ((0, None),),
}  # fmt: skip
WRITTEN = 200                                        # files opened for writing, each of a megabyte at most
TOUCHED = 66                                         # the exit status of a process whose hook was touched


def listen(own, readable, secret):
    """From now on: to read, `readable` without `secret`; to write, `own`."""
    for answer in (refuse, functools.partial(end, os._exit)):
        sys.addaudithook(functools.partial(heard, answer, apart(decider)(own, readable, secret)))


def apart(function):
    """The function with globals and builtins that nothing else uses."""
    own = globals() | {"__builtins__": dict(vars(builtins))}
    return types.FunctionType(function.__code__, own, function.__name__)


def heard(answer, decide, event, args):
    try:
        refused = decide(event, args)
    finally:
        del decide                                   # an error that goes on has this frame
    if refused:
        answer(*refused)


def refuse(kind, reason):
    raise kind(f"a submission may not do this: {reason}")


def end(leave, kind, reason):
    leave(TOUCHED)


def decider(own, readable, secret):
    """(event, args) -> None, or the kind of error and what is refused. All that it uses is bound here."""
    paths = private(os.path)
    realpath, join, isdir, readlink = paths["realpath"], paths["join"], paths["isdir"], os.readlink
    separator, nothing, encoding = os.sep, os.devnull, sys.getfilesystemencoding()
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    looks, changes, left = tuple(LOOKS.items()), tuple(CHANGES.items()), iter(range(WRITTEN))
    libraries = tuple(root for root in readable if root != own)
    own, readable, secret, refused, not_anew = (own,), tuple(readable), tuple(secret), REFUSED, frozenset(NOT_ANEW)
    text, number, decoded = str.__str__, int.__index__, bytes.decode     # of a class of the submission's own, too
    odd = re.compile("[\ud800-\udfff]").search       # a submission may have said how these become bytes
    too_deep, too_much = (RecursionError, "call functions so deep"), (MemoryError, "use so much memory")
    strange = PermissionError, "do what nobody can judge"

    def depth(path, roots):
        """The length of the longest root that it lies in; 0: it lies in none."""
        inside = [root for root in roots if path == root or path[: len(root) + 1] == root + separator]
        return max(map(len, inside), default=0)

    def itself(path):
        """A path's own text, or an open file's number; "" if it has none that everybody reads alike."""
        kind = type(path)
        if issubclass(kind, int):
            return number(path)
        if not issubclass(kind, str | bytes):
            return ""
        path = text(path) if issubclass(kind, str) else decoded(path, encoding, "surrogateescape")
        return "" if odd(path) else path

    def real(path, folder=None):
        """Where a path or an open file leads; "" if nobody can say."""
        path = itself(path)
        try:
            if type(path) is int:
                return readlink(f"/proc/self/fd/{path}")
            return path and realpath(path if folder is None or number(folder) == -1 else join(real(folder), path))
        except (OSError, ValueError):
            return ""

    def outside(path, roots, folder=None):
        """The path, if it lies in none of the roots, or deeper in a secret."""
        if path is None:
            return None
        place = real(path, folder)
        return None if depth(place, roots) > depth(place, secret) else place or "a file that nobody can name"

    def opened(path, mode, flags):
        """mode: None if `os.open` asks, for which a path may begin in another folder, and nobody says where"""
        if issubclass(type(path), int) or (type(path) is str and path == nothing):
            return None
        into = flags & writing if type(flags) is int else writing
        if mode is None and ".." in itself(path).split(separator):
            return "open a file by way of .."
        if (where := outside(path, own if into else readable)) is not None:
            return f"open {where}"
        if into and next(left, None) is None:
            return "open so many files"
        if not into and outside(path, own) and isdir(real(path)):
            return "open a folder"                   # with which others' files could be named
        return None

    def imported(name, place):
        """place: the library in which a module's machine code is, or None"""
        if not issubclass(type(name), str) or text(name).rpartition(".")[2] in not_anew:
            return "import a module that goes around this"
        return None if (where := outside(place, libraries)) is None else f"import {where}"

    def refusal(event, args):
        if event == "builtins.id":                   # by far the most frequent one
            return None
        if event == "open":
            return opened(*args[:3])
        if event == "import":
            return imported(args[0], args[1])
        for known_events, roots in ((changes, own), (looks, readable)):
            for name, places in known_events:
                if event == name:
                    found = [where for i, at in places if (where := outside(
                        args[i], roots, None if at is None or at >= len(args) else args[at])) is not None]  # fmt: skip
                    return f"{event} {found[0]}" if found else None
        return event if event.startswith(refused) else None

    def decide(event, args):
        """It raises nothing: an error would carry the frames of these functions."""
        try:
            reason = refusal(event, args)
            return (PermissionError, reason) if reason else None
        except RecursionError:
            return too_deep
        except MemoryError:
            return too_much
        except BaseException:
            return strange

    return decide


def private(module):
    """{name: thing} of a copy of a module, which uses copies of other modules."""
    own = vars(module) | {"__builtins__": dict(vars(builtins))}
    for name, value in own.items():
        if isinstance(value, types.ModuleType):
            own[name] = types.SimpleNamespace(**vars(value))
        elif isinstance(value, types.FunctionType):
            own[name] = types.FunctionType(value.__code__, own, name, value.__defaults__, value.__closure__)
            own[name].__kwdefaults__ = value.__kwdefaults__ and dict(value.__kwdefaults__)
    return own
