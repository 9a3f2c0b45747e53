"""BLAS gets one thread while a pass is computed, whoever limits it; a forked process makes workers of its own."""

import multiprocessing
import threading

import pytest
from fingerprint import fingerprint
from small_batches import CONFIG, KEY, both_kernels

from minalbert import Albert, Batch
from minalbert.model import PLAIN, Pair, pretraining_forward
from minalbert.model.heads import mlm_forward
from minalbert.parallel import Workers, blas_threads
from minalbert.parallel.threads import _limit, blas, threads


@pytest.fixture
def two_threads():
    """BLAS with two, whatever the environment says."""
    with blas().limit(limits=2):
        if threads() != 2:
            pytest.skip("the threads of this NumPy's BLAS cannot be controlled")
        yield


def in_a_thread(work):
    """What `work` returns, called in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_blas_gets_its_threads_back(two_threads):
    with blas_threads(1):
        assert threads() == 1
    assert threads() == 2


def test_blas_gets_its_threads_back_from_the_last_who_limits_them(two_threads):
    one, other = blas_threads(1), blas_threads(1)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    assert threads() == 1
    other.__exit__(None, None, None)
    assert threads() == 2


def test_any_thread_may_limit_blas(two_threads):
    """Whichever did so first, and still lives."""

    def limited():
        with blas_threads(1):
            return threads(), in_a_thread(threads)

    for _ in range(2):
        assert limited() == (1, 1)
        assert in_a_thread(limited) == (1, 1)
        assert (threads(), in_a_thread(threads)) == (2, 2)


def test_a_number_of_each_threads_own_is_given_back(monkeypatch):
    """As OpenMP has it: each thread that leaves gets its own number back, however many are left."""

    class Library:
        internal_api, threading_layer, numbers = "openblas", "openmp", threading.local()
        num_threads = property(lambda self: getattr(self.numbers, "count", 4))

        def set_num_threads(self, count):
            self.numbers.count = count

    monkeypatch.setattr(
        "minalbert.parallel.threads.blas", lambda: type("Controller", (), {"lib_controllers": [Library()]})
    )

    def other():
        with blas_threads(1):
            limited = threads()
        return limited, threads()

    with blas_threads(2):
        assert in_a_thread(other) == (1, 4)
        assert (threads(), in_a_thread(threads)) == (2, 4)
    assert threads() == 4


@pytest.mark.parametrize("count", [1, 2])
def test_passes_are_computed_by_one_thread_of_blas_each(two_threads, cut_often, monkeypatch, count):
    seen, forward = [], pretraining_forward
    monkeypatch.setattr("minalbert.parallel.workers.pretraining_forward",
                        lambda *given, **more: seen.append(threads()) or forward(*given, **more))  # fmt: skip
    model, batch = Albert.init(CONFIG), Batch.random(CONFIG, 16, 12, 3)
    model._workers = Workers(model, count)
    model.loss_and_grads(batch)
    model.loss(batch)
    model.loss_and_grads(Batch.random(CONFIG, 1, 12, 3))  # one text: one slice
    assert set(seen) == {1}
    assert threads() == 2


@both_kernels
def test_a_long_text_has_the_same_bits_on_any_number_of_cores(two_threads, kernels):
    """Two threads of BLAS would add up some numbers of its products in another order."""
    config = CONFIG.replace(hidden_size=384, intermediate_size=384, max_position_embeddings=700)
    model, batch = Albert.init(config, seed=1, kernels=kernels), Batch.random(config, 1, 700, 3)
    found = fingerprint(model.loss_and_grads(batch)[1].flat)
    with blas_threads(1):
        assert fingerprint(model.loss_and_grads(batch)[1].flat) == found


@both_kernels
def test_any_thread_computes_the_same_bits(two_threads, cut_often, kernels):
    """One after the other, and two models in two threads at once."""
    batch = Batch.random(CONFIG, 16, 12, 3, seed=2)
    models = [Albert.init(CONFIG, seed=1, kernels=kernels) for _ in range(2)]

    def passed(model=models[0]):
        return fingerprint(model.loss_and_grads(batch, KEY)[1].flat)

    expected, found = passed(), []
    assert in_a_thread(passed) == expected
    both = [
        threading.Thread(target=lambda model=model: found.extend(passed(model) for _ in range(10))) for model in models
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert set(found) == {expected}
    assert len(found) == 20
    assert threads() == 2


forks = pytest.mark.skipif(
    "fork" not in multiprocessing.get_all_start_methods(), reason="this system cannot fork a process"
)


def in_a_fork(work):
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=lambda: results.put(work()))
    process.start()
    try:
        return results.get(timeout=8)
    finally:
        process.kill()
        process.join()


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@both_kernels
def test_a_forked_process_makes_its_own_workers(cut_often, kernels):
    model, batch = Albert.init(CONFIG, seed=1, kernels=kernels), Batch.random(CONFIG, 16, 12, 3, seed=2)
    model._workers = Workers(model, 2)
    expected = fingerprint(model.loss_and_grads(batch, KEY)[1].flat)
    memory = model._workers._free_memory[:]

    def child():
        found = fingerprint(model.loss_and_grads(batch, KEY)[1].flat)
        own = not any(ours and ours is theirs for theirs in memory for ours in model._workers._free_memory)
        model._workers.close()
        return found, own

    assert in_a_fork(child) == (expected, True)
    assert fingerprint(model.loss_and_grads(batch, KEY)[1].flat) == expected


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_while_another_thread_limits_blas(two_threads, cut_often):
    """That thread, its lock and its limit are not in the new process."""
    model, batch = Albert.init(CONFIG, seed=1), Batch.random(CONFIG, 16, 12, 3, seed=2)
    expected, ready, done = fingerprint(model.loss_and_grads(batch, KEY)[1].flat), threading.Event(), threading.Event()

    def limiting():
        with blas_threads(1), _limit.lock:
            ready.set()
            done.wait()

    thread = threading.Thread(target=limiting)
    thread.start()
    assert ready.wait(60)
    try:
        assert in_a_fork(lambda: (threads(), fingerprint(model.loss_and_grads(batch, KEY)[1].flat))) == (2, expected)
    finally:
        done.set()
        thread.join()
    assert threads() == 2


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_by_the_thread_that_limits_blas(two_threads):
    def child():
        before = threads()
        limit.__exit__(None, None, None)
        return before, threads()

    limit = blas_threads(1)
    limit.__enter__()
    try:
        assert in_a_fork(child) == (1, 2)
    finally:
        limit.__exit__(None, None, None)


def test_looking_inside_leaves_no_thread_of_blas_spinning(two_threads, monkeypatch):
    seen, batch, scores = [], Batch.random(CONFIG, 2, 12, 3), mlm_forward
    forward, backward = PLAIN.embeddings
    noting = PLAIN._replace(embeddings=Pair(lambda *given: seen.append(threads()) or forward(*given), backward))
    model = Albert.init(CONFIG, pairs=noting)
    monkeypatch.setattr("minalbert.albert.PLAIN", noting)
    monkeypatch.setattr("minalbert.albert.mlm_forward", lambda *given: seen.append(threads()) or scores(*given))
    hidden = model.hidden_states(batch.input_ids)[-1]
    model.attention_maps(batch.input_ids)
    model.mlm_logits(hidden)
    assert seen == [1, 1, 1]
    assert threads() == 2
