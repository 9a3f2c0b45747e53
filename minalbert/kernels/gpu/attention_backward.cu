// Attention backward on tensor cores; no Q × T array is ever in memory.
//
// lse makes the probabilities again, each where it is needed:
//
//     probs   = exp(q kᵀ / √D + mask - lse)             dprobs  = dropout(dcontext vᵀ)
//     dscores = probs (dprobs - delta)                  delta   = Σ_keys dprobs probs = Σ_d dcontext context
//
// and then
//
//     dq = dscores k / √D         a block owns queries and meets the keys; it also finds their delta
//     dv = dropout(probs)ᵀ dcontext, dk = dscoresᵀ q / √D         a block owns keys and meets the queries
//
// so every sum is one warp's own, in a fixed order, and no two blocks add to the same number. The price: scores and
// dprobs are computed twice, seven products in place of five.
//
// q, dq, context, dcontext: (B·Q, N·D)   k, v, dk, dv: (B·T, N·D)   mask: (B, T)   lse, delta: (B, N, Q)
// grid: (Q / ROWS or T / ROWS, N, B)   block: 4 warps, of 16·M rows each
// shared memory: two tiles (ROWS, D) that the block owns; twice two tiles (COLUMNS, D) and two rows of COLUMNS numbers
//
// NVRTC: HEAD=32 DROPOUT=0 ROW_TILES=2 STEP=32
// NVRTC: HEAD=32 DROPOUT=1 ROW_TILES=2 STEP=32
// NVRTC: HEAD=64 DROPOUT=0 ROW_TILES=1 STEP=64
// NVRTC: HEAD=64 DROPOUT=1 ROW_TILES=1 STEP=64
// NVRTC: HEAD=128 DROPOUT=0 ROW_TILES=1 STEP=32
// NVRTC: HEAD=128 DROPOUT=1 ROW_TILES=1 STEP=32
#include "attention_tiles.cuh"

template <class S>
__device__ inline void attention_backward_q(Matrix<const S> all_dcontext, Matrix<const S> all_q, Matrix<const S> all_k,
                                            Matrix<const S> all_v, const float* mask, Matrix<const S> all_context,
                                            const float* lse, Matrix<S> all_dq, float* delta, int Q, int T, int N,
                                            float scale, Dropout dropout) {
    DYN_SHARED(S, q_tile);
    S* dcontext_tile = q_tile + ROWS * PITCH;
    S* k_tiles = dcontext_tile + ROWS * PITCH;
    S* v_tiles = k_tiles + 2 * COLUMNS * PITCH;
    float* mask_tiles = reinterpret_cast<float*>(v_tiles + 2 * COLUMNS * PITCH);

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int n = blockIdx.y, b = blockIdx.z, own = 16 * M * warp;
    const int query = blockIdx.x * ROWS + own;                           // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    const Matrix<const S> dcontext = all_dcontext.head(b, n, Q), context = all_context.head(b, n, Q);
    mask += static_cast<long long>(b) * T;
    lse += (static_cast<long long>(b) * N + n) * Q;
    delta += (static_cast<long long>(b) * N + n) * Q;
    const Keys keys = keys_of(mask, T);

    auto fetch = [&](int key) {
        const int buffer = key / COLUMNS % 2;
        copy_rows<COLUMNS>(k_tiles + buffer * COLUMNS * PITCH, k, key, keys.count);
        copy_rows<COLUMNS>(v_tiles + buffer * COLUMNS * PITCH, v, key, keys.count);
        copy_numbers<COLUMNS>(mask_tiles + buffer * COLUMNS, mask, key, keys.count);
        end_group();
    };
    copy_rows<ROWS>(q_tile, q, blockIdx.x * ROWS, Q);
    copy_rows<ROWS>(dcontext_tile, dcontext, blockIdx.x * ROWS, Q);
    end_group();
    fetch(0);
    wait_for_groups<1>();
    __syncthreads();

    float dq[M][D / 8][4] = {}, log_total[M][2], delta_of[M][2];
    #pragma unroll
    for (int m = 0; m < M; m++) {
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = 16 * m + 8 * half + g;                       // of the warp
            const bool there = query + row < Q;
            float sum = 0.0f;
            #pragma unroll
            for (int d = 2 * t; d < D; d += 8) {
                if (there) {
                    sum += product_of_pairs(dcontext_tile + (own + row) * PITCH + d, context.row(query + row) + d);
                }
            }
            sum = row_sum(sum);
            if (there && t == 0) delta[query + row] = sum;
            delta_of[m][half] = sum;
            log_total[m][half] = there ? (lse[query + row] - keys.top) * LOG2_E : 0.0f;
        }
    }

    for (int key = 0; key < keys.count; key += COLUMNS) {
        const int buffer = key / COLUMNS % 2;
        wait_for_groups<0>();
        __syncthreads();                                                 // what has arrived is there for all to see
        if (key + COLUMNS < keys.count) fetch(key + COLUMNS);

        float p[M][K][4], dp[M][K][4];
        rows_times_rows(p, q_tile + own * PITCH, k_tiles + buffer * COLUMNS * PITCH);
        rows_times_rows(dp, dcontext_tile + own * PITCH, v_tiles + buffer * COLUMNS * PITCH);
        #pragma unroll
        for (int m = 0; m < M; m++) {
            QueryMask sampled;
            if (DROPOUT) sampled = query_mask(dropout, b, n, N, Q, T, query + 16 * m, key);
            #pragma unroll
            for (int c = 0; c < 4 * K; c++) {
                const int j = c / 4 * 8 + 2 * t + c % 2, half = c % 4 / 2;
                const float bias =
                    key + j < keys.count ? (mask_tiles[buffer * COLUMNS + j] - keys.top) * LOG2_E : LOWEST;
                float& dprob = dp[m][c / 4][c % 4];
                if (DROPOUT) dprob = sampled.kept(c / 4, c % 4) ? dprob * dropout.scale : 0.0f;
                const float prob = fast_exp2(p[m][c / 4][c % 4] * (scale * LOG2_E) + bias - log_total[m][half]);
                dprob = prob * (dprob - delta_of[m][half]);              // dscores
            }
        }
        times_rows(dq, dp, k_tiles + buffer * COLUMNS * PITCH);
    }
    store_rows(all_dq.head(b, n, Q), query, Q, dq, scale);
}

// Rows are keys here and columns queries: every Q × T array stands transposed.
template <class S>
__device__ inline void attention_backward_kv(Matrix<const S> all_dcontext, Matrix<const S> all_q, Matrix<const S> all_k,
                                             Matrix<const S> all_v, const float* mask, const float* lse,
                                             const float* delta, Matrix<S> all_dk, Matrix<S> all_dv, int Q, int T,
                                             int N, float scale, Dropout dropout) {
    DYN_SHARED(S, k_tile);
    S* v_tile = k_tile + ROWS * PITCH;
    S* q_tiles = v_tile + ROWS * PITCH;
    S* dcontext_tiles = q_tiles + 2 * COLUMNS * PITCH;
    float* lse_tiles = reinterpret_cast<float*>(dcontext_tiles + 2 * COLUMNS * PITCH);
    float* delta_tiles = lse_tiles + 2 * COLUMNS;

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int n = blockIdx.y, b = blockIdx.z, own = 16 * M * warp;
    const int key = blockIdx.x * ROWS + own;                             // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    const Matrix<const S> dcontext = all_dcontext.head(b, n, Q);
    mask += static_cast<long long>(b) * T;
    lse += (static_cast<long long>(b) * N + n) * Q;
    delta += (static_cast<long long>(b) * N + n) * Q;
    const Keys keys = keys_of(mask, T);

    float dk[M][D / 8][4] = {}, dv[M][D / 8][4] = {}, bias[M][2];
    #pragma unroll
    for (int m = 0; m < M; m++) {
        for (int half = 0; half < 2; half++) {
            const int row = key + 16 * m + 8 * half + g;
            bias[m][half] = row < keys.count ? (mask[row] - keys.top) * LOG2_E : LOWEST;
        }
    }

    auto fetch = [&](int query) {
        const int buffer = query / COLUMNS % 2;
        copy_rows<COLUMNS>(q_tiles + buffer * COLUMNS * PITCH, q, query, Q);
        copy_rows<COLUMNS>(dcontext_tiles + buffer * COLUMNS * PITCH, dcontext, query, Q);
        copy_numbers<COLUMNS>(lse_tiles + buffer * COLUMNS, lse, query, Q);
        copy_numbers<COLUMNS>(delta_tiles + buffer * COLUMNS, delta, query, Q);
        end_group();
    };
    const int queries = blockIdx.x * ROWS < keys.count ? Q : 0;          // keys that all are padding: zeros, no work
    if (queries) {
        copy_rows<ROWS>(k_tile, k, blockIdx.x * ROWS, keys.count);
        copy_rows<ROWS>(v_tile, v, blockIdx.x * ROWS, keys.count);
        fetch(0);
    }

    for (int query = 0; query < queries; query += COLUMNS) {
        const int buffer = query / COLUMNS % 2;
        wait_for_groups<0>();
        __syncthreads();                                                 // what has arrived is there for all to see
        if (query + COLUMNS < Q) fetch(query + COLUMNS);

        float p[M][K][4], dp[M][K][4];
        rows_times_rows(p, k_tile + own * PITCH, q_tiles + buffer * COLUMNS * PITCH);
        rows_times_rows(dp, v_tile + own * PITCH, dcontext_tiles + buffer * COLUMNS * PITCH);
        KeyMask sampled;
        if (DROPOUT) sampled = key_mask(dropout, b, n, N, Q, T, query, key);
        #pragma unroll
        for (int column = 0; column < 2 * K; column++) {
            const int i = column / 2 * 8 + 2 * t + column % 2;
            const float log_total = (lse_tiles[buffer * COLUMNS + i] - keys.top) * LOG2_E;
            const float delta_of = delta_tiles[buffer * COLUMNS + i];
            unsigned kept = 0;
            if (DROPOUT) kept = sampled.column(i);
            #pragma unroll
            for (int m = 0; m < M; m++) {
                #pragma unroll
                for (int half = 0; half < 2; half++) {
                    float& prob = p[m][column / 2][2 * half + column % 2];
                    float& dprob = dp[m][column / 2][2 * half + column % 2];
                    const bool dropped = DROPOUT && !(kept >> (16 * m + 8 * half + g) & 1);
                    prob = fast_exp2(prob * (scale * LOG2_E) + bias[m][half] - log_total);
                    if (DROPOUT) dprob = dropped ? 0.0f : dprob * dropout.scale;
                    dprob = prob * (dprob - delta_of);                   // dscores
                    if (dropped) prob = 0.0f;
                }
            }
        }
        times_rows(dv, p, dcontext_tiles + buffer * COLUMNS * PITCH);
        times_rows(dk, dp, q_tiles + buffer * COLUMNS * PITCH);
    }
    store_rows(all_dk.head(b, n, T), key, T, dk, scale);
    store_rows(all_dv.head(b, n, T), key, T, dv, dropout.scale);
}

#define KERNELS(suffix, S)                                                                                             \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
    attention_backward_q_##suffix(const S* dcontext, long long dcontext_stride, const S* q, long long q_stride,        \
                                  const S* k, long long k_stride, const S* v, long long v_stride,                      \
                                  const float* mask, const S* context, long long context_stride,                       \
                                  const float* lse, S* dq, long long dq_stride, float* delta, int Q, int T, int N,     \
                                  float scale, const unsigned long long* dropout_key, unsigned long long layer,        \
                                  unsigned long long site, unsigned threshold, float keep_scale) {                     \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_backward_q<S>({dcontext, dcontext_stride}, {q, q_stride}, {k, k_stride}, {v, v_stride}, mask,        \
                                {context, context_stride}, lse, {dq, dq_stride}, delta, Q, T, N, scale, dropout);      \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(128)                                                                  \
    attention_backward_kv_##suffix(const S* dcontext, long long dcontext_stride, const S* q, long long q_stride,       \
                                   const S* k, long long k_stride, const S* v, long long v_stride,                     \
                                   const float* mask, const float* lse, const float* delta, S* dk,                     \
                                   long long dk_stride, S* dv, long long dv_stride, int Q, int T, int N,               \
                                   float scale, const unsigned long long* dropout_key, unsigned long long layer,       \
                                   unsigned long long site, unsigned threshold, float keep_scale) {                    \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_backward_kv<S>({dcontext, dcontext_stride}, {q, q_stride}, {k, k_stride}, {v, v_stride}, mask, lse,  \
                                 delta, {dk, dk_stride}, {dv, dv_stride}, Q, T, N, scale, dropout);                    \
    }
KERNELS(bf16, bf16)
KERNELS(f16, f16)
