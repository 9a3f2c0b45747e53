"""Freed arrays stay with the process: glibc alone, for the others give no such choice."""

import os

import pytest

from minalbert import PRESETS, Albert, Batch
from minalbert.parallel import allocator

pytestmark = [
    pytest.mark.skipif(not allocator.glibc(), reason="this process has another C library than glibc"),
    pytest.mark.skipif(any(name in os.environ for name in allocator.SETTINGS), reason="the environment sets glibc's"),
]


def page_faults():
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def model_and_batch():
    config = PRESETS["tiny"]
    return Albert.init(config), Batch.random(config, 64, 32, 5)


def test_a_plain_step_needs_no_pages_that_the_last_one_had(model_and_batch):
    model, batch = model_and_batch
    grads = model.params.zeros_like()
    for _ in range(3):
        model.loss_and_grads(batch, into=grads)
    before = page_faults()
    for _ in range(5):
        model.loss_and_grads(batch, into=grads)
    assert page_faults() - before < 500  # as glibc comes, over 10,000


def test_release_gives_the_pages_back(model_and_batch):
    model, batch = model_and_batch
    model.release()
    before = resident_bytes()
    model.loss_and_grads(batch)
    held = resident_bytes() - before
    model.release()
    kept = resident_bytes() - before
    assert held > 5e6
    assert kept < 0.4 * held


@pytest.mark.parametrize("name", allocator.SETTINGS)
def test_a_users_own_settings_are_left_alone(monkeypatch, name):
    called = []
    monkeypatch.setattr(allocator, "glibc", lambda: type("", (), {"mallopt": lambda *given: called.append(given)}))
    allocator.keep_freed_memory.__wrapped__()
    assert [setting for setting, _ in called] == [allocator.MMAP_THRESHOLD, allocator.TRIM_THRESHOLD]
    called.clear()
    monkeypatch.setenv(name, "1")
    allocator.keep_freed_memory.__wrapped__()
    assert not called
