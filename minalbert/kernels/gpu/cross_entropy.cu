// The MLM loss and its gradient from logits; `layers.losses` has the formulas, cpu/cross_entropy.py is the twin.
//
//     forward     logits = z + bias          lse = log Σ_words exp(logits)          losses = lse - logits[label]
//     backward    dlogits = (exp(logits - lse) - onehot(label)) share               dbias adds Σ_k dlogits
//
// z = x tableᵀ and, after backward, dx = dlogits table and dtable adds dlogitsᵀ x are products, done elsewhere.
// Some words at a time, as many as there is memory for z: those from number `first` on. What forward knows after some
// of them it leaves in lse and losses, and goes on from there:
//
//     lse ← log(exp(lse) + Σ_these words exp(logits))       losses ← -logits[label], once it has been met
//     and with the last of `words` words   losses ← lse + losses
//
// z: (K, W) of S, becomes dlogits   bias, dbias: (words,)   labels, lse, losses, shares: (K,)
#include "storage.cuh"

constexpr int ACROSS = 32;                               // threads of a warp, side by side along the words
constexpr float LOWEST = -3.0e38f;                       // for -inf, whose difference with itself is NaN

// Σ exp(logits) of some logits is total · exp(top), with top the largest of them: so nothing overflows.
struct Sum {
    float top, total;
};

__device__ inline Sum joined(Sum a, Sum b) {
    const float top = fmaxf(a.top, b.top);
    return {top, a.total * expf(a.top - top) + b.total * expf(b.top - top)};
}

__device__ inline Sum joined_over_warp(Sum sum) {
    for (int far = ACROSS / 2; far; far /= 2) {
        const Sum other = {__shfl_xor_sync(0xffffffffu, sum.top, far), __shfl_xor_sync(0xffffffffu, sum.total, far)};
        sum = joined(sum, other);
    }
    return sum;
}

// grid: (K,)   block: whole warps
template <class S>
__device__ inline void cross_entropy_forward(
    const S* z, const float* bias, const long long* labels, float* lse, float* losses, int W, int first, int words
) {
    __shared__ Sum of_warp[32];
    const int k = blockIdx.x, warp = threadIdx.x / ACROSS;
    z += static_cast<long long>(k) * W;
    bias += first;

    Sum sum = {LOWEST, 0.0f};
    #pragma unroll 4
    for (int word = threadIdx.x; word < W; word += blockDim.x) {
        const float logit = static_cast<float>(z[word]) + bias[word];
        const float top = fmaxf(sum.top, logit);
        sum.total = sum.total * expf(sum.top - top) + expf(logit - top);
        sum.top = top;
    }
    sum = joined_over_warp(sum);
    if (threadIdx.x % ACROSS == 0) of_warp[warp] = sum;
    __syncthreads();

    if (threadIdx.x > 0) return;
    for (int i = 1; i < blockDim.x / ACROSS; i++) sum = joined(sum, of_warp[i]);
    if (first > 0) sum = joined(sum, {lse[k], 1.0f});
    lse[k] = sum.top + logf(sum.total);

    const long long label = labels[k] - first;
    float loss = first > 0 ? losses[k] : 0.0f;
    if (label >= 0 && label < W) loss = -(static_cast<float>(z[label]) + bias[label]);
    losses[k] = first + W == words ? lse[k] + loss : loss;
}

// A block does 64 words of all rows, so that it has all of their dbias.
// grid: (W / 64 rounded up,)   block: (32, 16)
constexpr int TEAMS = 16, COLUMNS = 2 * ACROSS;

template <class S>
__device__ inline void cross_entropy_backward(
    S* z, const float* bias, const long long* labels, const float* shares, const float* lse, float* dbias,
    int K, int W, int first
) {
    __shared__ float of_team[TEAMS][COLUMNS];
    float sums[2] = {0.0f, 0.0f};
    #pragma unroll 2
    for (int k = threadIdx.y; k < K; k += TEAMS) {
        const long long label = labels[k] - first;
        #pragma unroll
        for (int half = 0; half < 2; half++) {
            const int word = blockIdx.x * COLUMNS + half * ACROSS + threadIdx.x;
            if (word >= W) continue;
            S& place = z[static_cast<long long>(k) * W + word];
            const float p = expf(static_cast<float>(place) + bias[first + word] - lse[k]);
            const float dlogit = (p - (word == label ? 1.0f : 0.0f)) * shares[k];
            place = static_cast<S>(dlogit);
            sums[half] += dlogit;
        }
    }

    of_team[threadIdx.y][threadIdx.x] = sums[0];
    of_team[threadIdx.y][ACROSS + threadIdx.x] = sums[1];
    __syncthreads();
    const int column = threadIdx.y * ACROSS + threadIdx.x, word = blockIdx.x * COLUMNS + column;
    if (column >= COLUMNS || word >= W) return;
    float sum = 0.0f;
    for (int team = 0; team < TEAMS; team++) sum += of_team[team][column];
    dbias[first + word] += sum;
}

#define CROSS_ENTROPY(suffix, S)                                                                                       \
    extern "C" __global__ void __launch_bounds__(1024) cross_entropy_forward_##suffix(                                 \
        const S* z, const float* bias, const long long* labels, float* lse, float* losses,                             \
        int W, int first, int words                                                                                    \
    ) {                                                                                                                \
        cross_entropy_forward<S>(z, bias, labels, lse, losses, W, first, words);                                       \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(512) cross_entropy_backward_##suffix(                                 \
        S* z, const float* bias, const long long* labels, const float* shares, const float* lse, float* dbias,         \
        int K, int W, int first                                                                                        \
    ) {                                                                                                                \
        cross_entropy_backward<S>(z, bias, labels, shares, lse, dbias, K, W, first);                                   \
    }

CROSS_ENTROPY(f32, float)
CROSS_ENTROPY(bf16, bf16)
CROSS_ENTROPY(f16, f16)
