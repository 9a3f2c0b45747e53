// What all attention kernels share: where a head lies, which keys count, and the dropout mask.
//
// HEAD is the head size D, DROPOUT 0 or 1; both are given on compiling.
#pragma once
#include "philox.cuh"
#include "storage.cuh"

#ifndef CUDA_ON_CPU
#define DYN_SHARED(type, name)                                                                                         \
    extern __shared__ __align__(16) unsigned char dynamic_shared[];                                                    \
    type* name = reinterpret_cast<type*>(dynamic_shared)
#endif

constexpr int D = HEAD;
constexpr float LOWEST = -3.4028235e38f / 2;             // `backend.lowest`; -inf less itself would be NaN
constexpr float FAR = -LOWEST / 2;                       // a mask so far below the largest is that of padding
constexpr unsigned ALL_LANES = 0xffffffffu;

__device__ inline float warp_max(float x) {
    for (int far = 16; far; far /= 2) x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, far));
    return x;
}

// A matrix (examples · length, N · D), or the slice of wider rows that is one: its first number, and how many numbers
// later the next row begins.
template <class S>
struct Matrix {
    S* first;
    long long stride;

    // Head n of example b: (length, D).
    __device__ Matrix head(int b, int n, int length) const {
        return {row(static_cast<long long>(b) * length) + n * D, stride};
    }
    __device__ S* row(long long i) const { return first + i * stride; }
};

// Of one example's mask (T,): its largest value, and one more than the last key that is not far below it.
//
// The largest value is taken off the mask, which changes no probability. So a row whose keys are all masked has the
// softmax of a row without mask to the last bit, and the mask does not eat up the digits of its scores. The keys behind
// the last one that counts, a batch's padding, have probability zero and are not even read.
struct Keys {
    float top;
    int count;
};

__device__ inline Keys keys_of(const float* mask, int T) {
    const int lane = threadIdx.x % 32;
    float top = LOWEST;
    for (int key = lane; key < T; key += 32) top = fmaxf(top, mask[key]);
    top = warp_max(top);
    int count = 0;
    for (int key = lane; key < T; key += 32) {
        if (mask[key] > top - FAR) count = key + 1;
    }
    for (int far = 16; far; far /= 2) count = max(count, __shfl_xor_sync(ALL_LANES, count, far));
    return {top, count};
}

// Dropout of an array (B, N, Q, T), with the mask of `backend.dropout_mask`: [n, i, j] is element (n Q + i) T + j of an
// example. A kernel without dropout never looks at them.
struct Dropout {
    DropoutKey key;
    unsigned threshold;
    float scale;                                         // 1 / P(keep)
};

__device__ inline Dropout dropout_at(const unsigned long long* dropout_key, unsigned long long layer,
                                     unsigned long long site, unsigned threshold, float scale) {
    if (!DROPOUT) return {{}, 0, 1.0f};
    return {key_at(dropout_key, layer, site), threshold, scale};
}

// Bit i: is element i of this block of 16 kept?
__device__ inline unsigned keep_bits(const Dropout& dropout, unsigned long long block) {
    const Words words = words_of_block(dropout.key, block);
    unsigned bits = 0;
    #pragma unroll
    for (int i = 0; i < 16; i++) bits |= (number(words, i) >= dropout.threshold) << i;
    return bits;
}

// Bit i: is element `element` + i of example b kept? Up to 32 of them, from two blocks or three.
__device__ inline unsigned keep_row(const Dropout& dropout, int b, int N, int Q, int T, long long element,
                                    int count) {
    const unsigned long long block = first_block(b, 1LL * N * Q * T) + element / 16;
    const int start = element % 16;
    unsigned long long bits = keep_bits(dropout, block);
    #pragma unroll
    for (int i = 1; i < 3; i++) {
        if (16 * i < start + count) bits |= static_cast<unsigned long long>(keep_bits(dropout, block + i)) << (16 * i);
    }
    return static_cast<unsigned>(bits >> start);
}

__device__ inline long long element_of(int n, int query, int key, int Q, int T) {
    return (1LL * n * Q + query) * T + key;
}
