// LAMB over the flat vector of all weights in two launches; `optim.lamb` has the mathematics and is the twin.
//
//     m ← β₁ m + (1 - β₁) g            g: the gradient times *scale
//     v ← β₂ v + (1 - β₂) g²
//     u = m c₁ / (√v c₂ + ε) + λ w
//     r = ‖w‖ / ‖u‖                    of each tensor; 1 if either norm is zero; at most `clamp`
//     w ← w - rate r u
//
// The vector is cut into chunks, no chunk part of two tensors, and a block does one chunk. lamb_moments finds m and v,
// and each chunk's Σ w² and Σ u²; lamb_step adds up those of its tensor, in the same order in every block, and takes
// the step. It makes u anew from m and v: to read them is no more than to have written u and read it.
//
// *scale is in device memory, so that nobody waits for the gradient's norm (gradient_squares, gradient_scale).
// Where it is not finite neither kernel changes anything: the step is skipped.
//
// w, g, m, v, half: (N,)   start, length, tensor: (chunks,)   squares: (chunks, 2)
// first, count, adapted: (tensors,): which chunks are a tensor's, and whether it has decay and a ratio
// ratios: (tensors,)       grid: (chunks,)   block: 256
#include "storage.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

// The block's sum, in every thread. Always added in the same order.
__device__ inline double sum_of_block(double x) {
    __shared__ double of_warp[WARPS];
    for (int far = 16; far; far /= 2) x += __shfl_xor_sync(0xffffffffu, x, far);
    __syncthreads();                                     // of_warp may still be read from the last time
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = x;
    __syncthreads();
    double sum = 0.0;
    for (int warp = 0; warp < WARPS; warp++) sum += of_warp[warp];
    return sum;
}

__device__ inline bool is_finite(float x) {
    return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u;
}

__device__ inline float direction(float w, float m, float v, float c1, float c2, float epsilon, float decay) {
    return m * c1 / (sqrtf(v) * c2 + epsilon) + decay * w;
}

// Each chunk's Σ g².
extern "C" __global__ void __launch_bounds__(256) gradient_squares(
    const float* g, const long long* start, const int* length, double* squares
) {
    g += start[blockIdx.x];
    double sum = 0.0;
    #pragma unroll 4
    for (int i = threadIdx.x; i < length[blockIdx.x]; i += THREADS) sum += static_cast<double>(g[i]) * g[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

// norm = unscale √(Σ g²)        scale = unscale limit / max(norm, limit), with a limit of 0 unscale alone
// NaN for scale where the norm is not finite. One block.
extern "C" __global__ void __launch_bounds__(256) gradient_scale(
    const double* squares, int chunks, double unscale, double limit, double* norm, float* scale
) {
    double sum = 0.0;
    for (int i = threadIdx.x; i < chunks; i += THREADS) sum += squares[i];
    sum = unscale * sqrt(sum_of_block(sum));
    if (threadIdx.x > 0) return;
    *norm = sum;
    *scale = static_cast<float>(limit > 0.0 ? unscale * (limit / fmax(sum, limit)) : unscale);
    if (!(sum - sum == 0.0)) *scale = __uint_as_float(0x7fc00000u);      // inf - inf is NaN, and NaN equals nothing
}

extern "C" __global__ void __launch_bounds__(256) lamb_moments(
    const float* w, const float* g, float* m, float* v,
    const long long* start, const int* length, double* squares,
    const float* scale, float beta1, float rest1, float beta2, float rest2,
    float c1, float c2, float epsilon, float decay
) {
    if (!is_finite(*scale)) return;
    const long long begin = start[blockIdx.x];
    const float by = *scale;
    w += begin, g += begin, m += begin, v += begin;

    double w_square = 0.0, u_square = 0.0;               // of tensors without a ratio nobody asks for them
    #pragma unroll 4
    for (int i = threadIdx.x; i < length[blockIdx.x]; i += THREADS) {
        const float gradient = g[i] * by;
        const float mean = beta1 * m[i] + rest1 * gradient;
        const float square = beta2 * v[i] + rest2 * (gradient * gradient);
        const float u = direction(w[i], mean, square, c1, c2, epsilon, decay);
        m[i] = mean;
        v[i] = square;
        w_square += static_cast<double>(w[i]) * w[i];
        u_square += static_cast<double>(u) * u;
    }

    w_square = sum_of_block(w_square);
    u_square = sum_of_block(u_square);
    if (threadIdx.x == 0) {
        squares[2 * blockIdx.x] = w_square;
        squares[2 * blockIdx.x + 1] = u_square;
    }
}

// r of the chunk's tensor, in every thread.
__device__ inline double trust_ratio(const double* squares, int first, int count, double clamp) {
    double w_square = 0.0, u_square = 0.0;
    for (int chunk = first + threadIdx.x; chunk < first + count; chunk += THREADS) {
        w_square += squares[2 * chunk];
        u_square += squares[2 * chunk + 1];
    }
    w_square = sum_of_block(w_square);
    u_square = sum_of_block(u_square);
    double ratio = 1.0;
    if (w_square > 0.0 && u_square > 0.0) ratio = sqrt(w_square) / sqrt(u_square);
    return ratio > clamp ? clamp : ratio;                // not fmin: it would hide a NaN
}

// half becomes w in 16 bits, for the matrix products; it may be null.
template <class S>
__device__ inline void lamb_step(
    float* w, S* half, const float* m, const float* v, const long long* start, const int* length, const int* tensor,
    const int* first, const int* count, const int* adapted, const double* squares, double* ratios,
    const float* scale, float c1, float c2, float epsilon, float decay, double rate, double clamp
) {
    if (!is_finite(*scale)) return;
    const int which = tensor[blockIdx.x];
    double ratio = 1.0;
    if (adapted[which]) ratio = trust_ratio(squares, first[which], count[which], clamp);
    if (threadIdx.x == 0 && first[which] == blockIdx.x) ratios[which] = ratio;

    const long long begin = start[blockIdx.x];
    const float far = static_cast<float>(rate * ratio), decayed = adapted[which] ? decay : 0.0f;
    w += begin, m += begin, v += begin;
    #pragma unroll 4
    for (int i = threadIdx.x; i < length[blockIdx.x]; i += THREADS) {
        const float moved = w[i] - far * direction(w[i], m[i], v[i], c1, c2, epsilon, decayed);
        w[i] = moved;
        if (half) half[begin + i] = static_cast<S>(moved);
    }
}

#define LAMB_STEP(suffix, S)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256) lamb_step_##suffix(                                              \
        float* w, S* half, const float* m, const float* v,                                                             \
        const long long* start, const int* length, const int* tensor,                                                  \
        const int* first, const int* count, const int* adapted, const double* squares, double* ratios,                 \
        const float* scale, float c1, float c2, float epsilon, float decay, double rate, double clamp                  \
    ) {                                                                                                                \
        lamb_step<S>(w, half, m, v, start, length, tensor, first, count, adapted, squares, ratios,                     \
                     scale, c1, c2, epsilon, decay, rate, clamp);                                                      \
    }

LAMB_STEP(f32, float)
LAMB_STEP(bf16, bf16)
LAMB_STEP(f16, f16)
