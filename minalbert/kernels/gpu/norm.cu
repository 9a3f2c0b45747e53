// Bias, dropout, residual and layer normalisation in one walk; layers/layer_norm.py has the formulas.
//
//     forward     z = dropout(h + linear_bias) + residual        rstd = 1 / √(mean((z - mean(z))²) + eps)
//                 h becomes xhat = (z - mean(z)) rstd            y = xhat gain + bias, of xhat as it is stored
//     backward    g = dy gain        dy becomes dz = rstd (g - mean(g) - xhat mean(g xhat))        dh = dropout(dz)
//                 dgain adds Σ_rows dy xhat        dbias adds Σ_rows dy        dlinear_bias adds Σ_rows dh
//
// h, residual, y, dy, xhat, dh: (rows, columns) S   rstd: (rows,)   linear_bias, gain, bias: (columns,)
// partial: (3, gridDim.x, columns), what each block's rows add to dgain, dbias, dlinear_bias
//
// linear_bias and residual may be null; without dropout (`dropout_key` is null: philox.cuh) dh is not written.
//
// A team of threads, a whole number of warps, owns a row and keeps it in registers: three times eight numbers a
// thread, so that one warp is enough for 768 columns and six for 4096. A block has four teams of one warp, or one
// team of several. Element t · columns + c of an example is column c of its token t, row b · length + t.
//
// NVRTC: at most 168 registers
#include "philox.cuh"
#include "storage.cuh"

constexpr int GROUPS = 3;                               // of eight neighbours that a thread holds
constexpr int TEAMS = 4;                                // of a block, where a team is one warp

__device__ inline int first_column(int group) {
    return (group * blockDim.x + threadIdx.x) * 8;
}

__device__ inline float row_sum(float x, float* parts) {
    return blockDim.x == LANES ? warp_sum(x) : block_sum(x, parts);
}

// Which of this thread's numbers of a row are kept, a bit for each: 8 · group + i. All are where nothing is dropped.
__device__ inline unsigned kept_numbers(const unsigned long long* dropout_key, unsigned long long layer,
                                        unsigned long long site, unsigned threshold, int length, int row,
                                        int columns) {
    if (!dropout_key)
        return 0xffffffffu;
    const DropoutKey key = key_at(dropout_key, layer, site);
    const unsigned long long first = first_block(row / length, (long long)length * columns);
    const long long start = (long long)(row % length) * columns;
    unsigned kept = 0;
#pragma unroll 1                                        // Philox needs registers: one group at a time
    for (int k = 0; k < GROUPS && first_column(k) < columns; ++k) {
        const EightNumbers numbers = eight_numbers(key, first, start + first_column(k));
#pragma unroll
        for (int i = 0; i < 8; ++i)
            kept |= (unsigned)(numbers.number(i) >= threshold) << (8 * k + i);
    }
    return kept;
}

// x = dropout(x) of one group.
__device__ inline void drop(float (&x)[8], unsigned kept, int group, float scale) {
#pragma unroll
    for (int i = 0; i < 8; ++i)
        x[i] = kept >> (8 * group + i) & 1 ? x[i] * scale : 0.0f;
}

template <class S>
__device__ inline void forward(S* h, const float* linear_bias, const S* residual, const unsigned long long* dropout_key,
                               unsigned long long layer, unsigned long long site, unsigned threshold, float scale,
                               int length, const float* gain, const float* bias, float eps, S* y, float* rstd,
                               int rows, int columns) {
    __shared__ float parts[LANES];
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    const long long start = (long long)row * columns;
    const bool wide = takes_sixteen_bytes(columns, h, linear_bias, residual, gain, bias, y);
    if (row >= rows)
        return;

    const unsigned kept = kept_numbers(dropout_key, layer, site, threshold, length, row, columns);
    float z[GROUPS][8], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < GROUPS; ++k) {
        const int c = first_column(k), count = columns - c;
        float other[8];
        load_eight(h + start + c, count, wide, z[k]);
        if (linear_bias) {
            load_eight(linear_bias + c, count, wide, other);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                z[k][i] += other[i];
        }
        if (dropout_key)
            drop(z[k], kept, k, scale);
        if (residual) {
            load_eight(residual + start + c, count, wide, other);
#pragma unroll
            for (int i = 0; i < 8; ++i)
                z[k][i] += other[i];
        }
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sum += z[k][i];                             // zeros behind the row's end
    }

    const float mean = row_sum(sum, parts) / columns;
    float squares = 0.0f;
#pragma unroll
    for (int k = 0; k < GROUPS; ++k) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            z[k][i] -= mean;
            squares += i < columns - first_column(k) ? z[k][i] * z[k][i] : 0.0f;
        }
    }
    const float row_rstd = rsqrtf(row_sum(squares, parts) / columns + eps);
    if (threadIdx.x == 0)
        rstd[row] = row_rstd;

#pragma unroll
    for (int k = 0; k < GROUPS; ++k) {
        const int c = first_column(k), count = columns - c;
        float g[8], b[8];
        load_eight(gain + c, count, wide, g);
        load_eight(bias + c, count, wide, b);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            z[k][i] = (float)(S)(z[k][i] * row_rstd);   // xhat, as norm_output in rows.cu will read it
            g[i] = z[k][i] * g[i] + b[i];               // y
        }
        store_eight(h + start + c, count, wide, z[k]);
        store_eight(y + start + c, count, wide, g);
    }
}

// The teams' sums into the first one's, one after the other.
__device__ inline void add_teams(float (&sums)[GROUPS][8]) {
    __shared__ float shared[TEAMS - 1][GROUPS][8][LANES];
    if (blockDim.y == 1)
        return;
    __syncthreads();                                    // the first team has read what the last call left here
#pragma unroll
    for (int k = 0; k < GROUPS; ++k)
#pragma unroll
        for (int i = 0; i < 8; ++i)
            if (threadIdx.y > 0)
                shared[threadIdx.y - 1][k][i][threadIdx.x] = sums[k][i];
    __syncthreads();
#pragma unroll
    for (int k = 0; k < GROUPS; ++k)
#pragma unroll
        for (int i = 0; i < 8; ++i)
            for (int team = 1; team < TEAMS && threadIdx.y == 0; ++team)
                sums[k][i] += shared[team - 1][k][i][threadIdx.x];
}

__device__ inline void write_sums(float (&sums)[GROUPS][8], int which, float* partial, int columns) {
    add_teams(sums);
    const bool wide = takes_sixteen_bytes(columns, partial);
    float* row = partial + ((long long)which * gridDim.x + blockIdx.x) * columns;
#pragma unroll
    for (int k = 0; k < GROUPS; ++k)
        if (threadIdx.y == 0)
            store_eight(row + first_column(k), columns - first_column(k), wide, sums[k]);
}

template <class S>
__device__ inline void backward(S* dy, const S* xhat, const float* rstd, const float* gain,
                                const unsigned long long* dropout_key, unsigned long long layer,
                                unsigned long long site, unsigned threshold, float scale, int length, S* dh,
                                float* partial, int rows, int columns) {
    __shared__ float parts[LANES];
    const bool wide = takes_sixteen_bytes(columns, dy, xhat, gain, dh);
    float dgain[GROUPS][8] = {}, dbias[GROUPS][8] = {}, dlinear_bias[GROUPS][8] = {};

    for (int row = blockIdx.x * blockDim.y + threadIdx.y; row < rows; row += gridDim.x * blockDim.y) {
        const long long start = (long long)row * columns;
        const unsigned kept = kept_numbers(dropout_key, layer, site, threshold, length, row, columns);
        float g[GROUPS][8], x[GROUPS][8], g_sum = 0.0f, g_xhat_sum = 0.0f;
#pragma unroll
        for (int k = 0; k < GROUPS; ++k) {
            const int c = first_column(k), count = columns - c;
            float gains[8];
            load_eight(dy + start + c, count, wide, g[k]);
            load_eight(xhat + start + c, count, wide, x[k]);
            load_eight(gain + c, count, wide, gains);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                dbias[k][i] += g[k][i];
                dgain[k][i] += g[k][i] * x[k][i];
                g[k][i] *= gains[i];
                g_sum += g[k][i];
                g_xhat_sum += g[k][i] * x[k][i];
            }
        }

        const float g_mean = row_sum(g_sum, parts) / columns, g_xhat_mean = row_sum(g_xhat_sum, parts) / columns;
        const float row_rstd = rstd[row];
#pragma unroll
        for (int k = 0; k < GROUPS; ++k) {
            const int c = first_column(k), count = columns - c;
#pragma unroll
            for (int i = 0; i < 8; ++i)
                g[k][i] = row_rstd * (g[k][i] - g_mean - x[k][i] * g_xhat_mean);        // dz
            store_eight(dy + start + c, count, wide, g[k]);
            if (dropout_key) {
                drop(g[k], kept, k, scale);
                store_eight(dh + start + c, count, wide, g[k]);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
                dlinear_bias[k][i] += g[k][i];
        }
    }
    write_sums(dgain, 0, partial, columns);
    write_sums(dbias, 1, partial, columns);
    write_sums(dlinear_bias, 2, partial, columns);
}

#define NORM(suffix, S)                                                                                              \
    extern "C" __global__ void __launch_bounds__(192)                                                                \
    norm_forward_##suffix(S* h, const float* linear_bias, const S* residual, const unsigned long long* dropout_key,  \
                          unsigned long long layer, unsigned long long site, unsigned threshold, float scale,        \
                          int length, const float* gain, const float* bias, float eps, S* y, float* rstd, int rows,  \
                          int columns) {                                                                             \
        forward(h, linear_bias, residual, dropout_key, layer, site, threshold, scale, length, gain, bias, eps, y,    \
                rstd, rows, columns);                                                                                \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(192)                                                                \
    norm_backward_##suffix(S* dy, const S* xhat, const float* rstd, const float* gain,                               \
                           const unsigned long long* dropout_key, unsigned long long layer, unsigned long long site, \
                           unsigned threshold, float scale, int length, S* dh, float* partial, int rows,             \
                           int columns) {                                                                            \
        backward(dy, xhat, rstd, gain, dropout_key, layer, site, threshold, scale, length, dh, partial, rows,        \
                 columns);                                                                                           \
    }

NORM(f32, float)
NORM(bf16, bf16)
NORM(f16, f16)
