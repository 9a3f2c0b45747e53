"""Several ranks: what they compute together, and what they are refused for. Those of tests/parity run under MPI."""

import hashlib
import sys
from types import SimpleNamespace

import fake_cupy
import numpy as np
import pytest
from small_batches import CONFIG, KEY
from small_run import small_corpus, small_settings
from test_finetune import OBJECTIVES, in_slices, model_for
from thread_ranks import on_threads

from minalbert import Albert, Batch, Params
from minalbert.data.instances import Instances
from minalbert.data.order import batches
from minalbert.errors import ConfigError, DeviceError, MissingLibraryError, TrainError
from minalbert.parallel import (
    ALONE,
    UNSHARED,
    Gradient,
    TensorShares,
    Workers,
    gradient_over,
    rank_sum,
    sum_gradients,
    world,
)
from minalbert.parallel.ranks import Alone
from minalbert.tasks.gradient import gradient_function
from minalbert.train import together
from minalbert.train.evaluation import evaluate

BATCHES = 4
WHOLE = Batch.random(CONFIG, 4 * BATCHES, 12, 3)
MICRO_BATCHES = [Batch(*(array[4 * i : 4 * i + 4] for array in WHOLE)) for i in range(BATCHES)]


def bits(shares, found):
    """A hash of a gradient, whose sums lie on the ranks, and of its losses."""
    if shares.ranks.size > 1:
        shares.collect(found.grads)
    return hashlib.sha256(found.grads.flat.tobytes() + b"".join(loss.tobytes() for loss in found.losses)).hexdigest()


def gradient(ranks, kernels="plain"):
    model = Albert.init(CONFIG, kernels=kernels)
    shares = TensorShares(ranks, model.params)
    with Workers(model, 1) as workers:
        slices = workers.slices_of(MICRO_BATCHES[ranks.share(BATCHES)])
        found = gradient_over(shares, workers, slices, KEY)
    return bits(shares, found)


@pytest.mark.parametrize("kernels", ["plain", "fused"])
@pytest.mark.parametrize("count", [2, 4])
def test_a_gradient_has_the_bits_of_one_process_on_every_rank(count, kernels):
    assert on_threads(count, lambda ranks: gradient(ranks, kernels)) == [gradient(ALONE, kernels)] * count


def test_one_process_leaves_its_losses_on_their_device():
    found = Gradient(("a loss",), Params.zeros({"w": (2,)}), 0.5, 0.5)
    assert sum_gradients(UNSHARED, found) is found


def test_a_loss_that_a_model_lacks_is_none_on_every_rank():
    def losses(ranks):
        model = Albert.init(CONFIG, heads=("mlm",))
        with Workers(model, 1) as workers:
            slices = workers.slices_of(MICRO_BATCHES[ranks.share(BATCHES)])
            return gradient_over(TensorShares(ranks, model.params), workers, slices).losses

    alone = losses(ALONE)
    assert alone.sop is None
    assert on_threads(2, losses) == [alone] * 2


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("length", [0, 1, 6, 7, 30, 100])
def test_a_sum_of_few_or_many_pieces_is_that_of_one(monkeypatch, length, count):
    monkeypatch.setattr(rank_sum, "PIECE", 7)
    vectors = np.random.default_rng(length).standard_normal((count, length), "float32")

    def summed(ranks):
        for sign in (-1, 1):  # the second time in the memory of the first
            vector = sign * vectors[ranks.rank]
            ranks.add(vector)
        return vector

    left, right = vectors[0] + vectors[1], vectors[-2] + vectors[-1]
    for vector in on_threads(count, summed):
        np.testing.assert_array_equal(vector, left if count == 2 else left + right)


@pytest.mark.parametrize("kind", OBJECTIVES)
@pytest.mark.parametrize("count", [2, 4])
def test_a_tasks_gradient_has_the_bits_of_one_process_on_every_rank(count, kind):
    objective, labels = OBJECTIVES[kind]

    def gradient(ranks):
        model = model_for(objective, "float32")
        shares = TensorShares(ranks, model.params)
        with Workers(model, 1) as workers:
            gradient_of = gradient_function(workers, objective, rate=0.3, shares=shares)
            found = gradient_of(in_slices(labels, 4)[ranks.share(4)], KEY)
        return bits(shares, found)

    assert on_threads(count, gradient) == [gradient(ALONE)] * count


def test_a_group_of_one_rank_has_nobody_to_send_to():
    def groups(ranks):
        ranks.form_groups(2)
        return ranks.model_group.size, type(ranks.data_group)

    assert on_threads(2, groups) == [(2, Alone)] * 2


def test_scores_have_the_bits_of_one_process_on_every_rank():
    model, batch = Albert.init(CONFIG), Batch.random(CONFIG, 200, 8, 2)
    assert on_threads(3, lambda ranks: evaluate(model, batch, ranks)) == [evaluate(model, batch)] * 3


class Watched(Instances):
    """Instances that remember which were made."""

    def batch(self, epoch, numbers):
        self.made += [(epoch, int(number)) for number in numbers]
        return super().batch(epoch, numbers)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_each_rank_makes_its_own_instances_and_no_others(ranks):
    """Ten batches of 16, over the ends of two epochs."""
    settings, found, made = small_settings(), [], []
    for rank in range(ranks):
        instances = Watched(*small_corpus(4), settings.recipe, 0)
        instances.made = []
        share = slice(4 * rank // ranks, 4 * (rank + 1) // ranks)
        some = batches(instances, 4, 4, 1, share)
        found.append([next(some) for _ in range(10)])
        made.append(instances.made)
    whole = batches(Instances(*small_corpus(4), settings.recipe, 0), 4, 4, 1)
    for number in range(10):
        joined = [one for rank in found for one in rank[number]]
        for one, right in zip(joined, next(whole), strict=True):
            assert all(np.array_equal(*arrays) for arrays in zip(one, right, strict=True))
    assert len({epoch for epoch, _ in made[0]}) > 2
    assert all(not {*one} & {*other} for i, one in enumerate(made) for other in made[:i])


def test_an_error_of_rank_0_is_raised_on_all():
    def work(ranks):
        with pytest.raises(TrainError, match="no room") as caught:
            ranks.from_first(lambda: fail("no room"))
        return caught.value is ranks.shared_error

    assert on_threads(3, work) == [True] * 3


def test_an_error_of_any_rank_is_raised_on_all():
    def work(ranks):
        with pytest.raises(TrainError, match="rank 1"):
            ranks.from_all(lambda: fail("rank 1") if ranks.rank == 1 else None)
        return ranks.from_all(lambda: ranks.rank)

    assert on_threads(3, work) == [0, 1, 2]


def fail(text):
    raise TrainError(text)


@pytest.mark.parametrize("count", [3, 8])
def test_ranks_that_cannot_share_a_batch_evenly_are_refused(count):
    with pytest.raises(ConfigError, match=rf"{count} ranks cannot share the 4 micro-batches .* one of 1, 2, 4$"):
        together.check_fit(small_settings(), SimpleNamespace(size=count))


def test_each_rank_takes_a_gpu_of_its_own(monkeypatch):
    taken = []
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", fake_cupy.cuda)
    monkeypatch.setattr(fake_cupy.cuda.Device, "use", lambda card: taken.append(card.id))
    found = on_threads(4, lambda ranks: together.form_groups(small_settings(device="cuda"), ranks))
    assert sorted(taken) == [0, 1, 2, 3]
    way = "through the hosts' memory, by MPI, as CuPy finds no NCCL"
    assert found == [[f"4 ranks have a GPU each; what they add is sent {way}"]] * 4


def test_more_ranks_on_a_machine_than_it_has_gpus_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    monkeypatch.setattr(fake_cupy.cuda.runtime, "getDeviceCount", lambda: 2)

    def work(ranks):
        with pytest.raises(DeviceError, match=r"^ranks 0 and 2 have one GPU, 0000:00:00.0 on .+; each rank") as caught:
            together.form_groups(small_settings(device="cuda"), ranks)
        return caught.value is ranks.shared_error

    assert on_threads(3, work) == [True] * 3


@pytest.mark.parametrize("fact", ["BLAS kernel", "data", "code"])
def test_ranks_that_compute_other_bits_are_refused(fact, monkeypatch):
    facts = {"BLAS kernel": "Haswell", "data": "one", "processor": "0"}
    monkeypatch.setattr(together, "code_digest", lambda: "d1")

    def work(ranks):
        mine = facts | {"processor": str(ranks.rank)}
        together.check_alike(ranks, mine)  # processors may differ
        with pytest.raises(TrainError, match=f"{fact} is other on rank 1; it must be that of rank 0: "):
            together.check_alike(ranks, mine | ({fact: "other"} if ranks.rank else {}))

    on_threads(2, work)


def test_without_a_launcher_there_is_one_process(monkeypatch):
    assert world().size == 1
    monkeypatch.setenv("PMI_SIZE", "1")
    assert world().size == 1


@pytest.mark.parametrize("name", ["PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"])
def test_a_launcher_of_another_mpi_is_refused(monkeypatch, name):
    """Each process would be a world of its own, and all would train the same run."""
    mpi = SimpleNamespace(COMM_WORLD=SimpleNamespace(size=1), Get_library_version=lambda: "Open MPI v5.0.3, package")
    monkeypatch.setitem(sys.modules, "mpi4py", SimpleNamespace(MPI=mpi))
    monkeypatch.setenv(name, "4")
    with pytest.raises(TrainError, match=rf"has started 4 processes \({name}\), but Open MPI v5.0.3, .* sees 1"):
        world()


def test_a_missing_mpi4py_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    monkeypatch.setenv("PMI_SIZE", "2")
    with pytest.raises(MissingLibraryError, match=r"started 2 processes, but mpi4py .*pip install 'minalbert\[mpi\]'"):
        world()
