// Operations on rows of numbers; cpu/rows.py is the twin, of norm_output cpu/norm.py.
//
//     add_bias        x becomes x + bias                  column_sums     sums adds Σ_rows x
//     drop            x becomes dropout(x)                take            out[k] = x[numbers[k]]
//     norm_output     out = x gain + bias
//     add_rows        x[numbers[k]] adds updates[k]; a row that is named twice gets both, in their order
//
// x, out, updates: (rows, columns) S, out and updates also float32   gain, bias, sums: (columns,)
// in add_bias and column_sums row r begins at r · stride
//
// NVRTC: at most 64 registers
#include "column_sums.cuh"
#include "philox.cuh"

template <class S>
__device__ inline void add_bias(S* x, const float* bias, long long stride, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = stride % 8 == 0 && takes_sixteen_bytes(columns, x, bias);
    if (count <= 0)
        return;
    float b[8], values[8];
    load_eight(bias + c, count, wide, b);
    for (int row = first_row(); row < rows; row = next_row(row)) {
        load_eight(x + row * stride + c, count, wide, values);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            values[i] += b[i];
        store_eight(x + row * stride + c, count, wide, values);
    }
}

template <class S>
__device__ inline void norm_output(const S* x, const float* gain, const float* bias, S* out, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = takes_sixteen_bytes(columns, x, gain, bias, out);
    if (count <= 0)
        return;
    float g[8], b[8], values[8];
    load_eight(gain + c, count, wide, g);
    load_eight(bias + c, count, wide, b);
    for (int row = first_row(); row < rows; row = next_row(row)) {
        load_eight(x + (long long)row * columns + c, count, wide, values);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            values[i] = values[i] * g[i] + b[i];
        store_eight(out + (long long)row * columns + c, count, wide, values);
    }
}

// partial: (gridDim.y, columns)
template <class S>
__device__ inline void column_sums(const S* x, float* partial, long long stride, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = stride % 8 == 0 && takes_sixteen_bytes(columns, x);
    float sums[8] = {}, values[8];
    for (int row = first_row(); row < rows && count > 0; row = next_row(row)) {
        load_eight(x + row * stride + c, count, wide, values);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            sums[i] += values[i];
    }
    add_block_sums(sums, partial, columns);
}

// sums_i adds partial[i].sum(0), i = blockIdx.y; one that is null is left out.   partial: (gridDim.y, slabs, columns)
// A block of 32 × 32 threads: 32 columns, every 32nd row of partial sums each, then a warp adds a column's 32.
extern "C" __global__ void __launch_bounds__(1024)
add_partial_sums(const float* partial, float* sums0, float* sums1, float* sums2, int slabs, int columns) {
    __shared__ float shared[LANES][LANES + 1];
    float* sums = blockIdx.y == 0 ? sums0 : blockIdx.y == 1 ? sums1 : sums2;
    if (!sums)
        return;
    const int column = blockIdx.x * LANES + threadIdx.x;
    float sum = 0.0f;
    for (int slab = threadIdx.y; slab < slabs && column < columns; slab += LANES)
        sum += partial[((long long)blockIdx.y * slabs + slab) * columns + column];
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    const int mine = blockIdx.x * LANES + threadIdx.y;   // the column that this warp adds up
    sum = warp_sum(shared[threadIdx.x][threadIdx.y]);
    if (threadIdx.x == 0 && mine < columns)
        sums[mine] += sum;
}

// Row r is token r mod length of example r / length, and element t · columns + c of it is column c of token t.
template <class S>
__device__ inline void drop(S* x, const unsigned long long* dropout_key, unsigned long long layer,
                            unsigned long long site, unsigned threshold, float scale, int length, int rows,
                            int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = takes_sixteen_bytes(columns, x);
    if (count <= 0)
        return;
    const DropoutKey key = key_at(dropout_key, layer, site);
    for (int row = first_row(); row < rows; row = next_row(row)) {
        const unsigned long long first = first_block(row / length, (long long)length * columns);
        const EightNumbers numbers = eight_numbers(key, first, (long long)(row % length) * columns + c);
        S* here = x + (long long)row * columns + c;
        float values[8];
        load_eight(here, count, wide, values);
#pragma unroll
        for (int i = 0; i < 8; ++i)
            values[i] = numbers.number(i) >= threshold ? values[i] * scale : 0.0f;
        store_eight(here, count, wide, values);
    }
}

template <class S, class Out>
__device__ inline void take(const S* x, const long long* numbers, Out* out, int rows, int columns) {
    const int c = first_column(), count = columns - c;
    const bool wide = takes_sixteen_bytes(columns, x, out);
    if (count <= 0)
        return;
    for (int row = first_row(); row < rows; row = next_row(row)) {
        float values[8];
        load_eight(x + numbers[row] * columns + c, count, wide, values);
        store_eight(out + (long long)row * columns + c, count, wide, values);
    }
}

// A warp for each k: if no earlier k names its row, it adds this update and all later ones of the row.
template <class S, class Update>
__device__ inline void add_rows(S* x, const long long* numbers, const Update* updates, int rows, int columns) {
    const int k = blockIdx.x * blockDim.y + threadIdx.y, lane = threadIdx.x;
    if (k >= rows)
        return;
    const long long number = numbers[k];
    const bool wide = takes_sixteen_bytes(columns, x, updates);
    for (int start = 0; start < k; start += LANES)
        if (__ballot_sync(0xffffffffu, start + lane < k && numbers[start + lane] == number))
            return;
    for (int start = k / LANES * LANES; start < rows; start += LANES) {
        const int other = start + lane;
        unsigned named = __ballot_sync(0xffffffffu, other >= k && other < rows && numbers[other] == number);
        for (; named; named &= named - 1) {             // the lowest bit first
            const Update* update = updates + (long long)(start + __ffs(named) - 1) * columns;
            for (int c = lane * 8; c < columns; c += LANES * 8) {
                float sum[8], values[8];
                load_eight(x + number * columns + c, columns - c, wide, sum);
                load_eight(update + c, columns - c, wide, values);
#pragma unroll
                for (int i = 0; i < 8; ++i)
                    sum[i] += values[i];
                store_eight(x + number * columns + c, columns - c, wide, sum);
            }
        }
    }
}

#define ROWS(suffix, S)                                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    add_bias_##suffix(S* x, const float* bias, long long stride, int rows, int columns) {                            \
        add_bias(x, bias, stride, rows, columns);                                                                    \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    norm_output_##suffix(const S* x, const float* gain, const float* bias, S* out, int rows, int columns) {          \
        norm_output(x, gain, bias, out, rows, columns);                                                              \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    column_sums_##suffix(const S* x, float* partial, long long stride, int rows, int columns) {                      \
        column_sums(x, partial, stride, rows, columns);                                                              \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    drop_##suffix(S* x, const unsigned long long* dropout_key, unsigned long long layer, unsigned long long site,    \
                  unsigned threshold, float scale, int length, int rows, int columns) {                              \
        drop(x, dropout_key, layer, site, threshold, scale, length, rows, columns);                                  \
    }

#define NUMBERED_ROWS(suffix, S, Other)                                                                              \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    take_##suffix(const S* x, const long long* numbers, Other* out, int rows, int columns) {                         \
        take(x, numbers, out, rows, columns);                                                                        \
    }                                                                                                                \
    extern "C" __global__ void __launch_bounds__(256)                                                                \
    add_rows_##suffix(S* x, const long long* numbers, const Other* updates, int rows, int columns) {                 \
        add_rows(x, numbers, updates, rows, columns);                                                                \
    }

ROWS(f32, float)
ROWS(bf16, bf16)
ROWS(f16, f16)
NUMBERED_ROWS(f32, float, float)
NUMBERED_ROWS(bf16, bf16, bf16)
NUMBERED_ROWS(f16, f16, f16)
NUMBERED_ROWS(bf16_f32, bf16, float)
NUMBERED_ROWS(f16_f32, f16, float)

// dropout_key[0..2], as philox.cuh reads it, written in the order of the CUDA stream with the kernels that read it.
extern "C" __global__ void write_key(unsigned long long* dropout_key, unsigned long long seed, unsigned long long step,
                                     unsigned long long example) {
    dropout_key[0] = seed;
    dropout_key[1] = step;
    dropout_key[2] = example;
}

// order: the places (0 to R - 1) sorted by word, equal ones in order. A place's number in it is how many come before:
// smaller words, and the same word earlier. R² comparisons are soon done, and need no memory but the result.
// grid: (R / 128 rounded up,)   block: 128
extern "C" __global__ void __launch_bounds__(128) sort_places(const long long* ids, int* order, int R) {
    __shared__ long long shared[128];
    const int place = blockIdx.x * 128 + threadIdx.x;
    const long long mine = place < R ? ids[place] : 0;
    int before = 0;
    for (int start = 0; start < R; start += 128) {
        __syncthreads();
        if (start + (int)threadIdx.x < R)
            shared[threadIdx.x] = ids[start + threadIdx.x];
        __syncthreads();
        const int count = min(128, R - start);
#pragma unroll 8
        for (int i = 0; i < count; ++i)
            before += shared[i] < mine || (shared[i] == mine && start + i < place);
    }
    if (place < R)
        order[before] = place;
}
