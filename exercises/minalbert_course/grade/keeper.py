"""The process between the grader and a submission's: whatever happens to either, it leaves nothing behind.

It goes on in a child, in which the submission will run, and waits for the end of a pipe that the grader alone holds
open: the grader closes it when it is done, and the system does when the grader is interrupted or killed. Then the
keeper kills the child, with a process namespace all that the child ever started, and removes the folder.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import stat
import struct
import sys

CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = (
    0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)  # fmt: skip
CLONE_NEWNS, MS_BIND, MS_PRIVATE = 0x00020000, 1 << 12, 1 << 14 | 1 << 18
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, READ_ONLY = 442, -100, 0x8000, 1
PR_SET_PDEATHSIG, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 1, 24, 38
CAPABILITIES, CAP_DAC_READ_SEARCH = 0x20080522, 1 << 2       # the version with two words for each set of them
NAMESPACES = "no network, no other processes (namespaces)"
MOUNTS = "modes and times of others' files (mounts)"


def libc():
    if sys.platform != "linux":
        raise OSError("not Linux")
    return ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def keep(lifeline, folder):
    """Returns in the child: [the fences that stand]. On Windows there is no keeper; the grader alone cleans up."""
    if not hasattr(os, "fork"):
        return []
    fences = [NAMESPACES] if own_namespaces() else []
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(lifeline)
        os.close(told)
        os.read(ready, 1)                            # the keeper listens for the grader's end
        os.close(ready)
        os.setsid()                                  # kill(0, ...) does not reach the keeper
        with contextlib.suppress(OSError):           # the keeper itself may be killed
            checked(libc().prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        fences += [MOUNTS] if fences and read_only(folder) else []
        drop_rights()
        return fences
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    os.chdir("/")
    os.closerange(0, lifeline)                       # the pipes of the conversation, whose end the grader must see
    os.closerange(lifeline + 1, 256)
    os.read(lifeline, 1)
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)             # its session, where there is no namespace
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.waitpid(child, 0)
    remove(folder)
    with contextlib.suppress(OSError):               # without namespaces: those that stayed in the session, itself last
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


def own_namespaces():
    """A child of this process will be the first of a world of its own: when it ends, all others in it are killed."""
    try:
        library = libc()
        as_user = 0 if os.geteuid() == 0 else CLONE_NEWUSER
        checked(library.unshare(as_user | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC))
        library.unshare(CLONE_NEWUTS)                # the machine's name
    except (OSError, AttributeError):
        return False
    return True


def read_only(folder):
    """This process sees every file system as one that is only read, but for the folder."""
    try:
        library, folder = libc(), os.fsencode(folder)
        checked(library.unshare(CLONE_NEWNS))
        checked(library.mount(None, b"/", None, MS_PRIVATE, None))
        checked(library.mount(folder, folder, None, MS_BIND, None))
        for path, how, attributes in ((b"/", AT_RECURSIVE, (READ_ONLY, 0)), (folder, 0, (0, READ_ONLY))):
            packed = struct.pack("<4Q", *attributes, 0, 0)
            checked(library.syscall(MOUNT_SETATTR, AT_FDCWD, path, how, packed, len(packed)))
        os.chdir(folder)                             # not what lies below the new mount
    except (OSError, AttributeError):
        return False
    return True


def drop_rights():
    """This process and its threads to come lose root's rights, but to read, where Python cannot be read without."""
    with contextlib.suppress(OSError, AttributeError):
        library = libc()
        no_new_rights(library)
        for number in range(64):
            library.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
        there = [path for path in sys.path if os.path.isdir(path)]
        permitted = capabilities(library)
        keep_capabilities(library, 0, permitted)
        needed = 0 if all(os.access(path, os.R_OK, effective_ids=True) for path in there) else CAP_DAC_READ_SEARCH
        keep_capabilities(library, permitted & needed, permitted & needed)


def capabilities(library):
    """Those that this thread may have, the first 32 of them."""
    sets = ctypes.create_string_buffer(24)           # two times: effective, permitted, inheritable
    checked(library.capget(struct.pack("<Ii", CAPABILITIES, 0), sets))
    return struct.unpack("<6I", sets.raw)[1]


def keep_capabilities(library, effective, permitted):
    checked(library.capset(struct.pack("<Ii", CAPABILITIES, 0), struct.pack("<6I", effective, permitted, 0, 0, 0, 0)))


def no_new_rights(library):
    """No program that it starts has more rights than it has itself."""
    checked(library.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))


def remove(folder):
    """The folder with all that is in it, folders that were closed to their owner, too; nothing above it is changed."""

    def opened(function, path, error):
        for place in (os.path.dirname(path), path):
            inside = os.path.commonpath((os.path.abspath(place), os.path.abspath(folder))) == os.path.abspath(folder)
            if inside and not os.path.islink(place) and os.path.isdir(place):
                os.chmod(place, stat.S_IRWXU)
        if function in (os.rmdir, os.unlink):
            with contextlib.suppress(OSError):
                function(path)
        else:
            shutil.rmtree(path, ignore_errors=True)

    with contextlib.suppress(OSError):
        if sys.version_info >= (3, 12):
            shutil.rmtree(folder, onexc=opened)
        else:
            shutil.rmtree(folder, onerror=opened)
