// Sums over the rows of (rows, columns), in an order that does not change from run to run: no atomics.
//
// A block of 32 × 8 threads owns 256 columns and every few of the rows. Thread (x, y) sums the eight columns from
// (32 blockIdx.x + x) · 8 on over rows 8 blockIdx.y + y, then 8 gridDim.y further, and so on; add_block_sums adds the
// eight threads of each column and leaves one row of partial sums: (gridDim.y, columns). `add_partial_sums`, in
// rows.cu, adds these up when all blocks are done.
#pragma once
#include "storage.cuh"

constexpr int TALL = 8;                                 // threads of a block that share their columns

__device__ inline int first_column() {
    return (blockIdx.x * LANES + threadIdx.x) * 8;
}

__device__ inline int first_row() {
    return blockIdx.y * TALL + threadIdx.y;
}

__device__ inline int next_row(int row) {
    return row + gridDim.y * TALL;
}

__device__ inline void add_block_sums(const float (&sums)[8], float* partial, int columns) {
    __shared__ float shared[TALL][8][LANES];
#pragma unroll
    for (int i = 0; i < 8; ++i)
        shared[threadIdx.y][i][threadIdx.x] = sums[i];
    __syncthreads();
    const int column = first_column() + threadIdx.y;    // thread (x, y) finishes the y-th of its eight
    if (column >= columns)
        return;
    float sum = 0.0f;
#pragma unroll
    for (int y = 0; y < TALL; ++y)
        sum += shared[y][threadIdx.y][threadIdx.x];
    partial[(long long)blockIdx.y * columns + column] = sum;
}
