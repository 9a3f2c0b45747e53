"""Python's audit hooks: what a submission may not do, as far as Python hears of it.

The first hook refuses with an error that says why, the second ends the process where the first let pass what it had to
refuse. A submission can patch every module. It sees the frames that an error passed through, those that call its
functions, and, where objects are collected, those of whatever runs then. So the functions that decide have globals and
builtins of their own. They call no method of an argument's own, and the frame that raises the error holds none of them.
`worker` alone collects, in another thread.
"""

import builtins
import functools
import os
import sys
import types

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
    "os.removexattr": ((0, None),), "os.chflags": ((0, None),),
}  # fmt: skip
BY_PATH = (                                          # functions of `os` that raise these events, and "open"
    "chdir", "chflags", "chmod", "chown", "lchown", "link", "listdir", "mkdir", "open", "remove", "removexattr",
    "rename", "replace", "rmdir", "scandir", "setxattr", "symlink", "truncate", "unlink", "utime",
)  # fmt: skip
WRITTEN = 200                                        # files opened for writing, each of a megabyte at most
TOUCHED = 66                                         # the exit status of a process whose hook was touched


def listen(own, readable, secret):
    """From now on: to read, `readable` without `secret`; to write, `own`."""
    for name in BY_PATH:
        if hasattr(os, name):
            setattr(os, name, given_text(getattr(os, name)))
    for then in (refuse, functools.partial(make_sure, os._exit)):
        sys.addaudithook(functools.partial(then, apart(decider)(own, readable, secret)))


def given_text(function):
    """The function of `os`, for a Path as well: the hooks refuse one, for it may say another text each time."""

    @functools.wraps(function)
    def called(*args, **kwargs):
        return function(*map(as_text, args), **{name: as_text(value) for name, value in kwargs.items()})

    return called


def as_text(value):
    return os.fspath(value) if hasattr(value, "__fspath__") else value


def apart(function):
    """The function with globals and builtins that nothing else uses."""
    own = globals() | {"__builtins__": dict(vars(builtins))}
    return types.FunctionType(function.__code__, own, function.__name__)


def refuse(decide, event, args):
    kind = PermissionError
    try:
        reason = decide(event, args)
    except (RecursionError, MemoryError) as error:
        kind, reason = error.__class__, event
    except BaseException:                            # of arguments that only a submission makes; it has seen inside
        reason = event
    finally:
        del decide                                   # the error that goes on has this frame
    if reason:
        raise kind(f"a submission may not do this: {reason}")


def make_sure(end, decide, event, args):
    try:
        touched = decide(event, args)
    except BaseException:
        touched = True
    if touched:
        end(TOUCHED)


def decider(own, readable, secret):
    """(event, args) -> what is refused, or None. All that it uses is bound here, for anybody may change modules."""
    paths = private(os.path)
    realpath, join, isdir, readlink = paths["realpath"], paths["join"], paths["isdir"], os.readlink
    separator, nothing, encoding = os.sep, os.devnull, sys.getfilesystemencoding()
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    looks, changes, left = tuple(LOOKS.items()), tuple(CHANGES.items()), iter(range(WRITTEN))
    libraries = tuple(root for root in readable if root != own)
    own, readable, secret, refused, not_anew = (own,), tuple(readable), tuple(secret), REFUSED, frozenset(NOT_ANEW)
    text, number, decoded = str.__str__, int.__index__, bytes.decode     # of a class of the submission's own, too

    def depth(path, roots):
        """The length of the longest root that it lies in; 0: it lies in none."""
        inside = [root for root in roots if path == root or path[: len(root) + 1] == root + separator]
        return max(map(len, inside), default=0)

    def real(path, folder=None):
        """Where a path or an open file leads; "" if nobody can say."""
        kind = type(path)
        try:
            if issubclass(kind, int):
                return readlink(f"/proc/self/fd/{number(path)}")
            if not issubclass(kind, str | bytes):
                return ""
            path = text(path) if issubclass(kind, str) else decoded(path, encoding, "surrogateescape")
            return realpath(path if folder is None or number(folder) == -1 else join(real(folder), path))
        except (OSError, ValueError):
            return ""

    def outside(path, roots, folder=None):
        """The path, if it lies in none of the roots, or deeper in a secret."""
        if path is None:
            return None
        place = real(path, folder)
        return None if depth(place, roots) > depth(place, secret) else place or "a file that nobody can name"

    def opened(path, flags):
        if issubclass(type(path), int) or (type(path) is str and path == nothing):
            return None
        into = flags & writing if type(flags) is int else writing
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
        return event if event.startswith(refused) else None

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
