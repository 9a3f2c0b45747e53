// Numbers in memory are of a storage type S; arithmetic is in float32, whatever they are kept in.
//
//     float     32 bits
//     bf16      16 bits: float32's sign and exponent, 8 bits of precision; on the Python side a uint16
//     f16       16 bits: 11 bits of precision, from 6e-8 to 65504
//
// A thread takes eight neighbours of a row at a time: 16 bytes of 16-bit numbers are what the memory gives at once to
// one thread, and a warp's 512 bytes follow each other. Where the rows or the arrays do not lie on multiples of 16
// bytes, or a row ends before the eighth, the same eight are taken one by one.
//
//     float x[8];
//     load_eight(row + c, columns - c, wide, x);         zeros behind the row's end
//     store_eight(row + c, columns - c, wide, x);        nothing behind the row's end
#pragma once

#ifdef CUDA_ON_CPU
struct __nv_bfloat16 {
    unsigned short bits;
    __nv_bfloat16() = default;
    __nv_bfloat16(float x) : bits(shim::bf16_of(x)) {}
    operator float() const { return shim::float_of_bf16(bits); }
};
struct __half {
    unsigned short bits;
    __half() = default;
    __half(float x) : bits(shim::f16_of(x)) {}
    operator float() const { return shim::float_of_f16(bits); }
};
#else
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

typedef __nv_bfloat16 bf16;
typedef __half f16;

struct alignas(16) SixteenBytes {
    unsigned word[4];
};

template <class S>
struct alignas(16) Eight {
    S number[8];
};

constexpr int LANES = 32;                               // threads of a warp

// ------------------------------------------------------------------------------------------------ eight numbers

// May all rows of `columns` numbers be taken 16 bytes at a time, from each of these arrays?
template <class... Pointers>
__device__ inline bool takes_sixteen_bytes(int columns, Pointers... arrays) {
    return columns % 8 == 0 && (((unsigned long long)arrays | ...) & 15) == 0;
}

template <class S>
__device__ inline void load_eight(const S* from, int count, bool wide, float (&x)[8]) {
    if (wide && count >= 8) {
        constexpr int pieces = sizeof(S) / 2;
        Eight<S> eight;
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            reinterpret_cast<SixteenBytes*>(&eight)[i] = reinterpret_cast<const SixteenBytes*>(from)[i];
#pragma unroll
        for (int i = 0; i < 8; ++i)
            x[i] = (float)eight.number[i];
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            x[i] = i < count ? (float)from[i] : 0.0f;
    }
}

template <class S>
__device__ inline void store_eight(S* to, int count, bool wide, const float (&x)[8]) {
    if (wide && count >= 8) {
        constexpr int pieces = sizeof(S) / 2;
        Eight<S> eight;
#pragma unroll
        for (int i = 0; i < 8; ++i)
            eight.number[i] = (S)x[i];
#pragma unroll
        for (int i = 0; i < pieces; ++i)
            reinterpret_cast<SixteenBytes*>(to)[i] = reinterpret_cast<const SixteenBytes*>(&eight)[i];
    } else {
#pragma unroll
        for (int i = 0; i < 8; ++i)
            if (i < count)
                to[i] = (S)x[i];
    }
}

// ----------------------------------------------------------------------------------------------------- sums

// Of the 32 threads of a warp, for each of them.
__device__ inline float warp_sum(float x) {
#pragma unroll
    for (int far = LANES / 2; far > 0; far /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, far);
    return x;
}

// Of all threads of a block of whole warps, for each of them, always in the same order. `parts`: 32 floats of shared
// memory, which nobody else uses between two calls.
__device__ inline float block_sum(float x, float* parts) {
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int warps = blockDim.x * blockDim.y * blockDim.z / LANES;
    x = warp_sum(x);
    if (warps == 1)
        return x;
    __syncthreads();                                    // all have read what the last call left here
    if (thread % LANES == 0)
        parts[thread / LANES] = x;
    __syncthreads();
    float sum = parts[0];
    for (int i = 1; i < warps; ++i)
        sum += parts[i];
    return sum;
}
