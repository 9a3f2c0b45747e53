"""How a .cu file is read, and what a launch refuses before the GPU would take it."""

import numpy as np
import pytest
from cpu_module import KERNELS, CpuModule
from test_compile import builds

from minalbert.kernels.gpu import launch
from minalbert.kernels.gpu.launch import read_source, signatures

SOURCE = """
#define TWO(suffix, S)                                            \\
    extern "C" __global__ void __launch_bounds__(64, 2)           \\
    scale_##suffix(const S* __restrict__ x, S* y, float by, int n, bool twice) { \\
        if (threadIdx.x < n) y[threadIdx.x] = x[threadIdx.x] * by * (twice ? 2 : 1); \\
    }
TWO(f32, float)
// extern "C" __global__ void not_this_one(int n) {}
TWO(f64, double)
extern "C" __global__ void __launch_bounds__(64) wide(
    unsigned long long seed,  // here, a comma
    long long *place /* and there, (a bracket) */
) {
    DYN_SHARED(float, numbers);
    numbers[threadIdx.x + WIDTH] = seed;
    place[threadIdx.x] = numbers[threadIdx.x + WIDTH];
}
"""


@pytest.fixture
def file(gpu, tmp_path):
    (tmp_path / "shared.cuh").write_text("#pragma once\n#ifndef CUDA_ON_CPU\n#define DYN_SHARED(type, name) "
        "extern __shared__ __align__(16) unsigned char bytes_of_##name[]; "
        "type* name = reinterpret_cast<type*>(bytes_of_##name)\n#endif\n")  # fmt: skip
    path = tmp_path / "some.cu"
    path.write_text('#include "shared.cuh"\n' + SOURCE)
    return path


def scale(file):
    return launch.kernel(file, "scale_f32", "WIDTH=0")


def test_signatures_are_read():
    assert list(signatures(SOURCE)) == ["wide", "scale_f32", "scale_f64"]
    assert [(name, str(dtype), pointer) for name, dtype, pointer in signatures(SOURCE)["scale_f64"]] == [
        ("x", "float64", True), ("y", "float64", True), ("by", "float32", False), ("n", "int32", False),
        ("twice", "bool", False),
    ]  # fmt: skip
    assert [tuple(map(str, parameter)) for parameter in signatures(SOURCE)["wide"]] == [
        ("seed", "uint64", "False"), ("place", "int64", "True"),
    ]  # fmt: skip


def test_an_unknown_type_is_refused():
    with pytest.raises(TypeError, match=r"written 'short n'; its type must be one of: bool, "):
        signatures('extern "C" __global__ void f(short n) {}')


@pytest.mark.parametrize("path", sorted(KERNELS.glob("*.cu")), ids=lambda path: path.stem)
def test_the_compiler_reads_the_same_signatures(path):
    definitions, _ = builds(path)[0]
    module = CpuModule(path, ("-O0", *(f"-D{name}" for name in definitions)))
    for name, parameters in signatures(read_source(path)).items():
        ours = [("*" if pointer else "") + dtype.str[1:] for _, dtype, pointer in parameters]
        theirs = module.get_function(name).types
        assert [text.replace("f2", "x2").replace("u2", "x2").replace("b1", "u1") for text in ours] == theirs, name


def test_included_files_are_read_once_with_their_lines(tmp_path):
    (tmp_path / "inner.cuh").write_text("#pragma once\nint inner;\n")
    (tmp_path / "outer.cuh").write_text('#pragma once\n#include "inner.cuh"\nint outer;\n')
    (tmp_path / "f.cu").write_text('// head\n#include "outer.cuh"\n#include "inner.cuh"\nint f;\n')
    text = read_source(tmp_path / "f.cu")
    assert text.count("int inner;") == text.count("int outer;") == 1
    assert text.index("int inner;") < text.index("int outer;") < text.index("int f;")
    lines = text.split("\n")
    assert lines[lines.index("int inner;") - 2] == '#line 1 "inner.cuh"'
    assert lines[lines.index("int outer;") - 1] == '#line 3 "outer.cuh"'
    assert lines[lines.index("int f;") - 2] == '#line 3 "f.cu"'


def test_a_launch(gpu, file):
    x, y = gpu.asarray(np.arange(64, dtype=np.float32)), gpu.zeros(64, "float32")
    launch.launch((file, "scale_f32", "WIDTH=0"), (1,), (64,), x, y, 0.5, 60, True)
    np.testing.assert_array_equal(y.get(), np.where(np.arange(64) < 60, np.arange(64), 0))


def test_definitions_and_much_shared_memory(gpu, file):
    place = gpu.zeros(64, "int64")
    launch.launch((file, "wide", "WIDTH=20000"), (1,), (64,), 12, place, shared_mem=(20000 + 64) * 4)
    np.testing.assert_array_equal(place.get(), 12)


def test_a_file_is_compiled_once(gpu, file):
    assert scale(file) is scale(file)
    assert launch.kernel(file, "scale_f32", "WIDTH=1") is not scale(file)


def test_what_does_not_fit_is_refused_in_a_sentence(gpu, file):
    x, y = gpu.zeros(64, "float32"), gpu.zeros(64, "float32")
    for arguments, sentence in [
        ((x, y, 0.5, 64), "scale_f32 takes 5 arguments, not 4"),
        ((x, 1.0, 0.5, 64, True), "scale_f32: y is float; it must be an array on the GPU"),
        ((np.zeros(64, np.float32), y, 0.5, 64, True), "scale_f32: x is ndarray; it must be an array on the GPU"),
        ((gpu.zeros(64, "float64"), y, 0.5, 64, True), "scale_f32: x is float64; it must be float32"),
        ((gpu.zeros((8, 8), "float32").T, y, 0.5, 64, True), "scale_f32: x is not contiguous"),
        ((x, y, x, 64, True), "scale_f32: by is ndarray; it must be a number that float32 holds"),
        ((x, y, np.float64(0.5), 64, True), "scale_f32: by is float64; it must be float32"),
        ((x, y, 0.5, 64.0, True), "scale_f32: n is float; it must be a number that int32 holds"),
        ((x, y, 0.5, 2**31, True), "scale_f32: n is 2147483648; int32 does not reach so far"),
        ((x, y, 0.5, 64, 1), "scale_f32: twice is int; it must be a number that bool holds"),
    ]:
        with pytest.raises(TypeError) as refused:
            scale(file)((1,), (64,), *arguments)
        assert str(refused.value).startswith(sentence)


def test_an_empty_pointer(gpu, file):
    """None is a pointer that a kernel may be given, if it does not follow it: here there are 0 numbers to scale."""
    y = gpu.asarray(np.full(64, 7.0, "float32"))
    scale(file)((1,), (64,), None, y, 0.5, 0, False)
    assert (y.get() == 7.0).all()
