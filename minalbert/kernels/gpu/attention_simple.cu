// Attention without tensor cores: any head size up to 128, any Q and T; read this one first.
//
// Formulas: attention.cu (online softmax) and attention_backward.cu. What differs is only who holds what. A warp owns
// OWN rows of scores, and lane j has column j of the 32 that it meets at a time:
//
//     lane j      scores[r] = Σ_d q[r, d] k[j, d] / √D + mask[j]            its own row of k, all rows of q
//     the warp    max and Σ over j, by exchange between lanes
//     lane d      sums[r, d] += Σ_j probs[r, j] v[j, d]                     now it has columns d, d + 32, ... of v
//
// so that the probabilities are all that has to change hands, through shared memory.
//
// shapes: as in attention.cu   grid: (Q / ROWS or T / ROWS, N, B)   block: 8 warps
// shared memory: float32 tiles of 32 rows each: q, k, v forward, and dcontext as well backward
//
// NVRTC: HEAD=20 DROPOUT=0
// NVRTC: HEAD=64 DROPOUT=0
// NVRTC: HEAD=128 DROPOUT=1
#include "attention.cuh"

constexpr int WARPS = 8;
constexpr int OWN = 4;                                   // rows of a warp
constexpr int ROWS = WARPS * OWN;                        // of a block
constexpr int COLUMNS = 32;                              // one a lane
constexpr int PITCH = 4 * ((D + 3) / 4 | 1);             // an odd number of float4: a column of them meets all banks
constexpr int PARTS = (D + 31) / 32;                     // columns d of a lane

// 32 rows of D numbers, from row `first` on, to shared memory in float32; zeros from row `end` and column D on.
template <class S>
__device__ inline void read_rows(float* to, Matrix<const S> from, int first, int end) {
    for (int i = threadIdx.x; i < 32 * PITCH; i += 32 * WARPS) {
        const int row = i / PITCH, d = i % PITCH;
        to[i] = first + row < end && d < D ? static_cast<float>(from.row(first + row)[d]) : 0.0f;
    }
}

// products[r] = Σ_d rows[r, d] column[d]
__device__ inline void products(float (&products)[OWN], const float* rows, const float* column) {
    for (int r = 0; r < OWN; r++) products[r] = 0.0f;
    #pragma unroll 4
    for (int d = 0; d < D; d += 4) {
        const float4 y = *reinterpret_cast<const float4*>(column + d);
        #pragma unroll
        for (int r = 0; r < OWN; r++) {
            const float4 x = *reinterpret_cast<const float4*>(rows + r * PITCH + d);
            products[r] += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
        }
    }
}

// sums[r, d] += Σ_j p[r, j] columns[j, d]
__device__ inline void weigh(float (&sums)[OWN][PARTS], const float (&p)[OWN][COLUMNS], const float* columns) {
    const int lane = threadIdx.x % 32;
    #pragma unroll 4
    for (int j = 0; j < COLUMNS; j++) {
        #pragma unroll
        for (int part = 0; part < PARTS; part++) {
            const int d = 32 * part + lane;
            const float x = d < D ? columns[j * PITCH + d] : 0.0f;
            #pragma unroll
            for (int r = 0; r < OWN; r++) sums[r][part] += p[r][j] * x;
        }
    }
}

// A row, of which lane d has columns d, d + 32, ...
template <class S>
__device__ inline void write_row(S* to, const float (&sums)[PARTS], float scale) {
    #pragma unroll
    for (int part = 0; part < PARTS; part++) {
        const int d = 32 * part + threadIdx.x % 32;
        if (d < D) to[d] = S(sums[part] * scale);
    }
}

template <class S>
__device__ inline void attention_forward(Matrix<const S> all_q, Matrix<const S> all_k, Matrix<const S> all_v,
                                         const float* mask, Matrix<S> all_context, float* lse, int Q, int T, int N,
                                         float scale, Dropout dropout) {
    DYN_SHARED(float, q_tile);
    float* k_tile = q_tile + ROWS * PITCH;
    float* v_tile = k_tile + COLUMNS * PITCH;
    __shared__ float probs[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int query = blockIdx.x * ROWS + OWN * warp;                    // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    const Matrix<S> context = all_context.head(b, n, Q);
    mask += static_cast<long long>(b) * T;
    lse += (static_cast<long long>(b) * N + n) * Q;
    const Keys keys = keys_of(mask, T);
    read_rows(q_tile, q, blockIdx.x * ROWS, Q);

    float sums[OWN][PARTS] = {}, top[OWN], total[OWN];                   // total: of this lane's keys
    for (int r = 0; r < OWN; r++) {
        top[r] = LOWEST;
        total[r] = 0.0f;
    }
    for (int first = 0; first < keys.count; first += COLUMNS) {
        __syncthreads();
        read_rows(k_tile, k, first, keys.count);
        read_rows(v_tile, v, first, keys.count);
        __syncthreads();

        const int key = first + lane;
        const float bias = key < keys.count ? mask[key] - keys.top : LOWEST;
        unsigned kept = 0;
        if (DROPOUT && lane < OWN) {
            kept = keep_row(dropout, b, N, Q, T, element_of(n, query + lane, first, Q, T), COLUMNS);
        }
        float scores[OWN];
        products(scores, q_tile + OWN * warp * PITCH, k_tile + lane * PITCH);
        #pragma unroll
        for (int r = 0; r < OWN; r++) {
            const float score = scores[r] * scale + bias;
            const float new_top = fmaxf(top[r], warp_max(score));
            const float shrink = expf(top[r] - new_top), prob = expf(score - new_top);
            total[r] = total[r] * shrink + prob;
            top[r] = new_top;
            #pragma unroll
            for (int part = 0; part < PARTS; part++) sums[r][part] *= shrink;
            const bool dropped = DROPOUT && !(__shfl_sync(ALL_LANES, kept, r) >> lane & 1);
            probs[warp][r][lane] = dropped ? 0.0f : prob;
        }
        __syncwarp();
        weigh(sums, probs[warp], v_tile);
    }
    #pragma unroll
    for (int r = 0; r < OWN; r++) {
        const float all = warp_sum(total[r]);
        const int row = query + r;
        if (row < Q) {
            write_row(context.row(row), sums[r], dropout.scale / all);
            if (lane == 0) lse[row] = top[r] + logf(all) + keys.top;
        }
    }
}

template <class S>
__device__ inline void attention_backward_q(Matrix<const S> all_dcontext, Matrix<const S> all_q, Matrix<const S> all_k,
                                            Matrix<const S> all_v, const float* mask, Matrix<const S> all_context,
                                            const float* lse, Matrix<S> all_dq, float* delta, int Q, int T, int N,
                                            float scale, Dropout dropout) {
    DYN_SHARED(float, q_tile);
    float* dcontext_tile = q_tile + ROWS * PITCH;
    float* k_tile = dcontext_tile + ROWS * PITCH;
    float* v_tile = k_tile + COLUMNS * PITCH;
    __shared__ float dscores[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int query = blockIdx.x * ROWS + OWN * warp;                    // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    const Matrix<const S> dcontext = all_dcontext.head(b, n, Q), context = all_context.head(b, n, Q);
    mask += static_cast<long long>(b) * T;
    lse += (static_cast<long long>(b) * N + n) * Q;
    delta += (static_cast<long long>(b) * N + n) * Q;
    const Keys keys = keys_of(mask, T);
    read_rows(q_tile, q, blockIdx.x * ROWS, Q);
    read_rows(dcontext_tile, dcontext, blockIdx.x * ROWS, Q);
    __syncthreads();

    float dq[OWN][PARTS] = {}, log_total[OWN], delta_of[OWN];
    #pragma unroll
    for (int r = 0; r < OWN; r++) {
        const int row = query + r;
        float sum = 0.0f;
        for (int d = lane; d < D && row < Q; d += 32) {
            sum += dcontext_tile[(OWN * warp + r) * PITCH + d] * static_cast<float>(context.row(row)[d]);
        }
        delta_of[r] = warp_sum(sum);
        log_total[r] = row < Q ? lse[row] - keys.top : 0.0f;
        if (row < Q && lane == 0) delta[row] = delta_of[r];
    }
    for (int first = 0; first < keys.count; first += COLUMNS) {
        __syncthreads();
        read_rows(k_tile, k, first, keys.count);
        read_rows(v_tile, v, first, keys.count);
        __syncthreads();

        const int key = first + lane;
        const float bias = key < keys.count ? mask[key] - keys.top : LOWEST;
        unsigned kept = 0;
        if (DROPOUT && lane < OWN) {
            kept = keep_row(dropout, b, N, Q, T, element_of(n, query + lane, first, Q, T), COLUMNS);
        }
        float scores[OWN], dprobs[OWN];
        products(scores, q_tile + OWN * warp * PITCH, k_tile + lane * PITCH);
        products(dprobs, dcontext_tile + OWN * warp * PITCH, v_tile + lane * PITCH);
        #pragma unroll
        for (int r = 0; r < OWN; r++) {
            const float prob = expf(scores[r] * scale + bias - log_total[r]);
            const bool dropped = DROPOUT && !(__shfl_sync(ALL_LANES, kept, r) >> lane & 1);
            const float dprob = dropped ? 0.0f : dprobs[r] * dropout.scale;
            dscores[warp][r][lane] = prob * (dprob - delta_of[r]);
        }
        __syncwarp();
        weigh(dq, dscores[warp], k_tile);
    }
    #pragma unroll
    for (int r = 0; r < OWN; r++) {
        if (query + r < Q) write_row(all_dq.head(b, n, Q).row(query + r), dq[r], scale);
    }
}

// Rows are keys here and columns queries: every Q × T array stands transposed.
template <class S>
__device__ inline void attention_backward_kv(Matrix<const S> all_dcontext, Matrix<const S> all_q, Matrix<const S> all_k,
                                             Matrix<const S> all_v, const float* mask, const float* lse,
                                             const float* delta, Matrix<S> all_dk, Matrix<S> all_dv, int Q, int T,
                                             int N, float scale, Dropout dropout) {
    DYN_SHARED(float, k_tile);
    float* v_tile = k_tile + ROWS * PITCH;
    float* q_tile = v_tile + ROWS * PITCH;
    float* dcontext_tile = q_tile + COLUMNS * PITCH;
    __shared__ float probs[WARPS][OWN][COLUMNS], dscores[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int key = blockIdx.x * ROWS + OWN * warp;                      // the warp's first
    const Matrix<const S> q = all_q.head(b, n, Q), k = all_k.head(b, n, T), v = all_v.head(b, n, T);
    const Matrix<const S> dcontext = all_dcontext.head(b, n, Q);
    mask += static_cast<long long>(b) * T;
    lse += (static_cast<long long>(b) * N + n) * Q;
    delta += (static_cast<long long>(b) * N + n) * Q;
    const Keys keys = keys_of(mask, T);
    read_rows(k_tile, k, blockIdx.x * ROWS, keys.count);
    read_rows(v_tile, v, blockIdx.x * ROWS, keys.count);

    float dk[OWN][PARTS] = {}, dv[OWN][PARTS] = {}, bias[OWN];
    for (int r = 0; r < OWN; r++) bias[r] = key + r < keys.count ? mask[key + r] - keys.top : LOWEST;
    const int queries = blockIdx.x * ROWS < keys.count ? Q : 0;          // keys that all are padding: zeros, no work
    for (int first = 0; first < queries; first += COLUMNS) {
        __syncthreads();
        read_rows(q_tile, q, first, Q);
        read_rows(dcontext_tile, dcontext, first, Q);
        __syncthreads();

        const int query = first + lane;
        const bool there = query < Q;
        const float log_total = there ? lse[query] - keys.top : 0.0f;
        const float delta_of = there ? delta[query] : 0.0f;
        unsigned kept = 0;
        if (DROPOUT) kept = keep_row(dropout, b, N, Q, T, element_of(n, query, key, Q, T), OWN);
        float scores[OWN], dprobs[OWN];
        products(scores, k_tile + OWN * warp * PITCH, q_tile + lane * PITCH);
        products(dprobs, v_tile + OWN * warp * PITCH, dcontext_tile + lane * PITCH);
        #pragma unroll
        for (int r = 0; r < OWN; r++) {
            const float prob = there ? expf(scores[r] * scale + bias[r] - log_total) : 0.0f;
            const bool dropped = DROPOUT && !(kept >> r & 1);
            const float dprob = dropped ? 0.0f : dprobs[r] * dropout.scale;
            dscores[warp][r][lane] = prob * (dprob - delta_of);
            probs[warp][r][lane] = dropped ? 0.0f : prob;
        }
        __syncwarp();
        weigh(dv, probs[warp], dcontext_tile);
        weigh(dk, dscores[warp], q_tile);
    }
    #pragma unroll
    for (int r = 0; r < OWN; r++) {
        if (key + r < T) {
            write_row(all_dk.head(b, n, T).row(key + r), dk[r], scale);
            write_row(all_dv.head(b, n, T).row(key + r), dv[r], dropout.scale);
        }
    }
}

#define KERNELS(suffix, S)                                                                                             \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
    attention_forward_##suffix(const S* q, long long q_stride, const S* k, long long k_stride, const S* v,             \
                               long long v_stride, const float* mask, S* context, long long context_stride,            \
                               float* lse, int Q, int T, int N, float scale,                                           \
                               const unsigned long long* dropout_key, unsigned long long layer,                        \
                               unsigned long long site, unsigned threshold, float keep_scale) {                        \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_forward<S>({q, q_stride}, {k, k_stride}, {v, v_stride}, mask, {context, context_stride}, lse, Q, T,  \
                             N, scale, dropout);                                                                       \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
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
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
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
KERNELS(f32, float)
KERNELS(bf16, bf16)
KERNELS(f16, f16)
