"""What a submission may not do, and who stops it.

    time, memory, size of files     the operating system's limits (Unix), and the grader's clock (everywhere)
    files of others, the network, other programs     an audit hook of Python (everywhere); on Linux also the kernel:
                                    Landlock for files, a network namespace of its own, where the kernel grants them

The hook is a fence, not a wall: a determined submission finds a way around what Python alone forbids. Landlock and the
namespace hold against that, too. `raise_fences` says which of them stand.
"""

import ctypes
import os
import struct
import sys
import sysconfig
from pathlib import Path

REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "signal.pthread_kill", "pty.spawn", "socket.", "ctypes.", "mmap.", "winreg.", "webbrowser.",
    "ftplib.", "http.", "imaplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "syslog.", "_winapi.", "msvcrt.",
    "sqlite3.", "glob.", "sys.unraisablehook",
)  # fmt: skip
PATHS = {
    # event: which of its arguments are paths that it would change, or look into
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.chmod": (0,), "os.chown": (0,),
    "os.link": (0, 1), "os.symlink": (0, 1), "os.truncate": (0,), "os.utime": (0,), "os.chdir": (0,),
    "os.listdir": (0,), "os.scandir": (0,), "shutil.rmtree": (0,), "shutil.copyfile": (0, 1), "shutil.move": (0, 1),
}  # fmt: skip


def raise_fences(folder, seconds, megabytes):
    """Called once, in the worker, when all it needs itself is imported. Returns the names of the fences that stand."""
    standing = [name for name, put_up in (
        ("limits", lambda: limit(seconds, megabytes)),
        ("no network (namespace)", own_network),
        ("files (Landlock)", lambda: landlock(readable(), folder)),
    ) if attempt(put_up)]  # fmt: skip
    no_programs()
    sys.addaudithook(hook(folder, readable()))
    return [*standing, "audit hook"]


def attempt(put_up):
    try:
        put_up()
    except (OSError, ImportError, AttributeError, ValueError):
        return False
    return True


def readable():
    """Python itself and its packages."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), Path(__file__).parents[2]}
    return sorted({os.path.realpath(path) for path in paths if path and os.path.exists(path)} - {"/"})


def limit(seconds, megabytes):
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))


def no_programs():
    """The one way to start a program that the hook hears nothing of."""
    import subprocess

    def refused(*args):
        raise PermissionError("a submission may not do this: start a program")

    for module in (subprocess, sys.modules.get("_posixsubprocess")):
        for name in ("_fork_exec", "fork_exec"):
            if hasattr(module, name):
                setattr(module, name, refused)


def hook(folder, readable):
    folder = os.path.realpath(folder)

    def refuse(event, what):
        raise PermissionError(f"a submission may not do this: {event} {what}".strip())

    def inside(path, roots):
        path = os.path.realpath(os.fsdecode(path))
        return any(path == root or path.startswith(root + os.sep) for root in roots)

    def listen(event, args):
        if event == "open":
            path, _, flags = args
            if isinstance(path, int) or path is None or path == os.devnull:
                return
            writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
            if not inside(path, [folder] if writes else [folder, *readable]):
                refuse("open", os.fsdecode(path))
        elif event in PATHS:
            for place in PATHS[event]:
                path = args[place]
                if path is not None and not isinstance(path, int) and not inside(path, [folder, *readable]):
                    refuse(event, os.fsdecode(path))
        elif event.startswith(REFUSED):
            refuse(event, "")

    return listen


# Linux, by system calls that Python has no names for.
CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT, PR_SET_NO_NEW_PRIVS = 444, 445, 446, 38
READ = 1 << 0 | 1 << 2 | 1 << 3                      # execute (which loading a library asks for), read file, read dir
ALL = (1 << 13) - 1                                  # all rights of Landlock's first version


def libc():
    if sys.platform != "linux":
        raise OSError("not Linux")
    return ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def own_network():
    """A namespace with no network in it."""
    library = libc()
    if os.geteuid() == 0:
        checked(library.unshare(CLONE_NEWNET))
    else:
        checked(library.unshare(CLONE_NEWUSER | CLONE_NEWNET))


def landlock(readable, folder):
    """Files: to read, Python's own; to write, the submission's folder; others not at all."""
    library = libc()
    library.syscall.restype = ctypes.c_long
    rights = ctypes.c_uint64(ALL)
    ruleset = checked(library.syscall(LANDLOCK_CREATE, ctypes.byref(rights), 8, 0))
    for path, allowed in [*((path, READ) for path in readable), (folder, ALL), ("/dev/null", 1 << 1 | 1 << 2)]:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        if not os.path.isdir(path):
            allowed &= 1 << 0 | 1 << 1 | 1 << 2
        rule = struct.pack("<Qi", allowed, handle)
        checked(library.syscall(LANDLOCK_ADD, ruleset, 1, rule, 0))
        os.close(handle)
    checked(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(library.syscall(LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)
