// Attention forward on tensor cores; no Q × T array is ever in memory.
//
//     scores = q kᵀ / √D + mask        lse = log Σ_keys exp(scores)        context = dropout(exp(scores - lse)) v
//
// Online softmax (Milakov & Gimelshein, 2018; FlashAttention: Dao et al., 2022). A block owns some queries and meets
// the keys a few at a time. It knows of each query the largest score so far and sums relative to it,
//
//     top = max scores       total = Σ exp(scores - top)       sums = Σ dropout(exp(scores - top)) v
//
// and when a larger score comes, exp(top - new top) turns the old sums into what they would have been:
//
//     total = total exp(top - new top) + Σ_new exp(scores - new top)              sums likewise
//     in the end      context = sums / total                 lse = top + log total
//
// The dropout mask falls on the probabilities in the context alone, not in the total.
//
// q, context: (B·Q, N·D)   k, v: (B·T, N·D), each by itself or a slice of wider rows   mask: (B, T)   lse: (B, N, Q)
// Q queries an example and T keys: as many, or fewer where only some places' outputs are wanted.
// grid: (Q / ROWS, N, B)   block: 4 warps; of its 16·M queries a warp holds all scores in registers
// shared memory: q (ROWS, D), and twice k, v (COLUMNS, D) and mask (COLUMNS): one set to compute with, one that arrives
//
// NVRTC: HEAD=32 DROPOUT=0 ROW_TILES=2 STEP=64
// NVRTC: HEAD=32 DROPOUT=1 ROW_TILES=2 STEP=64
// NVRTC: HEAD=64 DROPOUT=0 ROW_TILES=2 STEP=64
// NVRTC: HEAD=64 DROPOUT=1 ROW_TILES=2 STEP=64
// NVRTC: HEAD=128 DROPOUT=0 ROW_TILES=1 STEP=32
// NVRTC: HEAD=128 DROPOUT=1 ROW_TILES=1 STEP=32
#include "attention_tiles.cuh"

template <class S>
__device__ inline void attention_forward(Matrix<const S> all_q, Matrix<const S> all_k, Matrix<const S> all_v,
                                         const float* mask, Matrix<S> all_context, float* lse, int Q, int T, int N,
                                         float scale, Dropout dropout) {
    DYN_SHARED(S, q_tile);
    S* k_tiles = q_tile + ROWS * PITCH;
    S* v_tiles = k_tiles + 2 * COLUMNS * PITCH;
    float* mask_tiles = reinterpret_cast<float*>(v_tiles + 2 * COLUMNS * PITCH);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int n = blockIdx.y, b = blockIdx.z, own = 16 * M * warp;
    const int query = blockIdx.x * ROWS + own;                           // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    mask += static_cast<long long>(b) * T;
    const Keys keys = keys_of(mask, T);

    auto fetch = [&](int key) {
        const int buffer = key / COLUMNS % 2;
        copy_rows<COLUMNS>(k_tiles + buffer * COLUMNS * PITCH, k, key, keys.count);
        copy_rows<COLUMNS>(v_tiles + buffer * COLUMNS * PITCH, v, key, keys.count);
        copy_numbers<COLUMNS>(mask_tiles + buffer * COLUMNS, mask, key, keys.count);
        end_group();
    };
    copy_rows<ROWS>(q_tile, q, blockIdx.x * ROWS, Q);
    fetch(0);

    float sums[M][D / 8][4] = {}, top[M][2], total[M][2];
    #pragma unroll
    for (int m = 0; m < M; m++) {
        for (int half = 0; half < 2; half++) {
            top[m][half] = LOWEST;
            total[m][half] = 0.0f;
        }
    }

    for (int key = 0; key < keys.count; key += COLUMNS) {
        const int buffer = key / COLUMNS % 2;
        wait_for_groups<0>();
        __syncthreads();                                                 // what has arrived is there for all to see
        if (key + COLUMNS < keys.count) fetch(key + COLUMNS);

        float p[M][K][4];                                                // scores, in units of log 2; then probs
        rows_times_rows(p, q_tile + own * PITCH, k_tiles + buffer * COLUMNS * PITCH);
        #pragma unroll
        for (int column = 0; column < 2 * K; column++) {
            const int j = column / 2 * 8 + 2 * t + column % 2;
            const float bias = key + j < keys.count ? (mask_tiles[buffer * COLUMNS + j] - keys.top) * LOG2_E : LOWEST;
            #pragma unroll
            for (int m = 0; m < M; m++) {
                for (int half = 0; half < 2; half++) {
                    float& score = p[m][column / 2][2 * half + column % 2];
                    score = score * (scale * LOG2_E) + bias;
                }
            }
        }
        #pragma unroll
        for (int m = 0; m < M; m++) {
            #pragma unroll
            for (int half = 0; half < 2; half++) {
                float new_top = top[m][half];
                #pragma unroll
                for (int c = 0; c < 2 * K; c++) new_top = fmaxf(new_top, p[m][c / 2][2 * half + c % 2]);
                new_top = row_max(new_top);
                const float shrink = fast_exp2(top[m][half] - new_top);
                top[m][half] = new_top;
                total[m][half] *= shrink;
                #pragma unroll
                for (int c = 0; c < D / 4; c++) sums[m][c / 2][2 * half + c % 2] *= shrink;
                #pragma unroll
                for (int c = 0; c < 2 * K; c++) {
                    float& score = p[m][c / 2][2 * half + c % 2];
                    score = fast_exp2(score - new_top);
                    total[m][half] += score;
                }
            }
            if (DROPOUT) {
                const QueryMask sampled = query_mask(dropout, b, n, N, Q, T, query + 16 * m, key);
                #pragma unroll
                for (int c = 0; c < 4 * K; c++) {
                    if (!sampled.kept(c / 4, c % 4)) p[m][c / 4][c % 4] = 0.0f;
                }
            }
        }
        times_rows(sums, p, v_tiles + buffer * COLUMNS * PITCH);
    }

    lse += (static_cast<long long>(b) * N + n) * Q;
    #pragma unroll
    for (int m = 0; m < M; m++) {
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = query + 16 * m + 8 * half + g;
            const float all = row_sum(total[m][half]);
            #pragma unroll
            for (int c = 0; c < D / 4; c++) sums[m][c / 2][2 * half + c % 2] /= all;
            if (row < Q && t == 0) lse[row] = (top[m][half] + log2f(all)) * LN_2 + keys.top;
        }
    }
    store_rows(all_context.head(b, n, Q), query, Q, sums, dropout.scale);
}

#define KERNELS(suffix, S)                                                                                             \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
    attention_forward_##suffix(const S* q, long long q_stride, const S* k, long long k_stride, const S* v,             \
                               long long v_stride, const float* mask, S* context, long long context_stride,            \
                               float* lse, int Q, int T, int N, float scale,                                           \
                               const unsigned long long* dropout_key, unsigned long long layer,                        \
                               unsigned long long site, unsigned threshold, float keep_scale) {                        \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_forward<S>({q, q_stride}, {k, k_stride}, {v, v_stride}, mask, {context, context_stride}, lse, Q, T,  \
                             N, scale, dropout);                                                                       \
    }
KERNELS(bf16, bf16)
KERNELS(f16, f16)
