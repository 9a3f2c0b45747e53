// y = gelu(u + bias), and its way back; layers/gelu.py has the formulas.
//
//     forward     x = u + bias        y = gelu(x)
//     backward    dy becomes du = dy gelu'(x)        u becomes y        dbias adds Σ_rows du
//
// u, y, dy: (rows, columns) S   bias: (columns,)   partial: (gridDim.y, columns), du's sums over each block's rows
//
// In the tanh form ½ (1 + tanh v) = 1 / (1 + exp(-2v)) = s: one exponential and one division, and nothing cancels
// where s is small. 1 - tanh² v = 4 s (1 - s).
//
// NVRTC: at most 64 registers
#include "column_sums.cuh"

struct Value {
    float y, slope;                                     // gelu(x), gelu'(x); what is not used is not computed
};

struct Tanh {
    static __device__ Value gelu(float x) {
        const float C = 0.7978845608028654f, A = 0.044715f;             // C = √(2/π)
        const float v = C * x * (1.0f + A * x * x);
        const float e = __expf(fminf(-2.0f * v, 80.0f));                // bounded: e s stays a number
        const float s = __fdividef(1.0f, 1.0f + e);                     // ½ (1 + tanh v)
        const float dv = C * (1.0f + 3.0f * A * x * x);
        return {x * s, s + 2.0f * x * (s * (e * s)) * dv};              // e s = 1 - s
    }
};

struct Erf {
    static __device__ Value gelu(float x) {
        const float cdf = 0.5f * (1.0f + erff(x * 0.7071067811865476f));
        const float pdf = 0.3989422804014327f * __expf(-0.5f * x * x);  // exp(-x²/2) / √(2π)
        return {x * cdf, cdf + x * pdf};
    }
};

// A block: 32 × 8 threads, eight columns each (column_sums.cuh).
template <class Form, class S>
__device__ inline void forward(const S* u, const float* bias, S* y, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = takes_sixteen_bytes(columns, u, bias, y);
    if (count <= 0)
        return;
    float b[8];
    load_eight(bias + c, count, wide, b);
    for (int row = first_row(); row < rows; row = next_row(row)) {
        const long long place = (long long)row * columns + c;
        float x[8];
        load_eight(u + place, count, wide, x);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            x[i] = Form::gelu(x[i] + b[i]).y;
        store_eight(y + place, count, wide, x);
    }
}

template <class Form, class S>
__device__ inline void backward(S* dy, S* u, const float* bias, float* partial, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = takes_sixteen_bytes(columns, dy, u, bias);
    float b[8], dbias[8] = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    load_eight(bias + c, count, wide, b);
    for (int row = first_row(); row < rows && count > 0; row = next_row(row)) {
        const long long place = (long long)row * columns + c;
        float x[8], d[8];
        load_eight(u + place, count, wide, x);
        load_eight(dy + place, count, wide, d);
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const Value value = Form::gelu(x[i] + b[i]);
            x[i] = value.y;
            d[i] *= value.slope;                        // du
            dbias[i] += d[i];
        }
        store_eight(u + place, count, wide, x);
        store_eight(dy + place, count, wide, d);
    }
    add_block_sums(dbias, partial, columns);
}

#define GELU(suffix, S, form, Form)                                                                                  \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    gelu_forward_##form##_##suffix(const S* u, const float* bias, S* y, int rows, int columns) {                     \
        forward<Form>(u, bias, y, rows, columns);                                                                    \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    gelu_backward_##form##_##suffix(S* dy, S* u, const float* bias, float* partial, int rows, int columns) {         \
        backward<Form>(dy, u, bias, partial, rows, columns);                                                         \
    }

GELU(f32, float, tanh, Tanh)
GELU(f32, float, erf, Erf)
GELU(bf16, bf16, tanh, Tanh)
GELU(bf16, bf16, erf, Erf)
GELU(f16, f16, tanh, Tanh)
GELU(f16, f16, erf, Erf)
