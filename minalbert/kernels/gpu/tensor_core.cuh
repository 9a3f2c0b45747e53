// Matrix products of one warp on tensor cores (sm_80 and later), with operands that arrive while it computes.
//
//     multiply_add          mma.sync m16n8k16     sums (16 × 8) += a (16 × 16) b (16 × 8)
//     load_matrices         ldmatrix              four 8 × 8 matrices from shared memory into registers
//     copy_16_bytes         cp.async              from global to shared memory, in the background
//
// The 32 lanes of a warp hold a matrix together. Lane 4·g + t has
//
//     a       rows g, g + 8       columns 2t, 2t + 1, 2t + 8, 2t + 9      8 numbers of 16 bits in 4 registers
//     b       rows 2t, 2t + 1, 2t + 8, 2t + 9       column g              4 numbers of 16 bits in 2 registers
//     sums    rows g, g + 8       columns 2t, 2t + 1                      4 numbers of 32 bits
//
// and ldmatrix leaves row g, columns 2t and 2t + 1 of each 8 × 8 matrix in lane 4·g + t, which is just what mma wants.
// Sums that become the next product's left operand need not move either: two tiles of 16 × 8 side by side are an a.
//
// Every name has two bodies: an instruction of the GPU, and the same done by the fibers of the tests' CPU.
// S is bf16 or f16.
#pragma once
#include "storage.cuh"

#ifndef CUDA_ON_CPU

__device__ __forceinline__ unsigned shared_address(const void* pointer) {
    return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

template <class S>
__device__ void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1);

template <>
__device__ __forceinline__ void multiply_add<bf16>(float (&sums)[4], const unsigned (&a)[4],
                                                   unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ __forceinline__ void multiply_add<f16>(float (&sums)[4], const unsigned (&a)[4],
                                                  unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Matrix i's eight rows, 16 bytes each, are where lanes 8i to 8i + 7 point.
__device__ __forceinline__ void load_matrices(unsigned (&matrices)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(shared_address(row)) : "memory");
}

__device__ __forceinline__ void load_matrices_transposed(unsigned (&matrices)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(matrices[0]), "=r"(matrices[1]), "=r"(matrices[2]), "=r"(matrices[3])
                 : "r"(shared_address(row)) : "memory");
}

// Zeros where there is nothing to copy; `from` must be a valid address all the same.
__device__ __forceinline__ void copy_16_bytes(void* to, const void* from, bool there) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(there ? 16 : 0) : "memory");
}

__device__ __forceinline__ void copy_4_bytes(void* to, const void* from, bool there) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 :: "r"(shared_address(to)), "l"(from), "r"(there ? 4 : 0) : "memory");
}

// What was copied since the last call is a group from now on.
__device__ __forceinline__ void end_group() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Wait for all of this thread's groups but the newest; the block's other threads see them after __syncthreads.
template <int NEWEST>
__device__ __forceinline__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;" :: "n"(NEWEST) : "memory");
}

template <class S>
__device__ unsigned pack(float low, float high);

template <>
__device__ __forceinline__ unsigned pack<bf16>(float low, float high) {
    unsigned pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

template <>
__device__ __forceinline__ unsigned pack<f16>(float low, float high) {
    unsigned pair;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ __forceinline__ float fast_exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

#else

template <class S>
inline float unpack(unsigned pair, int which) {
    unsigned short bits = static_cast<unsigned short>(pair >> (16 * which));
    S number;
    memcpy(&number, &bits, 2);
    return static_cast<float>(number);
}

template <class S>
inline unsigned pack(float low, float high) {
    S numbers[2] = {S(low), S(high)};
    unsigned pair;
    memcpy(&pair, numbers, 4);
    return pair;
}

// The lane that holds (row, column) publishes it, every lane reads what its four sums need.
template <class S>
inline void multiply_add(float (&sums)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    struct A { unsigned of[4]; };
    struct B { unsigned of[2]; };
    const int lane = shim::me().lane, g = lane / 4, t = lane % 4;
    float rows[2][16], products[4] = {0.0f, 0.0f, 0.0f, 0.0f};

    auto every_a = shim::publish(A{{a[0], a[1], a[2], a[3]}});
    for (int column = 0; column < 16; column++) {
        A theirs = shim::peek<A>(every_a, 4 * g + column % 8 / 2);
        rows[0][column] = unpack<S>(theirs.of[column / 8 * 2], column % 2);
        rows[1][column] = unpack<S>(theirs.of[column / 8 * 2 + 1], column % 2);
    }
    auto every_b = shim::publish(B{{b0, b1}});
    for (int column = 0; column < 2; column++) {
        for (int k = 0; k < 16; k++) {
            B theirs = shim::peek<B>(every_b, 4 * (2 * t + column) + k % 8 / 2);
            float number = unpack<S>(theirs.of[k / 8], k % 2);
            products[column] += rows[0][k] * number;
            products[2 + column] += rows[1][k] * number;
        }
    }
    for (int i = 0; i < 4; i++) sums[i] += products[i];
}

inline void load_matrices_of(unsigned (&matrices)[4], const void* row, bool transposed) {
    typedef const unsigned short* Row;
    auto rows = shim::publish(static_cast<Row>(row));
    const unsigned lane = shim::me().lane, g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; i++) {
        Row low = shim::peek<Row>(rows, 8 * i + (transposed ? 2 * t : g));
        Row high = transposed ? shim::peek<Row>(rows, 8 * i + 2 * t + 1) : low + 1;
        const int column = transposed ? g : 2 * t;
        matrices[i] = low[column] | static_cast<unsigned>(high[column]) << 16;
    }
    __syncwarp();
}

inline void load_matrices(unsigned (&matrices)[4], const void* row) { load_matrices_of(matrices, row, false); }
inline void load_matrices_transposed(unsigned (&matrices)[4], const void* row) {
    load_matrices_of(matrices, row, true);
}

inline void copy_16_bytes(void* to, const void* from, bool there) { shim::copy_async(to, from, 16, there ? 16 : 0); }
inline void copy_4_bytes(void* to, const void* from, bool there) { shim::copy_async(to, from, 4, there ? 4 : 0); }
inline void end_group() { shim::copy_commit(); }
template <int NEWEST>
inline void wait_for_groups() { shim::copy_wait(NEWEST); }

inline float fast_exp2(float x) { return exp2f(x); }

#endif
