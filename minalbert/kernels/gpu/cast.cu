// Numbers of one precision as numbers of another, each rounded to the nearest.
//
// Before a step the flat vector of all weights, float32, becomes the 16-bit vector that the matrix products read; where
// LAMB takes the step it writes that vector itself (lamb_step). cast_bf16_f32 and cast_f16_f32 are the way back.
//
// from, to: (count,)       grid: any   block: any; each thread takes eight neighbours at a time
#include "storage.cuh"

template <class From, class To>
__device__ inline void cast(const From* from, To* to, long long count) {
    const bool wide = takes_sixteen_bytes(8, from, to);
    const long long stride = 8LL * gridDim.x * blockDim.x;
    for (long long i = 8 * (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x); i < count; i += stride) {
        const int left = static_cast<int>(count - i < 8 ? count - i : 8);
        float x[8];
        load_eight(from + i, left, wide, x);
        store_eight(to + i, left, wide, x);
    }
}

#define CAST(suffix, From, To)                                                                                         \
    extern "C" __global__ void __launch_bounds__(256) cast_##suffix(const From* from, To* to, long long count) {       \
        cast<From, To>(from, to, count);                                                                               \
    }

CAST(f32_bf16, float, bf16)
CAST(f32_f16, float, f16)
CAST(bf16_f32, bf16, float)
CAST(f16_f32, f16, float)
