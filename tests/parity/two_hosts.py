"""Two hosts on one machine: network namespaces, joined by a link whose rate is limited. For Linux and root alone.

    with two_hosts(directory, "1gbit") as hosts:
        subprocess.run(hosts.mpiexec(MPIEXEC, 2, "script.py"), env=os.environ | hosts.environment)

`python two_hosts.py 1gbit --runs 9` times the sum of ALBERT-base's gradient and of BERT-base's over such a link.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SUBNET, WIRE = "10.213.77", "wire"
AGENT = """#!/bin/sh
# What mpiexec calls in place of ssh: [options] host command ...
while [ "${1#-}" != "$1" ]; do shift; done
host=$1
shift
exec ip netns exec "$NAMESPACE-${host##*.}" sh -c "$*"
"""


def why_not():
    """Why namespaces cannot be made here; None if they can."""
    if not sys.platform.startswith("linux") or os.geteuid():
        return "network namespaces need Linux and root"
    for program in ("ip", "tc"):
        if shutil.which(program) is None:
            return f"network namespaces need {program}, of iproute2"
    name = f"probe{os.getpid()}"
    tried = run("ip", "netns", "add", name, check=False)
    run("ip", "netns", "del", name, check=False)
    return None if tried.returncode == 0 else f"no network namespace can be made: {tried.stderr.strip()}"


def run(*argv, check=True):
    return subprocess.run(argv, check=check, capture_output=True, text=True)


class Hosts(NamedTuple):
    name: str  # of the namespaces, before -1 and -2
    agent: str

    @property
    def environment(self):
        return {"NAMESPACE": self.name, "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": WIRE}

    def mpiexec(self, mpiexec, count, *command):
        """The command that starts so many ranks, half of them on each host."""
        each = max(1, count // 2)
        hosts = ",".join(f"{SUBNET}.{number}:{each}" for number in (1, 2)[: min(count, 2)])
        launcher = [
            str(mpiexec),
            "-hosts",
            hosts,
            "-iface",
            WIRE,
            "-launcher",
            "ssh",
            "-launcher-exec",
            str(self.agent),
        ]
        return ["ip", "netns", "exec", f"{self.name}-1", *launcher, "-n", str(count), *map(str, command)]

    def link(self, state):
        """Cut the link, or join it again: "down" or "up"."""
        run("ip", "netns", "exec", f"{self.name}-2", "ip", "link", "set", WIRE, state)


@contextlib.contextmanager
def two_hosts(place, rate=None):
    """place: a directory for the agent; rate: of the link, in the words of tc, such as 1gbit"""
    name, agent = f"minalbert{os.getpid()}", place / "agent.sh"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    try:
        for number in (1, 2):
            run("ip", "netns", "add", f"{name}-{number}")
        run("ip", "link", "add", "name", WIRE, "netns", f"{name}-1", "type", "veth", "peer", "name", WIRE, "netns",
            f"{name}-2")  # fmt: skip
        for number in (1, 2):
            inside = "ip", "netns", "exec", f"{name}-{number}"
            run(*inside, "ip", "addr", "add", f"{SUBNET}.{number}/24", "dev", WIRE)
            for device in ("lo", WIRE):
                run(*inside, "ip", "link", "set", device, "up")
            if rate:
                run(*inside, "tc", "qdisc", "add", "dev", WIRE, "root", "tbf", "rate", rate, "burst", "256kb",
                    "latency", "50ms")  # fmt: skip
        while "state UP" not in run("ip", "netns", "exec", f"{name}-1", "ip", "link", "show", WIRE).stdout:
            time.sleep(0.05)
        yield Hosts(name, agent)
    finally:
        for number in (1, 2):
            run("ip", "netns", "del", f"{name}-{number}", check=False)


def main():
    from ranks_of_mpi import HERE, MPIEXEC, environment

    rate, *argv = sys.argv[1:]
    command = [sys.executable, HERE.parents[1] / "benchmarks" / "ranks.py", "--numbers", "11813810", "109705010", *argv]
    with tempfile.TemporaryDirectory() as place, two_hosts(Path(place), rate) as hosts:
        subprocess.run(hosts.mpiexec(MPIEXEC, 2, *command), env=environment(**hosts.environment), check=True)


if __name__ == "__main__":
    main()
