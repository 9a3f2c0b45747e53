"""Freed arrays stay with the process: glibc alone, for the others give no such choice."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minalbert.parallel import allocator

pytestmark = [
    pytest.mark.skipif(not allocator.glibc(), reason="this process has another C library than glibc"),
    pytest.mark.skipif(any(name in os.environ for name in allocator.SETTINGS), reason="the environment sets glibc's"),
]


MODEL = """
import os
import resource
from minalbert import PRESETS, Albert, Batch
model, batch = Albert.init(PRESETS["tiny"]), Batch.random(PRESETS["tiny"], 64, 32, 5)
"""
FAULTS = """
grads = model.params.zeros_like()
counts = []
for _ in range(16):
    model.loss_and_grads(batch, into=grads)
    counts.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
print(min(after - before for before, after in zip(counts[7:], counts[8:])))
"""
RESIDENT = """
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
model.loss_and_grads(batch)
model.release()
before = resident()
model.loss_and_grads(batch)
held = resident() - before
model.release()
print(held, resident() - before)
"""


def printed(program):
    """The numbers that a program prints in a process of its own, whose memory nothing else has used."""
    output = subprocess.run([sys.executable, "-c", MODEL + program], capture_output=True, text=True, check=True).stdout
    return [int(number) for number in output.split()]


def test_a_plain_step_needs_no_pages_that_the_last_one_had():
    (faults,) = printed(FAULTS)
    assert faults < 60  # as glibc comes, over 1,000; the least of some steps, as a busy system takes pages away


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say how much memory is resident")
def test_release_gives_the_pages_back():
    held, kept = printed(RESIDENT)
    assert held > 5e6
    assert kept < 0.4 * held


@pytest.mark.parametrize("name", allocator.SETTINGS)
def test_a_users_own_settings_are_left_alone(monkeypatch, name):
    called = []
    monkeypatch.setattr(allocator, "glibc", lambda: type("", (), {"mallopt": lambda *given: called.append(given)}))
    allocator.keep_freed_memory.__wrapped__()
    assert [setting for setting, _ in called] == [
        allocator.MMAP_THRESHOLD,
        allocator.TRIM_THRESHOLD,
        allocator.ARENA_MAX,
    ]
    called.clear()
    monkeypatch.setenv(name, "1")
    allocator.keep_freed_memory.__wrapped__()
    assert not called
