"""What a submission may not do, and who stops it.

    time, memory, size of files      the operating system's limits (Unix), and the grader's clock (everywhere)
    other files, the network, other programs     an audit hook of Python's (everywhere)
    the same, and other processes    on Linux the kernel: Landlock for files, namespaces for network and processes

The hook is a fence, not a wall: a determined submission finds a way around what Python alone forbids. The kernel's
fences hold against that, too. `raise_fences` says which of them stand.
"""

import ctypes
import os
import struct
import sys
import sysconfig
from pathlib import Path

import minalbert

KERNEL = ("no network, no other processes (namespaces)", "files (Landlock)")
REFUSED = (
    "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn", "os.fork", "os.forkpty", "os.startfile",
    "os.kill", "os.killpg", "os.setpriority", "signal.pthread_kill", "signal.pidfd_send_signal", "resource.", "pty.",
    "socket.", "ctypes.", "mmap.", "gc.", "winreg.", "_winapi.", "msvcrt.", "webbrowser.", "ftplib.", "http.",
    "imaplib.", "poplib.", "smtplib.", "telnetlib.", "urllib.", "syslog.", "sqlite3.", "sys.remote_exec",
    "sys.unraisablehook",
)  # fmt: skip
LOOKS = {"os.listdir": (0,), "os.scandir": (0,), "os.chdir": (0,)}       # event: which of its arguments are paths
CHANGES = {
    "os.remove": (0,), "os.rename": (0, 1), "os.rmdir": (0,), "os.mkdir": (0,), "os.chmod": (0,), "os.chown": (0,),
    "os.lchown": (0,), "os.link": (0, 1), "os.symlink": (0, 1), "os.truncate": (0,), "os.utime": (0,),
    "os.setxattr": (0,), "os.mkfifo": (0,), "os.mknod": (0,), "shutil.rmtree": (0,), "shutil.copyfile": (1,),
    "shutil.move": (0, 1), "tempfile.mkstemp": (0,), "tempfile.mkdtemp": (0,),
}  # fmt: skip
WRITTEN = 100                                        # files opened for writing, each of a megabyte at most


def raise_fences(folder, seconds, megabytes):
    """Called once, in the worker, when all it needs itself is imported. Returns the names of the fences that stand."""
    network, files = KERNEL
    raised = [name for name, put_up in (
        ("limits", lambda: limit(seconds, megabytes)),
        (network, own_namespaces),
        (files, lambda: landlock(folder)),
    ) if attempt(put_up)]  # fmt: skip
    no_programs()
    sys.addaudithook(hook(folder))
    sys.modules.pop(__name__)                        # out of a submission's easy reach
    return [*raised, "audit hook"]


def attempt(put_up):
    try:
        put_up()
    except (OSError, ImportError, AttributeError, ValueError):
        return False
    return True


def readable():
    """Python itself, its packages, and what the system's libraries need."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values()}
    paths |= {Path(minalbert.__file__).parent, Path(__file__).parents[1]}            # the library, and the course
    paths |= {path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")}
    paths |= {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo",
              "/etc/fonts", "/usr/share/fonts"}  # fmt: skip
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


def hook(folder):
    """All that it needs is bound here, for a submission may change every module."""
    own, anywhere = (os.path.realpath(folder),), (os.path.realpath(folder), *readable())
    realpath, fsdecode, separator, nothing = os.path.realpath, os.fsdecode, os.sep, os.devnull
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    looks, changes, refused, left = LOOKS.copy(), CHANGES.copy(), REFUSED, [WRITTEN]

    def refuse(event, what):
        raise PermissionError(f"a submission may not do this: {event} {what}".strip())

    def stay_inside(event, path, roots):
        if path is None or isinstance(path, int):
            return
        real = realpath(fsdecode(path))
        if not any(real == root or real.startswith(root + separator) for root in roots):
            refuse(event, fsdecode(path))

    def listen(event, args):
        if event == "open":
            path, _, flags = args
            if path == nothing or isinstance(path, int):
                return
            stay_inside(event, path, own if flags & writing else anywhere)
            if flags & writing:
                left[0] -= 1
                if left[0] < 0:
                    refuse(event, "so many files")
        elif event in changes:
            for place in changes[event]:
                stay_inside(event, args[place], own)
        elif event in looks:
            for place in looks[event]:
                stay_inside(event, args[place], anywhere)
        elif event.startswith(refused):
            refuse(event, "")

    return listen


# Linux, by system calls that Python has no names for.
CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x08000000, 0x10000000, 0x20000000, 0x40000000
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS, SIGKILL = 1, 38, 9
READ = 1 << 0 | 1 << 2 | 1 << 3                      # execute (which loading a library asks for), read file, read dir
FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14           # what may be allowed for a file: execute, write, read, truncate
RIGHTS = {1: 13, 2: 14, 3: 15}                       # how many rights each version of Landlock knows


def libc():
    if sys.platform != "linux":
        raise OSError("not Linux")
    return ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def own_namespaces():
    """No network, and processes that see and outlive nobody: goes on in a child, the first process of its world.

    The parent only waits. It holds no pipe, so that the grader sees when the child has ended.
    """
    library = libc()
    as_user = 0 if os.geteuid() == 0 else CLONE_NEWUSER
    checked(library.unshare(as_user | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC))
    child = os.fork()
    if child:
        os.closerange(0, 256)
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    checked(library.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0))
    if os.getppid() != 0:                            # a world of its own has no parent in sight
        raise OSError("the namespace is not there")


def landlock(folder):
    """Files: to read, Python's own; to write, the submission's folder; others not at all."""
    library = libc()
    library.syscall.restype = ctypes.c_long
    version = min(checked(library.syscall(LANDLOCK_CREATE, None, 0, 1)), max(RIGHTS))
    all_rights = (1 << RIGHTS[version]) - 1
    handled = ctypes.c_uint64(all_rights)
    ruleset = checked(library.syscall(LANDLOCK_CREATE, ctypes.byref(handled), 8, 0))
    for path, allowed in [*((path, READ) for path in readable()), (folder, all_rights), (os.devnull, 1 << 1 | 1 << 2)]:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed &= all_rights if os.path.isdir(path) else FILES
        checked(library.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("<Qi", allowed, handle), 0))
        os.close(handle)
    checked(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    checked(library.syscall(LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)
