"""Python's audit hooks: what a submission may not do, as far as Python hears of it.

The first hook refuses with an error that says why, the second ends the process where the first let pass what it had to
refuse. A submission can patch every module. It sees the frames that an error passed through, those that call its
functions, and, where objects are collected, those of whatever runs then. So the hooks are copies of functions to which
nothing leads, with globals and builtins of their own. What decides calls no function that a submission can replace, no
method of an argument's own among them, and lets no error out. The frame that raises one does not hold it, and
`collecting` keeps away what is collected.
"""

import builtins
import errno
import functools
import os
import re
import shutil
import sys
import types

REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "os.link", "os.symlink", "os.setpriority", "signal.pthread_kill", "fcntl.", "resource.",
    "pty.", "socket.", "ctypes.", "mmap.", "gc.", "winreg.", "_winapi.", "msvcrt.", "webbrowser.", "ftplib.", "http.",
    "imaplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "syslog.", "sqlite3.", "sys.remote_exec",
    "sys.unraisablehook", "sys._current_frames", "sys._current_exceptions", "cpython._PySys_ClearAuditHooks",
    "cpython.PyInterpreterState_New",
)  # fmt: skip
NOT_ANEW = {                                         # modules that fork, run code without a hook, call C, or open files
    "_posixsubprocess", "_xxsubinterpreters", "_interpreters", "_cffi_backend", "_remote_debugging", "_testcapi",
    "_testexternalinspection", "_testinternalcapi", "_testlimitedcapi", "_posixshmem", "_tkinter", "readline", "spwd",
    "nis", "_dbm", "_gdbm", "_msi",
}  # fmt: skip
LOOKS = {"os.listdir": ((0, None),), "os.scandir": ((0, None),)}
CHANGES = {                                          # event: its arguments that are paths, each with that of its dir_fd
    "os.chdir": ((0, None),), "os.remove": ((0, 1),), "os.rename": ((0, 2), (1, 3)), "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),), "os.chmod": ((0, 2),), "os.chown": ((0, 3),), "os.lchown": ((0, None),),
    "os.truncate": ((0, None),), "os.utime": ((0, 3),), "os.setxattr": ((0, None),), "os.removexattr": ((0, None),),
    "os.chflags": ((0, None),),
}  # fmt: skip
WRITTEN = 200                                        # files opened for writing, each of a megabyte at most
TOUCHED = 66                                         # the exit status of a process whose hook was touched


def listen(own, readable, secret):
    """From now on: to read, `readable` without `secret`; to write, `own`."""
    os.supports_dir_fd.discard(os.open)
    shutil._use_fd_functions = False                 # nor has it: the event of `os.open` does not tell the dir_fd
    isolated = isolated_function
    hooks = isolated(refuse), functools.partial(isolated(make_sure), os._exit)
    for number, hook in enumerate(hooks, 1):
        more = iter(hooks[number:])                  # hooks that are still to come; the submission's own none
        sys.addaudithook(functools.partial(hook, isolated(decider)(own, readable, secret, more)))


def isolated_function(function):
    """A copy of the function to which nothing else leads, with globals and builtins that nothing else uses."""
    own = globals() | {"__builtins__": dict(vars(builtins))}
    return types.FunctionType(function.__code__, own, function.__name__)


def refuse(decide, event, args):
    try:
        refused = decide(event, args)
    finally:
        del decide                                   # an error that goes on has this frame
    if refused:
        kind, reason = refused
        raise kind(f"a submission may not do this: {reason}")


def make_sure(end, decide, event, args):
    try:
        refused = decide(event, args)
    finally:
        del decide
    if refused:
        end(TOUCHED)


def decider(own, readable, secret, hooks):
    """(event, args) -> None, or the kind of error and what is refused. All that it uses is bound here."""
    plain, real, is_absolute, isdir = isolated_function(resolver)()
    outside = isolated_function(bounds)(real, tuple(secret))
    nothing, most, read_only, text = os.devnull, 2**31, frozenset("rbtU"), str.__str__
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    looks, changes, left = tuple(LOOKS.items()), tuple(CHANGES.items()), iter(range(WRITTEN))
    libraries = tuple(root for root in readable if root != own)
    own, readable, refused, not_anew = (own,), tuple(readable), REFUSED, frozenset(NOT_ANEW)

    def opened(path, mode, flags):
        """mode: None if `os.open` asks, which does not report its dir_fd"""
        if (type(path) is int and 0 <= path < most) or (type(path) is str and path == nothing):
            return None
        if issubclass(type(path), int):
            return "open what is a number and something else"
        into = flags & writing if type(flags) is int else writing
        if type(mode) is str and not read_only.issuperset(mode):
            into = writing                           # `ssl` says so, and no flags
        if not is_absolute(plain(path)) and (mode is None or ".." in plain(path).replace("\\", "/").split("/")):
            return "open a relative path, by os.open or by way of .."
        if (where := outside(path, own if into else readable)) is not None:
            return f"open {where}"
        if into and next(left, None) is None:
            return "open so many files"
        if not into and outside(path, own) and isdir(real(path)):
            return "open a folder"                   # with which others' files could be named
        return None

    def imported(name, place):
        """place: the library in which a module's machine code is, or None"""
        name = text(name).replace("-", "_") if issubclass(type(name), str) else ""
        if not name.replace(".", "_").isidentifier() or name.rpartition(".")[2] in not_anew:
            return "import a module that goes around this"
        return None if (where := outside(place, libraries)) is None else f"import {where}"

    def refusal(event, args):
        if event == "builtins.id":                   # by far the most frequent one
            return None
        if event == "open":
            return opened(*args[:3])
        if event == "import":
            return imported(args[0], args[1])
        if event == "sys.addaudithook":
            return event if next(hooks, None) is None else None
        for known_events, roots in ((changes, own), (looks, readable)):
            for name, places in known_events:
                if event == name:
                    found = [where for i, at in places if (where := outside(
                        args[i], roots, None if at is None or at >= len(args) else args[at])) is not None]  # fmt: skip
                    return f"{event} {found[0]}" if found else None
        return event if event.startswith(refused) else None

    return isolated_function(without_errors)(refusal)


def without_errors(refusal):
    """What `decider` returns: an error that got out would carry the frames of these functions."""
    too_deep, too_much = (RecursionError, "call functions so deep"), (MemoryError, "use so much memory")
    unjudged = PermissionError, "do what nobody can judge"

    def decide(event, args):
        try:
            reason = refusal(event, args)
            return (ImportError if event == "import" else PermissionError, reason) if reason else None
        except RecursionError as error:
            error.__traceback__ = None               # Python keeps some errors, and hands them out again
            return too_deep
        except MemoryError as error:
            error.__traceback__ = None
            return too_much
        except BaseException as error:
            error.__traceback__ = None
            return unjudged

    return decide


def bounds(real, secret):
    """outside: does a path lead out of some roots, or into a secret? real: see `resolver`"""
    separator = os.sep

    def depth(path, roots):
        """The length of the longest root that it lies in; 0: it lies in none."""
        inside = [root for root in roots if path == root or path[: len(root) + 1] == root + separator]
        return max(map(len, inside), default=0)

    def outside(path, roots, folder=None):
        """The path, if it lies in none of the roots, or deeper in a secret."""
        if path is None:
            return None
        place = real(path, folder)
        return None if depth(place, roots) > depth(place, secret) else place or "a file that nobody can name"

    return outside


def resolver():
    """plain, real, is_absolute, isdir: what a path is and where it leads, by functions that nobody can replace."""
    realpath, join, isdir = isolated_function(posix_paths if os.name == "posix" else windows_paths)()
    readlink, encoding = os.readlink, sys.getfilesystemencoding()
    text, number, decoded = str.__str__, int.__index__, bytes.decode     # of a class of the submission's own, too
    has_surrogate = re.compile("[\ud800-\udc7f\udd00-\udfff]").search     # which a codec asks an error handler about

    def plain(path):
        """A path's own text, or an open file's number; "" if it has none that everybody reads alike."""
        kind = type(path)
        if issubclass(kind, int):
            return number(path)
        if not issubclass(kind, str | bytes):
            return ""
        path = text(path) if issubclass(kind, str) else decoded(path, encoding, "surrogateescape")
        return "" if has_surrogate(path) else path

    def real(path, folder=None):
        """Where a path or an open file leads; "" if nobody can say."""
        path = plain(path)
        try:
            if type(path) is int:
                return readlink(f"/proc/self/fd/{path}")
            if folder is not None and number(folder) != -1:
                path = (beside := real(folder)) and join(beside, path)
            return path and realpath(path)
        except (OSError, ValueError):
            return ""

    return plain, real, isolated_module(os.path)["isabs"], isdir


def posix_paths():
    """realpath, join and isdir by readlink alone: what os.stat returns is of a class that a submission can change."""
    readlink, getcwd, is_no_link, most_links = os.readlink, os.getcwd, errno.EINVAL, 40

    def join(folder, path):
        return path if path.startswith("/") else f"{folder}/{path}"

    def realpath(path):
        found, left, links = "", join(getcwd(), path).split("/")[::-1], 0
        while left:
            part = left.pop()
            if part == "..":
                found = found.rpartition("/")[0]
            elif part not in ("", "."):
                try:
                    target = readlink(f"{found}/{part}")
                except OSError:                      # no link, or nothing is there
                    found = f"{found}/{part}"
                else:
                    if (links := links + 1) > most_links:
                        return ""
                    found, left = "" if target.startswith("/") else found, left + target.split("/")[::-1]
        return found or "/"

    def isdir(path):
        try:
            readlink(f"{path}/.")
        except OSError as error:
            return error.errno == is_no_link
        return True

    return realpath, join, isdir


def windows_paths():
    own = isolated_module(os.path)
    return own["realpath"], own["join"], own["isdir"]


def isolated_module(module):
    """{name: thing} of a copy of a module, which uses copies of other modules."""
    own = vars(module) | {"__builtins__": dict(vars(builtins))}
    for name, value in own.items():
        if isinstance(value, types.ModuleType):
            own[name] = types.SimpleNamespace(**vars(value))
        elif isinstance(value, types.FunctionType):
            own[name] = types.FunctionType(value.__code__, own, name, value.__defaults__, value.__closure__)
            own[name].__kwdefaults__ = value.__kwdefaults__ and dict(value.__kwdefaults__)
    return own
