// The two matrix products of attention, for a warp that owns 16·M rows.
//
//     rows_times_rows     sums (16M × 8K) = a bᵀ     a: (16M, D)    b: (8K, D)    scores = q kᵀ, dprobs = dcontext vᵀ
//     times_rows          sums (16M × D) += p b      p: (16M, 8K)   b: (8K, D)    context += probs v, all gradients
//
// a and b lie in shared memory, p and the sums in registers: [m][k] is a tile of 16 × 8, of which lane 4·g + t has, as
// tensor_core.cuh says, four numbers i: row g + 8 (i / 2) and column 2t + i % 2.
#pragma once
#include "attention.cuh"
#include "tensor_core.cuh"

constexpr int M = ROW_TILES;                             // tiles of 16 rows that a warp owns
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int ROWS = 16 * M * WARPS;                     // that a block owns
constexpr int COLUMNS = STEP;                            // that it meets at a time
constexpr int K = COLUMNS / 8;
constexpr int PITCH = D + 8;                             // from row to row: an odd number of 16 bytes, so ldmatrix
                                                         // finds its eight rows in different banks
constexpr float LOG2_E = 1.4426950408889634f;            // exp(x) = 2^(x log2 e): the GPU has an instruction for 2^x
constexpr float LN_2 = 0.6931471805599453f;

template <class S, int K>
__device__ inline void rows_times_rows(float (&sums)[M][K][4], const S* a, const S* b) {
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int m = 0; m < M; m++) {
        #pragma unroll
        for (int k = 0; k < K; k++) {
            for (int i = 0; i < 4; i++) sums[m][k][i] = 0.0f;
        }
    }
    #pragma unroll
    for (int d = 0; d < D; d += 16) {
        unsigned left[M][4], right[4];
        #pragma unroll
        for (int m = 0; m < M; m++) {
            load_matrices(left[m], a + (16 * m + lane % 16) * PITCH + d + lane / 16 * 8);
        }
        #pragma unroll
        for (int k = 0; k < K; k += 2) {
            load_matrices(right, b + (8 * k + lane % 8 + lane / 16 * 8) * PITCH + d + lane / 8 % 2 * 8);
            #pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_add<S>(sums[m][k], left[m], right[0], right[1]);
                multiply_add<S>(sums[m][k + 1], left[m], right[2], right[3]);
            }
        }
    }
}

template <class S, int K>
__device__ inline void times_rows(float (&sums)[M][D / 8][4], const float (&p)[M][K][4], const S* b) {
    const int lane = threadIdx.x % 32;
    #pragma unroll
    for (int k = 0; k < K; k += 2) {
        unsigned left[M][4], right[4];
        #pragma unroll
        for (int m = 0; m < M; m++) {
            for (int i = 0; i < 4; i++) {
                const int half = i % 2;
                left[m][i] = pack<S>(p[m][k + i / 2][2 * half], p[m][k + i / 2][2 * half + 1]);
            }
        }
        #pragma unroll
        for (int d = 0; d < D / 8; d += 2) {
            load_matrices_transposed(right, b + (8 * k + lane % 16) * PITCH + 8 * d + lane / 16 * 8);
            #pragma unroll
            for (int m = 0; m < M; m++) {
                multiply_add<S>(sums[m][d], left[m], right[0], right[1]);
                multiply_add<S>(sums[m][d + 1], left[m], right[2], right[3]);
            }
        }
    }
}

// COUNT rows of D numbers, from row `first` on, to shared memory; zeros from row `end` on.
template <int COUNT, class S>
__device__ inline void copy_rows(S* to, Matrix<const S> from, int first, int end) {
    constexpr int PARTS = D / 8;                         // of 16 bytes
    for (int i = threadIdx.x; i < COUNT * PARTS; i += THREADS) {
        const int row = i / PARTS, column = i % PARTS * 8;
        const bool there = first + row < end;
        copy_16_bytes(to + row * PITCH + column, from.row(there ? first + row : 0) + column, there);
    }
}

// The same for COUNT numbers.
template <int COUNT>
__device__ inline void copy_numbers(float* to, const float* from, int first, int end) {
    for (int i = threadIdx.x; i < COUNT; i += THREADS) {
        const bool there = first + i < end;
        copy_4_bytes(to + i, from + (there ? first + i : 0), there);
    }
}

// A warp's rows, times `scale`, from row `first` to row `end`.
template <class S>
__device__ inline void store_rows(Matrix<S> to, int first, int end, const float (&sums)[M][D / 8][4], float scale) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    #pragma unroll
    for (int m = 0; m < M; m++) {
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = first + 16 * m + 8 * half + g;
            if (row < end) {
                #pragma unroll
                for (int d = 0; d < D / 8; d++) {
                    *reinterpret_cast<unsigned*>(to.row(row) + 8 * d + 2 * t) =
                        pack<S>(sums[m][d][2 * half] * scale, sums[m][d][2 * half + 1] * scale);
                }
            }
        }
    }
}

// The sum over the four lanes that hold a row.
__device__ inline float row_sum(float x) {
    x += __shfl_xor_sync(ALL_LANES, x, 1);
    return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

__device__ inline float row_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

// The mask of 16 queries (rows) × COLUMNS keys. Two lanes sample a row's, each half of the columns, and give them to the
// four that need them: of[half of the rows][half of the columns], a bit each.
struct QueryMask {
    unsigned of[2][2];

    __device__ bool kept(int k, int i) const {
        const int column = 8 * k + threadIdx.x % 4 * 2 + i % 2;
        return of[i / 2][k >= K / 2] >> (column % (COLUMNS / 2)) & 1;
    }
};

__device__ inline QueryMask query_mask(const Dropout& dropout, int b, int n, int N, int Q, int T, int query,
                                       int key) {
    const int lane = threadIdx.x % 32, g = lane / 4;
    const long long element = element_of(n, query + lane / 2, key + lane % 2 * (COLUMNS / 2), Q, T);
    const unsigned mine = keep_row(dropout, b, N, Q, T, element, COLUMNS / 2);
    QueryMask sampled;
    #pragma unroll
    for (int i = 0; i < 4; i++) sampled.of[i / 2][i % 2] = __shfl_sync(ALL_LANES, mine, 2 * (g + 8 * (i / 2)) + i % 2);
    return sampled;
}

// The mask of the warp's 16·M keys (rows) × COLUMNS queries (columns): lane i samples those of queries i, i + 32, ...
struct KeyMask {
    unsigned of[COLUMNS / 32];

    // For column i, bit r: is row r kept? All lanes must ask, for columns of the same 32.
    __device__ unsigned column(int i) const {
        return __shfl_sync(ALL_LANES, of[i / 32], i % 32);
    }
};

__device__ inline KeyMask key_mask(const Dropout& dropout, int b, int n, int N, int Q, int T, int query, int key) {
    KeyMask sampled;
    #pragma unroll
    for (int i = 0; i < COLUMNS / 32; i++) {
        const int row = query + 32 * i + threadIdx.x % 32;
        sampled.of[i] = keep_row(dropout, b, N, Q, T, element_of(n, row, key, Q, T), 16 * M);
    }
    return sampled;
}

// The product of two numbers that lie side by side with two others, in float32.
template <class S>
__device__ inline float product_of_pairs(const S* a, const S* b) {
    return static_cast<float>(a[0]) * static_cast<float>(b[0]) + static_cast<float>(a[1]) * static_cast<float>(b[1]);
}
