"""What cuda_on_cpu.h promises: kernels that are right run right, and those that are wrong fail, not by chance."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from cpu_module import HERE, CpuModule

ORDERS = range(6)
SOURCE = r"""
template <class T>
__device__ T warp_sum(T x) {
    for (int far = 16; far; far /= 2) x += __shfl_xor_sync(0xffffffffu, x, far);
    return x;
}

// Two warps, which leave their sums in shared memory for thread 0.
extern "C" __global__ void total(const float* x, float* sum, int n) {
    __shared__ float of_warp[2];
    float mine = 0.0f;
    for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
    mine = warp_sum(mine);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    BARRIER
    if (threadIdx.x == 0) sum[blockIdx.x] = of_warp[0] + of_warp[1];
}

extern "C" __global__ void places(int* out) {
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    out[block * blockDim.x * blockDim.y * blockDim.z + thread] += 1000 * block + thread;
}

extern "C" __global__ void neighbours(float* down, float* up, float* of_three, unsigned* ballot, int* count) {
    const int i = threadIdx.x;
    const float x = i;
    down[i] = __shfl_down_sync(0xffffffffu, x, 3);
    up[i] = __shfl_up_sync(0xffffffffu, x, 3);
    of_three[i] = __shfl_sync(0xffffffffu, x, 3, 8);
    ballot[i] = __ballot_sync(0xffffffffu, i % 3 == 0);
    for (int least = 0; least < 6; least++) count[32 * least + i] = __syncthreads_count(i >= least);
}

// What nobody wrote is read, in shared memory of both kinds; then it is written.
template <class T>
__device__ inline void read_unwritten(T* out) {
    __shared__ T fixed[64];
    DYN_SHARED(T, dynamic);
    out[128 * blockIdx.x + threadIdx.x] = fixed[threadIdx.x];
    out[128 * blockIdx.x + 64 + threadIdx.x] = dynamic[threadIdx.x];
    __syncthreads();
    fixed[threadIdx.x] = dynamic[threadIdx.x] = 1.0f;
}
extern "C" __global__ void unwritten(float* out) { read_unwritten(out); }

extern "C" __global__ void in_background(const float* x, float* y) {
    DYN_SHARED(float, copy);
    shim::copy_async(copy + threadIdx.x, x + threadIdx.x, 4, 4);
    shim::copy_commit();
    shim::copy_async(copy + 32 + threadIdx.x, x + 32 + threadIdx.x, 4, threadIdx.x % 2 ? 4 : 0);
    shim::copy_commit();
    shim::copy_wait(GROUPS);
    y[threadIdx.x] = copy[threadIdx.x];
    y[32 + threadIdx.x] = copy[32 + threadIdx.x];
}

extern "C" __global__ void never_come(float* x) {
    if (threadIdx.x < 2) __syncwarp();
    if (threadIdx.x > 2) __syncthreads();
}

extern "C" __global__ void two_ways(float* x) {
    if (threadIdx.x < 2) __syncthreads();
    else
        __syncthreads();
}

extern "C" __global__ void some_leave(float* x) {
    if (threadIdx.x >= 40) return;
    __syncthreads();
    x[threadIdx.x] = threadIdx.x;
}
"""


def module(barrier="__syncthreads();", groups=0):
    return CpuModule(SOURCE.replace("BARRIER", barrier).replace("GROUPS", str(groups)))


@pytest.fixture(scope="module")
def good():
    return module()


def total(of, order):
    sums = np.full(3, np.nan, np.float32)
    of.get_function("total")((3,), (64,), (np.ones(100, np.float32), sums, np.int32(100)), order=order)
    return sums


@pytest.mark.parametrize("order", ORDERS)
def test_threads_meet_at_barriers(good, order):
    np.testing.assert_array_equal(total(good, order), 100.0)


def test_a_forgotten_barrier_shows_in_some_order():
    bad = module(barrier="")
    assert any((total(bad, order) != 100.0).any() for order in ORDERS)


@pytest.mark.parametrize("order", ORDERS)
def test_every_thread_of_every_block_runs_once(good, order):
    out = np.zeros((2 * 3 * 2, 4 * 3 * 5), np.int32)
    good.get_function("places")((2, 3, 2), (4, 3, 5), (out,), order=order)
    np.testing.assert_array_equal(out, 1000 * np.arange(12)[:, None] + np.arange(60))


@pytest.mark.parametrize("order", ORDERS)
def test_what_lanes_tell_each_other(good, order):
    lane = np.arange(32)
    down, up, of_three = (np.full(32, np.nan, np.float32) for _ in range(3))
    ballot, count = np.zeros(32, np.uint32), np.zeros((6, 32), np.int32)
    good.get_function("neighbours")((1,), (32,), (down, up, of_three, ballot, count), order=order)
    np.testing.assert_array_equal(down, np.where(lane + 3 < 32, lane + 3, lane))
    np.testing.assert_array_equal(up, np.where(lane >= 3, lane - 3, lane))
    np.testing.assert_array_equal(of_three, lane // 8 * 8 + 3)
    np.testing.assert_array_equal(ballot, sum(1 << i for i in range(0, 32, 3)))
    np.testing.assert_array_equal(count, np.broadcast_to(32 - np.arange(6)[:, None], (6, 32)))


@pytest.mark.parametrize("copies", [1, 2])  # two that have all names in common
def test_shared_memory_starts_as_nan_in_every_block(copies):
    for copy in range(copies):
        out = np.zeros(3 * 128, np.float32)
        fresh = module(barrier=f"// {copies} {copy}")
        fresh.get_function("unwritten")((3,), (64,), (out,), shared_mem=256)
        assert np.isnan(out).all()


@pytest.mark.parametrize("pending", [0, 1, 2])
def test_copies_are_there_once_they_are_waited_for(pending):
    x, y = np.arange(1, 65, dtype=np.float32), np.zeros(64, np.float32)
    module(groups=pending).get_function("in_background")((1,), (32,), (x, y), shared_mem=256)
    np.testing.assert_array_equal(y[:32], x[:32] if pending < 2 else np.nan)
    second = np.where(np.arange(32) % 2, x[32:], 0.0)  # half of them had nothing to copy
    np.testing.assert_array_equal(y[32:], second if pending < 1 else np.nan)


def test_a_copy_between_its_multiples_is_reported(good):
    shifted, y = np.zeros(258, np.uint8)[2:].view(np.float32), np.zeros(64, np.float32)
    with pytest.raises(RuntimeError, match="in_background: a misaligned copy"):
        good.get_function("in_background")((1,), (32,), (shifted, y), shared_mem=256)


def test_wrong_barriers_are_reported_with_the_kernel(good):
    x = np.zeros(64, np.float32)
    with pytest.raises(RuntimeError, match="never_come: deadlock: some threads wait"):
        good.get_function("never_come")((1,), (32,), (x,))
    with pytest.raises(RuntimeError, match="two_ways: threads came to one barrier on different lines"):
        good.get_function("two_ways")((1,), (32,), (x,))
    test_threads_meet_at_barriers(good, 0)  # the next launch is as good as ever


def test_threads_that_have_ended_keep_nobody_waiting(good):
    x = np.full(64, np.nan, np.float32)
    good.get_function("some_leave")((1,), (64,), (x,))
    np.testing.assert_array_equal(x[:40], np.arange(40))
    assert np.isnan(x[40:]).all()


def test_arguments_that_do_not_fit_are_refused(good):
    kernel, x, sums = good.get_function("total"), np.ones(100, np.float32), np.zeros(1, np.float32)
    for arguments, what in [
        ((x, sums), "takes 3 arguments, not 2"),
        ((x, sums, 100), "argument 2 is int64; the kernel takes i4"),
        ((x, sums, 100.0), "argument 2 is float64; the kernel takes i4"),
        ((x, sums, x), "argument 2 is an array; the kernel takes i4"),
        ((1.0, sums, np.int32(1)), r"argument 0 is 1\.0; it must be an array"),
        ((x.astype("f8"), sums, np.int32(1)), "argument 0 is an array of float64; the kernel takes f4"),
        ((x[::2], sums, np.int32(1)), "argument 0 is not contiguous"),
    ]:
        with pytest.raises((TypeError, ValueError), match=what):
            kernel((1,), (64,), arguments)


@pytest.mark.parametrize(
    ("grid", "block", "shared_mem"),
    [((0,), (32,), 0), ((1, 65536), (32,), 0), ((1,), (1025,), 0), ((1,), (32,), 49153)],
)
def test_a_launch_that_a_gpu_refuses_is_refused(good, grid, block, shared_mem):
    with pytest.raises(ValueError, match="unwritten: "):
        good.get_function("unwritten")(grid, block, (np.zeros(128, np.float32),), shared_mem=shared_mem)


# -------------------------------------------------------------------------------------------------- sanitizers


def sanitized(*arguments):
    """A Python of its own, with the sanitizer loaded first. Leaks would be Python's."""
    library = subprocess.run(["g++", "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    settings = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
    environment = {**os.environ, **settings, "CUDA_ON_CPU": "sanitized"}
    return subprocess.run([sys.executable, *arguments], env=environment, cwd=HERE, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sanitizer():
    result = sanitized("-c", "print('runs')")
    if result.stdout != "runs\n" or "cannot be preloaded" in result.stderr:
        pytest.skip(f"the sanitizer of g++ cannot be loaded before Python: {result.stderr.strip()[:300]}")


OUTSIDE = """
import sys
import numpy as np
from cpu_module import CpuModule
kernel = CpuModule(sys.argv[1]).get_function("f")
kernel((1,), (32,), (np.ones(31, np.float32), np.int32(2**31 - 1)))
"""


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("x[threadIdx.x] = n;", r"heap-buffer-overflow(?s:.)*kernels\.cpp:2"),
        ("__shared__ float s[32]; s[threadIdx.x + n - 2147483646] = 1; x[0] = s[0];", r"out of bounds|overflow"),
        ("x[0] = n + int(threadIdx.x);", r"signed integer overflow"),
        ("reinterpret_cast<float4*>(x + 1)[0].x = 0;", r"misaligned address"),
    ],
    ids=["past an array", "past shared memory", "past the integers", "between 16 bytes"],
)
def test_the_sanitizers_see_what_is_wrong(sanitizer, body, complaint):
    result = sanitized("-c", OUTSIDE, f'extern "C" __global__ void f(float* x, int n) {{\n{body}\n}}')
    assert result.returncode != 0
    assert re.search(complaint, result.stderr), result.stderr


@pytest.mark.slow
def test_kernels_pass_the_sanitizers(sanitizer):
    """The tests of those that have no such test of their own, once more (conftest.py: with one order of threads)."""
    files = [f"test_{name}.py" for name in ("cast", "cross_entropy", "embedding", "lamb")]
    result = sanitized("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files)
    assert result.returncode == 0, result.stdout + result.stderr
    assert re.search(r"\d+ passed", result.stdout)
