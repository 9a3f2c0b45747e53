"""A worker in a container: `minalbert grade --container`, with podman or docker.

Every submission gets a container of its own, without a network, with a file system that cannot be written but for
/tmp, and not as root. The submission goes in through the pipe, and no folder of this machine is mounted: the term's
secret, the other submissions and the grades are not in there.

    podman build -t minalbert-grade:VERSION build/course/container        the image; `make course` writes the folder
"""

import contextlib
import json
import os
import secrets
import shlex
import shutil
import subprocess
from pathlib import PurePosixPath

import minalbert

from ..errors import CourseError
from .codec import Packed
from .fenced import OWN
from .process import WorkerProcess
from .time_limit import CLOCK, STARTUP, TimeLimit

IMAGE = f"minalbert-grade:{minalbert.__version__}"
PROGRAMS = ("podman", "docker")


def program():
    """The one of podman and docker that is there and has the image."""
    found = next((name for name in PROGRAMS if shutil.which(name)), None)
    if found is None:
        raise CourseError(f"--container needs {' or '.join(PROGRAMS)} on the PATH, and neither is there")
    asked = subprocess.run([found, "image", "inspect", IMAGE], capture_output=True, text=True, errors="replace")
    if asked.returncode:
        reason = (asked.stderr.strip().splitlines() or ["it says nothing more"])[-1]
        raise CourseError(f"{found} does not give the image {IMAGE}: {reason}; where it is missing, `make course` and "
                          f"{found} build -t {IMAGE} build/course/container make it")  # fmt: skip
    return found


def command(program, name, limits):
    seconds = int(CLOCK * (STARTUP + 2 * limits.all))        # an end for a container whose grader was killed
    return [
        program, "run", "--rm", "--interactive", "--name", name, "--pull", "never", "--network", "none", "--read-only",
        "--tmpfs", "/tmp:size=64m", "--user", "65534:65534", "--cap-drop", "ALL", "--security-opt", "no-new-privileges",
        "--pids-limit", "64", "--memory", f"{OWN + limits.memory}m", IMAGE,
        "timeout", "--signal=KILL", str(seconds), "python", "-P", "-s", "/course/grade/received.py",
    ]  # fmt: skip


def as_text(program, limits):
    return shlex.join(command(program, "minalbert-...", limits))


class ContainedWorker(WorkerProcess):
    def __init__(self, program, limits):
        self.program, self.limits, self.name = program, limits, f"minalbert-{secrets.token_hex(8)}"
        self.given = None
        super().__init__()

    def begin(self):
        """With the grader's own environment, where podman and docker look for their images: none of it goes inside."""
        self.open(command(self.program, self.name, self.limits), dict(os.environ))

    @property
    def inside(self):
        return str(PurePosixPath(self.given or self.put("nothing", b"")).parent)

    def take(self, path):
        return self.put(path.name, path.read_bytes())

    def put(self, name, text):
        """Through the pipe, once. A container that does not start is nobody's mistake but the grader's."""
        file = Packed(json.dumps(name).encode() + b"\n" + text)
        path = self.ask(file, TimeLimit(self, STARTUP))
        if not isinstance(path, Packed):
            self.stop()
            raise CourseError(f"{self.program} did not start a container; the command that was printed shows why")
        self.given = path.decode("utf-8", "surrogateescape")
        return self.given

    def stop(self):
        """The container first: it is no child of this process, and does not end with podman's or docker's."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run([self.program, "kill", self.name], capture_output=True, timeout=STARTUP)
        super().stop()
