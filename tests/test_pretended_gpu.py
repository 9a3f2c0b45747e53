"""The pretended GPU of exercise 12: who has the numbers, and what reading them costs."""

import numpy as np
import pytest
from exercise_files import solution, stub
from submissions import LIMITS

from minalbert_course import device_memory, pretended_gpu
from minalbert_course.catalogue import find
from minalbert_course.compare import Wrong
from minalbert_course.device_memory import DeviceMemory, TransferError
from minalbert_course.draw import PUBLIC, draws
from minalbert_course.given import Given
from minalbert_course.grade.fenced import Fenced
from minalbert_course.values import OnDevice, Stopped
from minalbert_course.yours import Yours


@pytest.fixture
def x():
    with pretended_gpu.pretending():
        yield pretended_gpu.put(np.arange(6.0).reshape(2, 3), 0)


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.get(), lambda x: x.tolist(), lambda x: float(x[0, 1]), lambda x: int(x[0, 1]),
        lambda x: bool(x.sum() > 0), lambda x: x.tobytes(), lambda x: pretended_gpu.cupy.array2string(x),
        lambda x: pretended_gpu.cupy.allclose(x, x), lambda x: (x * 2 + 1).T[0].get(), lambda x: [*x][1].item(),
        lambda x: pretended_gpu.asnumpy(x), lambda x: pretended_gpu.cupy.linalg.norm(x).get(),
    ],
)  # fmt: skip
def test_reading_costs_a_transfer_however_it_is_done_and_whatever_was_computed(x, read):
    with pytest.raises(TransferError):
        read(x)


def into_view(y, x):
    y.T[...] = x.T


def into_bytes(y, x):
    pretended_gpu.cupy.frombuffer(y, np.float64)[:] = x.ravel()


@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: y.__setitem__(..., x), lambda y, x: y.__iadd__(x), into_view, into_bytes,
        lambda y, x: pretended_gpu.cupy.copyto(y, x), lambda y, x: pretended_gpu.cupy.add(x, 0, out=y),
        lambda y, x: pretended_gpu.cupy.add(x, 0, y), lambda y, x: x.clip(0, 9, y), lambda y, x: y.fill(x[1, 1]),
        lambda y, x: pretended_gpu.cupy.put(y, [0], x + 1), lambda y, x: pretended_gpu.cupy.add.at(y, [0, 1], x),
    ],
)  # fmt: skip
def test_what_was_written_into_is_read_at_the_cost_of_what_was_written(x, write):
    y = pretended_gpu.cupy.zeros((2, 3))
    row = y[1]
    write(y, x)
    for array in (y, row, y.T):
        with pytest.raises(TransferError):
            array.get()


def test_an_array_with_readings_left_pays_for_no_newer_one(x):
    older, newer = pretended_gpu.put(np.zeros((2, 3)), 5), pretended_gpu.put(np.ones((2, 3)), 0)
    kept = older + 0
    older[...] = newer
    for array in (older, older + newer, newer + older, kept + newer):
        with pytest.raises(TransferError):
            array.get()
    assert not kept.get().any()


def test_what_met_an_array_costs_as_much_and_other_arrays_are_free(x):
    y, z = pretended_gpu.cupy.ones((2, 3)), pretended_gpu.cupy.ones((2, 3))
    y[0] = z[0] = 2
    x += x * y
    assert z.get().sum() == 9
    for array in (x, y, y.T):
        with pytest.raises(TransferError):
            array.get()


def test_what_was_written_tells_nothing_of_what_was_there(x):
    """A free array of ones, of which ones stay as they are: was it written into?"""
    for one in (x == x, x != x):
        w = pretended_gpu.cupy.ones((2, 3), bool)
        w[...] = one
        with pytest.raises(TransferError):
            w.get()


def test_there_is_no_memory_but_numpys(x):
    with pytest.raises(AttributeError, match="the device has no from_dlpack"):
        pretended_gpu.cupy.from_dlpack(pretended_gpu.cupy.zeros(3))


def test_a_large_shape_tells_more_than_a_small_one(x):
    wide = pretended_gpu.cupy.broadcast_to(pretended_gpu.cupy.zeros((1, 1), np.int8), (32768, 32768))
    many = x[0, 1] * 0 + 30000
    for _ in range(6):
        assert wide[: many.astype(int), : many.astype(int)].shape == (30000, 30000)
    with pytest.raises(TransferError, match="whose shape depends on the numbers"):
        wide[: many.astype(int), : many.astype(int)]
    assert len(pretended_gpu.put(np.ones((2, 3)), 0).nonzero()[0]) == 6


def test_an_error_tells_no_number_and_still_says_what_is_wrong(x):
    with pytest.raises(ValueError, match="which would be a transfer") as hidden:
        (x.astype("U40") + "x").astype(float)
    assert "0.0" not in str(hidden.value)
    with pytest.raises(ValueError, match="could not be broadcast together with shapes"):
        x + pretended_gpu.cupy.zeros(4)
    with pytest.raises(ValueError, match="zero-size array"):
        x[:0].max()
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        pretended_gpu.cupy.zeros(4)[pretended_gpu.cupy.asarray([7])]


def test_whether_there_is_an_error_is_told_a_few_times(x):
    one, errors = pretended_gpu.cupy.zeros(1), []
    for limit in range(100):
        with pytest.raises((IndexError, TransferError)) as seen:
            one[(x[1, 2] > limit - 100).astype(int)]
        errors.append(seen.type)
    assert errors.count(IndexError) <= 20
    with pytest.raises(TransferError):
        x + 1


@pytest.mark.parametrize(
    "read",
    [
        lambda x, xp: (x > 2).nonzero(), lambda x, xp: xp.where(x > 2), lambda x, xp: x[x > 2],
        lambda x, xp: xp.unique(x), lambda x, xp: x.ravel().compress(x.ravel() > 2), lambda x, xp: xp.argwhere(x),
        lambda x, xp: xp.arange(x[1, 1]), lambda x, xp: xp.zeros(x[1, 1].astype(int)),
        lambda x, xp: xp.repeat(xp.ones(1), x[1, 1].astype(int)), lambda x, xp: xp.bincount(x.astype(int).ravel()),
        lambda x, xp: xp.ones(9)[x[1, 1].astype(int):], lambda x, xp: xp.min_scalar_type(x[1, 1].astype(int) * 100),
        lambda x, xp: xp.size(xp.ones((1, 2, 3)), x[0, 2].astype(int)), lambda x, xp: xp.split(x, x[0, 1:].astype(int)),
    ],
)  # fmt: skip
def test_shapes_that_depend_on_numbers_cost_a_transfer_where_there_are_many(x, read, monkeypatch):
    monkeypatch.setattr(device_memory, "SHAPE_BITS", 0)
    with pytest.raises(TransferError):
        read(pretended_gpu.put(pretended_gpu.memory.fetch(x._number), 0), pretended_gpu.cupy)


def test_a_loop_over_rows_may_choose_by_numbers(x):
    assert [x[x > number].shape for number in range(6)] == [(5 - number,) for number in range(6)]


def test_a_shape_that_is_always_the_same_costs_nothing(x):
    xp = pretended_gpu.cupy
    rows = pretended_gpu.put(np.array([2, 0, 2]), 0)
    results = (xp.bincount(rows, minlength=3), xp.where(x > 2, x, 0), xp.ones((3, 4))[rows], xp.split(x, [1])[0],
               xp.average(x, axis=1, weights=x), xp.stack([x, x]), x[::2, None].T, xp.argsort(x),
               xp.concatenate([x, x]), x.astype("f"), xp.eye(3)[rows].T @ rows, x.reshape(3, -1))  # fmt: skip
    assert [array.shape for array in results[:4]] == [(3,), (2, 3), (3, 4), (1, 3)]
    x[x > 2] = 0
    assert xp.result_type(x, rows) == np.float64


def test_what_the_host_knows_is_free_and_what_is_computed_is_right(x):
    xp = pretended_gpu.cupy
    assert (x.shape, x.ndim, x.size, x.dtype, len(x), xp.shape(x)) == ((2, 3), 2, 6, np.float64, 2, (2, 3))
    y = xp.zeros((4, 3), x.dtype)
    xp.add.at(y, xp.asarray([1, 1]), x)
    y[2:, ::2] = 5
    y += np.float32(1)
    y[..., None] *= 2
    expected = np.zeros((4, 3))
    np.add.at(expected, [1, 1], np.arange(6.0).reshape(2, 3))
    expected[2:, ::2] = 5
    assert np.array_equal(pretended_gpu.memory.fetch(y._number), (expected + 1) * 2)
    copied, itself = xp.array(x), xp.asarray(x)
    copied += 1
    assert itself is x
    assert np.array_equal(pretended_gpu.memory.fetch(x._number), np.arange(6.0).reshape(2, 3))
    with pytest.raises(ValueError, match="broadcast"):
        x + xp.zeros(4)
    with pytest.raises(TypeError, match="met one of the device"):
        x + np.zeros(3)
    assert (x.astype(np.float32) * np.sqrt(np.float64(2))).dtype == np.float64


@pytest.mark.parametrize("function", [np.mean, np.sum, np.std, np.zeros_like, np.where, np.concatenate])
def test_functions_of_numpy_refuse_it_but_those_that_read_no_numbers(x, function):
    assert (np.ndim(x), np.shape(x), np.size(x)) == (2, (2, 3), 6)
    with pytest.raises(TypeError, match=f"np.{function.__name__} takes no array of the device"):
        function([x] if function is np.concatenate else x)


@pytest.mark.parametrize("do", [("numpy", "fromfile"), ("numpy", "save"), ("numpy", "loadtxt"), ("method", "tofile")])
def test_the_device_neither_reads_files_nor_writes_them(tmp_path, do):
    memory, path = DeviceMemory(), tmp_path / "file"
    path.write_text("1 2")
    memory.put([np.zeros(2)])
    args = {"tofile": [OnDevice(0), str(path)], "save": [str(path), OnDevice(0)]}.get(do[1], [str(path)])
    assert "error" in memory.do(*do, args, {})
    assert [file.read_text() for file in tmp_path.iterdir()] == ["1 2"]


@pytest.mark.parametrize("name", ["memmap", "lib.npyio.save", "os.remove", "testing.runstring", "frompyfunc"])
def test_the_device_computes_and_does_nothing_else(name):
    answer = DeviceMemory().do("numpy", name, ["a file"], {})
    assert set(answer) == {"error", "text"}


def test_with_a_grader_the_numbers_are_in_another_process(tmp_path):
    path = tmp_path / "ex12_cupy.py"
    path.write_text(
        stub("ex12") + "def to_host(x):\n    return x.get()\n"
        "def gelu(x):\n    return x * 2\n"
        "def mean_loss(losses):\n    import gc, types\n    return str(vars(losses[0]))\n"
        "def library(x):\n    return type(x).get.__globals__['memory'].fetch(x._number)\n",
        encoding="utf-8",
    )
    array = np.array([[1.25, 2.5]])
    with Fenced(find("ex12"), path, LIMITS) as host:
        given = Given.of("on the device", array, 1)
        (result, _), device = host.call("gelu", [given], {}, []), host.device.process.folder
        assert isinstance(result, OnDevice)
        assert np.array_equal(result.host, 2 * array)
        assert np.array_equal(host.call("to_host", [given], {}, [])[0], array)
        with pytest.raises(Stopped, match="TransferError"):
            host.call("to_host", [Given.of("on the device", array, 0)], {}, [])
        seen = host.call("mean_loss", [Given.of("numbers on the device", array[0], 0)], {}, [])[0]
        assert "2.5" not in seen
        assert isinstance(host.call("library", [given], {}, [])[0], int)  # its number there, and no more
        assert device != host.worker.folder


def test_a_device_that_takes_too_long_costs_its_call_alone(tmp_path):
    """The worker, which waits for the device, must not take the next question for its answer."""
    path = tmp_path / "ex12_cupy.py"
    path.write_text(
        stub("ex12") + "def gelu(x):\n    x = sys.modules['cupy'].ones((3000, 3000))\n    return x @ x @ x @ x @ x\n"
        "def library(x):\n    return 'numpy'\n",
        encoding="utf-8",
    )
    with Fenced(find("ex12"), path, LIMITS._replace(call=0.3)) as host:
        with pytest.raises(Stopped, match="on the device took too long"):
            host.call("gelu", [Given.of("on the device", np.ones(2))], {}, [])
        assert host.call("library", [np.ones(2)], {}, [])[0] == "numpy"


MIXED = """

def as_written(function):
    def instead(x):
        frame = sys._getframe()
        while "asked" not in frame.f_locals: frame = frame.f_back
        there = {b"there" in packed for _, packed, *_ in frame.f_locals["asked"]["steps"]}
        return "both" if len(there) == 2 else function(x)
    return instead

to_host, mean_loss = as_written(to_host), as_written(mean_loss)
"""


def test_no_host_array_waits_beside_what_is_to_be_read(tmp_path):
    """In the same question it could be taken for the array on the device, which then is not read."""
    path = tmp_path / "ex12_cupy.py"
    path.write_text(solution("ex12") + MIXED, encoding="utf-8")
    lesson = find("ex12")
    with Fenced(lesson, path, LIMITS) as host:
        for check in lesson.checks:
            if check.of in ("to_host", "mean_loss"):
                for draw in draws("a term", lesson, check):
                    check.run(Yours(lesson, host), draw)
        check = next(check for check in lesson.checks if check.of == "to_host")
        with pytest.raises(Wrong, match="'both'"):
            check.run(Together(lesson, host), next(draws(PUBLIC, lesson, check)))


class Together(Yours):
    """Asks for both in one question."""

    def each(self, name, many):
        both = [*many, (np.ones(2),)]
        return list(super().each(name, both))[: len(many)]
