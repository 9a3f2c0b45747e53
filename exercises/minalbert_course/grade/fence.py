"""What a submission may not do, and who stops it.

    memory, size of files            the operating system's limits (Unix)
    time                             the grader, from outside (everywhere), and the operating system (Unix)
    other files, the network, other programs     audit hooks of Python's (everywhere)
    the same, and other processes    on Linux the kernel: Landlock and mounts for files, namespaces for the rest

The hooks are a fence, not a wall: a determined submission finds a way around what Python alone forbids. The kernel's
fences hold against that, too. `raise_fences` says which of them stand; those of `keeper` stand before.
"""

import _imp
import _signal
import contextlib
import ctypes
import functools
import importlib
import os
import signal
import struct
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

from . import hook
from .keeper import NAMESPACES, checked, libc, no_new_rights

LANDLOCK = "files (Landlock)"
OPEN = ("pidfd_open", "mkfifo", "mknod", "chroot", "setns", "unshare", "setsid", "setpgid", "sched_setaffinity",
        "sched_setscheduler", "sched_setparam")  # fmt: skip
SIGNAL = ("pidfd_send_signal",)
UNHEARD = ((os, OPEN), (sys.modules[os.name], OPEN), (subprocess, ("_fork_exec",)),
           (signal, SIGNAL), (_signal, SIGNAL), (sys, ("activate_stack_trampoline",)),
           (sys.modules.get("_posixsubprocess"), ("fork_exec",)), (_imp, ("create_builtin",)),
           (time, ("clock_settime", "clock_settime_ns")))  # fmt: skip
KERNEL = (NAMESPACES, LANDLOCK)                      # without which a submission may come to see a secret
COURSE = Path(__file__).resolve().parents[1]
OPEN_AT_ONCE = 64                                    # files, each of which may hold a megabyte of memory (memfd, pipes)


def raise_fences(folder, seconds, megabytes):
    """Called once, in the worker, when all it needs itself is imported. Returns the names of the fences that stand."""
    roots, secrets = readable(), secret()
    raised = [name for name, put_up in (
        ("limits", lambda: limit(seconds, megabytes)),
        (LANDLOCK, lambda: landlock(folder, roots, secrets)),
    ) if attempt(put_up)]  # fmt: skip
    close_doors()
    hook.listen(os.path.realpath(folder), [*roots, os.path.realpath(folder)], secrets)
    return [*raised, "audit hook"]


def attempt(put_up):
    try:
        put_up()
    except (OSError, ImportError, AttributeError, ValueError):
        return False
    return True


def readable():
    """Python itself, its packages, what the system's libraries need, and the released model that exercise 13 reads."""
    paths = {sys.prefix, sys.base_prefix, sys.exec_prefix, *sysconfig.get_paths().values(), COURSE / "outside" / "ex13"}
    paths |= {path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")}
    paths |= {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/usr/share/zoneinfo",
              "/etc/fonts", "/usr/share/fonts"}  # fmt: skip
    return sorted({os.path.realpath(path) for path in paths if path and os.path.exists(path)} - {"/"})


def secret():
    """The library and the course, whose sources are the answers; in a checkout, all of it."""
    import minalbert

    library = Path(minalbert.__file__).resolve().parent
    checkouts = [library.parent] if (library.parent / "pyproject.toml").exists() else []
    return sorted(map(str, {library, COURSE, *checkouts}))


def without(root, secrets):
    """(path, whether what lies in it may be read): the root, cut into parts where a secret lies in it."""
    if root in secrets:
        return
    if not any(path.startswith(root + os.sep) for path in secrets):
        yield root, True
        return
    yield root, False
    with os.scandir(root) as entries:
        for entry in entries:
            if not entry.is_symlink():
                yield from without(entry.path, secrets)


def limit(seconds, megabytes):
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**20, 2**20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_AT_ONCE, OPEN_AT_ONCE))
    resource.setrlimit(resource.RLIMIT_AS, (megabytes * 2**20, megabytes * 2**20))


def close_doors():
    """What Python does without a word to the hook: start a program, make a file that is none, set the clock.

    A submission cannot import these modules again as they were: the built-in ones are all imported before.
    """
    for name in {*sys.builtin_module_names} - {*sys.modules} - hook.NOT_ANEW:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for module, names in UNHEARD:
        for name in names:
            if hasattr(module, name):
                os.supports_dir_fd.discard(getattr(module, name))    # which holds the function, too
                setattr(module, name, functools.partial(refuse, name))


def refuse(name, *args, **kwargs):
    raise PermissionError(f"a submission may not do this: {name}")


# Landlock, by system calls that Python has no names for.
LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
LIST = 1 << 3                                        # the names in a folder
READ = 1 << 0 | 1 << 2 | LIST                        # execute (which loading a library asks for), read file, read dir
FILES = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 14           # what may be allowed for a file: execute, write, read, truncate
RIGHTS = {1: 13, 2: 14, 3: 15}                       # how many rights each version of Landlock knows


def landlock(folder, roots, secrets):
    """Files: to read, the roots without the secrets; to write, the submission's folder; others not at all."""
    library = libc()
    library.syscall.restype = ctypes.c_long
    version = min(checked(library.syscall(LANDLOCK_CREATE, None, 0, 1)), max(RIGHTS))
    all_rights = (1 << RIGHTS[version]) - 1
    handled = ctypes.c_uint64(all_rights)
    ruleset = checked(library.syscall(LANDLOCK_CREATE, ctypes.byref(handled), 8, 0))
    parts = [(path, READ if whole else LIST) for root in roots for path, whole in without(root, secrets)]
    for path, allowed in [*parts, (folder, all_rights), (os.devnull, 1 << 1 | 1 << 2)]:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        allowed &= all_rights if os.path.isdir(path) else FILES
        if allowed:
            checked(library.syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("<Qi", allowed, handle), 0))
        os.close(handle)
    no_new_rights(library)
    checked(library.syscall(LANDLOCK_RESTRICT, ruleset, 0))
    os.close(ruleset)
