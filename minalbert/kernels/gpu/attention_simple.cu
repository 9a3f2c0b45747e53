// Attention without tensor cores: any head size up to 128, any T; read this one first.
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
// shapes: as in attention.cu   grid: (rows / ROWS, N, B)   block: 8 warps
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
__device__ inline void read_rows(float* to, const S* from, long long width, int first, int end) {
    for (int i = threadIdx.x; i < 32 * PITCH; i += 32 * WARPS) {
        const int row = i / PITCH, d = i % PITCH;
        to[i] = first + row < end && d < D ? static_cast<float>(from[(first + row) * width + d]) : 0.0f;
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
__device__ inline void attention_forward(const S* qkv, const float* mask, S* context, float* lse, int T, int N,
                                         float scale, Dropout dropout) {
    DYN_SHARED(float, q_tile);
    float* k_tile = q_tile + ROWS * PITCH;
    float* v_tile = k_tile + COLUMNS * PITCH;
    __shared__ float probs[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int query = blockIdx.x * ROWS + OWN * warp;                    // the warp's first
    const long long width = 3LL * N * D, example = static_cast<long long>(b) * T;
    const S* q = qkv + example * width + n * D;
    const S* k = q + N * D;
    const S* v = k + N * D;
    mask += example;
    const Keys keys = keys_of(mask, T);
    read_rows(q_tile, q, width, blockIdx.x * ROWS, T);

    float sums[OWN][PARTS] = {}, top[OWN], total[OWN];                   // total: of this lane's keys
    for (int r = 0; r < OWN; r++) {
        top[r] = LOWEST;
        total[r] = 0.0f;
    }
    for (int first = 0; first < keys.count; first += COLUMNS) {
        __syncthreads();
        read_rows(k_tile, k, width, first, keys.count);
        read_rows(v_tile, v, width, first, keys.count);
        __syncthreads();

        const int key = first + lane;
        const float bias = key < keys.count ? mask[key] - keys.top : LOWEST;
        unsigned kept = 0;
        if (DROPOUT && lane < OWN) kept = keep_row(dropout, b, N, T, element_of(n, query + lane, first, T), COLUMNS);
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
        if (row < T) {
            write_row(context + ((example + row) * N + n) * D, sums[r], dropout.scale / all);
            if (lane == 0) lse[(static_cast<long long>(b) * N + n) * T + row] = top[r] + logf(all) + keys.top;
        }
    }
}

template <class S>
__device__ inline void attention_backward_q(const S* dcontext, const S* qkv, const float* mask, const S* context,
                                            const float* lse, S* dqkv, float* delta, int T, int N, float scale,
                                            Dropout dropout) {
    DYN_SHARED(float, q_tile);
    float* dcontext_tile = q_tile + ROWS * PITCH;
    float* k_tile = dcontext_tile + ROWS * PITCH;
    float* v_tile = k_tile + COLUMNS * PITCH;
    __shared__ float dscores[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int query = blockIdx.x * ROWS + OWN * warp;                    // the warp's first
    const long long width = 3LL * N * D, example = static_cast<long long>(b) * T;
    const long long head = (static_cast<long long>(b) * N + n) * T;
    const S* q = qkv + example * width + n * D;
    const S* k = q + N * D;
    const S* v = k + N * D;
    mask += example;
    const Keys keys = keys_of(mask, T);
    read_rows(q_tile, q, width, blockIdx.x * ROWS, T);
    read_rows(dcontext_tile, dcontext + example * N * D + n * D, 1LL * N * D, blockIdx.x * ROWS, T);
    __syncthreads();

    float dq[OWN][PARTS] = {}, log_total[OWN], delta_of[OWN];
    #pragma unroll
    for (int r = 0; r < OWN; r++) {
        const int row = query + r;
        float sum = 0.0f;
        for (int d = lane; d < D && row < T; d += 32) {
            const float number = static_cast<float>(context[((example + row) * N + n) * D + d]);
            sum += dcontext_tile[(OWN * warp + r) * PITCH + d] * number;
        }
        delta_of[r] = warp_sum(sum);
        log_total[r] = row < T ? lse[head + row] - keys.top : 0.0f;
        if (row < T && lane == 0) delta[head + row] = delta_of[r];
    }
    for (int first = 0; first < keys.count; first += COLUMNS) {
        __syncthreads();
        read_rows(k_tile, k, width, first, keys.count);
        read_rows(v_tile, v, width, first, keys.count);
        __syncthreads();

        const int key = first + lane;
        const float bias = key < keys.count ? mask[key] - keys.top : LOWEST;
        unsigned kept = 0;
        if (DROPOUT && lane < OWN) kept = keep_row(dropout, b, N, T, element_of(n, query + lane, first, T), COLUMNS);
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
        if (query + r < T) write_row(dqkv + (example + query + r) * width + n * D, dq[r], scale);
    }
}

// Rows are keys here and columns queries: every T × T array stands transposed.
template <class S>
__device__ inline void attention_backward_kv(const S* dcontext, const S* qkv, const float* mask, const float* lse,
                                             const float* delta, S* dqkv, int T, int N, float scale, Dropout dropout) {
    DYN_SHARED(float, k_tile);
    float* v_tile = k_tile + ROWS * PITCH;
    float* q_tile = v_tile + ROWS * PITCH;
    float* dcontext_tile = q_tile + COLUMNS * PITCH;
    __shared__ float probs[WARPS][OWN][COLUMNS], dscores[WARPS][OWN][COLUMNS];

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, n = blockIdx.y, b = blockIdx.z;
    const int key = blockIdx.x * ROWS + OWN * warp;                      // the warp's first
    const long long width = 3LL * N * D, example = static_cast<long long>(b) * T;
    const long long head = (static_cast<long long>(b) * N + n) * T;
    const S* q = qkv + example * width + n * D;
    const S* k = q + N * D;
    const S* v = k + N * D;
    mask += example;
    const Keys keys = keys_of(mask, T);
    read_rows(k_tile, k, width, blockIdx.x * ROWS, keys.count);
    read_rows(v_tile, v, width, blockIdx.x * ROWS, keys.count);

    float dk[OWN][PARTS] = {}, dv[OWN][PARTS] = {}, bias[OWN];
    for (int r = 0; r < OWN; r++) bias[r] = key + r < keys.count ? mask[key + r] - keys.top : LOWEST;
    const int queries = blockIdx.x * ROWS < keys.count ? T : 0;          // keys that all are padding: zeros, no work
    for (int first = 0; first < queries; first += COLUMNS) {
        __syncthreads();
        read_rows(q_tile, q, width, first, T);
        read_rows(dcontext_tile, dcontext + example * N * D + n * D, 1LL * N * D, first, T);
        __syncthreads();

        const int query = first + lane;
        const bool there = query < T;
        const float log_total = there ? lse[head + query] - keys.top : 0.0f;
        const float delta_of = there ? delta[head + query] : 0.0f;
        unsigned kept = 0;
        if (DROPOUT) kept = keep_row(dropout, b, N, T, element_of(n, query, key, T), OWN);
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
        S* dk_of = dqkv + (example + key + r) * width + N * D + n * D;
        if (key + r < T) {
            write_row(dk_of, dk[r], scale);
            write_row(dk_of + N * D, dv[r], dropout.scale);
        }
    }
}

#define KERNELS(suffix, S)                                                                                             \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
    attention_forward_##suffix(const S* qkv, const float* mask, S* context, float* lse, int T, int N, float scale,     \
                               const unsigned long long* dropout_key, unsigned long long layer,                        \
                               unsigned long long site, unsigned threshold, float keep_scale) {                        \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_forward(qkv, mask, context, lse, T, N, scale, dropout);                                              \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
    attention_backward_q_##suffix(const S* dcontext, const S* qkv, const float* mask, const S* context,                \
                                  const float* lse, S* dqkv, float* delta, int T, int N, float scale,                  \
                                  const unsigned long long* dropout_key, unsigned long long layer,                     \
                                  unsigned long long site, unsigned threshold, float keep_scale) {                     \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_backward_q(dcontext, qkv, mask, context, lse, dqkv, delta, T, N, scale, dropout);                    \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256, 1)                                                               \
    attention_backward_kv_##suffix(const S* dcontext, const S* qkv, const float* mask, const float* lse,               \
                                   const float* delta, S* dqkv, int T, int N, float scale,                             \
                                   const unsigned long long* dropout_key, unsigned long long layer,                    \
                                   unsigned long long site, unsigned threshold, float keep_scale) {                    \
        const Dropout dropout = dropout_at(dropout_key, layer, site, threshold, keep_scale);                           \
        attention_backward_kv(dcontext, qkv, mask, lse, delta, dqkv, T, N, scale, dropout);                            \
    }
KERNELS(f32, float)
KERNELS(bf16, bf16)
KERNELS(f16, f16)
