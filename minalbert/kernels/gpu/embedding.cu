// Three tables added, and their gradients; `layers.embedding` has the formulas, cpu/embedding.py is the twin.
//
//     forward     y[b, t] = word[ids[b, t]] + position[t] + token_type[types[b, t]]
//     backward    dword[ids[b, t]] adds dy[b, t]        dposition[t] adds Σ_b dy[b, t]
//                 dtoken_type[types[b, t]] adds dy[b, t]
//
// A table's row gets the sum of dy over every place that looked it up. Threads that add to one row at once would add in
// any order, and the last bits would differ from run to run. So the places are sorted by word first, and one block adds
// up all places of a word, always in the same order. For the two small tables an array between, of each kind of segment
// and each place in the sequence the sum over the batch, is added up along the one and along the other:
//
//     by_place[s, t] = Σ_b [types[b, t] = s] dy[b, t]      dposition[t] adds Σ_s by_place[s, t]
//                                                           dtoken_type[s] adds Σ_t by_place[s, t]
//
// R = B·T   ids, types: (R,)   order: (R,), the places sorted by word, equal ones in order   y, dy: (R, E) of S
// word: (V, E)   position: (M, E)   token_type: (kinds, E)   by_place: (kinds, T, E)
#include "storage.cuh"

constexpr int ACROSS = 32;                               // threads side by side along E: a team, all of one warp
constexpr int TEAMS = 8;                                 // in a block, that share the rows of a sum

// grid: (R / 8 rounded up,)   block: (32, 8)
template <class S>
__device__ inline void embedding_forward(
    const long long* ids, const long long* types, const float* word, const float* position, const float* token_type,
    S* y, long long R, int T, int E
) {
    const long long row = static_cast<long long>(blockIdx.x) * TEAMS + threadIdx.y;
    if (row >= R) return;
    word += ids[row] * E;
    position += row % T * E;
    token_type += types[row] * E;
    y += row * E;
    for (int e = threadIdx.x; e < E; e += ACROSS) y[e] = static_cast<S>(word[e] + position[e] + token_type[e]);
}

// The sums of the block's teams, for each lane, in team 0: always added in the same order.
__device__ inline float sum_of_teams(float x) {
    __shared__ float of_team[TEAMS][ACROSS];
    __syncthreads();                                     // of_team may still be read from the last time
    of_team[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    float sum = 0.0f;
    for (int team = 0; team < TEAMS; team++) sum += of_team[team][threadIdx.x];
    return sum;
}

// The end of the run of equal words that begins at `begin` in the sorted places. All teams look at 256 at a time.
__device__ inline long long end_of_run(const long long* ids, const int* order, long long begin, long long R) {
    const long long id = ids[order[begin]];
    const int thread = threadIdx.y * ACROSS + threadIdx.x;
    for (long long at = begin + 1; at < R; at += ACROSS * TEAMS) {
        const bool same = at + thread < R && ids[order[at + thread]] == id;
        const int run = __syncthreads_count(same);       // sorted: those that are the same come first
        if (run < ACROSS * TEAMS) return at + run;
    }
    return R;
}

// grid: (R,): the block of a place where no run begins has nothing to do   block: (32, 8)
template <class S>
__device__ inline void embedding_backward_word(
    const S* dy, const long long* ids, const int* order, float* dword, long long R, int E
) {
    const long long begin = blockIdx.x, id = ids[order[begin]];
    if (begin > 0 && ids[order[begin - 1]] == id) return;
    const long long end = end_of_run(ids, order, begin, R);
    for (int first = 0; first < E; first += ACROSS) {
        const int e = first + threadIdx.x;
        float sum = 0.0f;
        if (e < E) {
            #pragma unroll 4
            for (long long i = begin + threadIdx.y; i < end; i += TEAMS) {
                sum += static_cast<float>(dy[static_cast<long long>(order[i]) * E + e]);
            }
        }
        sum = sum_of_teams(sum);
        if (threadIdx.y == 0 && e < E) dword[id * E + e] += sum;
    }
}

// grid: (T·E / 32 rounded up, kinds)   block: (32, 8)
template <class S>
__device__ inline void embedding_backward_places(
    const S* dy, const long long* types, float* by_place, int B, int T, int E
) {
    const int kind = blockIdx.y, column = blockIdx.x * ACROSS + threadIdx.x, columns = T * E;
    float sum = 0.0f;
    if (column < columns) {
        #pragma unroll 4
        for (int b = threadIdx.y; b < B; b += TEAMS) {
            const float x = static_cast<float>(dy[static_cast<long long>(b) * columns + column]);
            if (types[static_cast<long long>(b) * T + column / E] == kind) sum += x;
        }
    }
    sum = sum_of_teams(sum);
    if (threadIdx.y == 0 && column < columns) by_place[static_cast<long long>(kind) * columns + column] = sum;
}

// grid: (E / 32 rounded up, T + kinds): first the rows of dposition, then those of dtoken_type   block: (32, 8)
extern "C" __global__ void __launch_bounds__(256) embedding_backward_tables(
    const float* by_place, float* dposition, float* dtoken_type, int kinds, int T, int E
) {
    const int e = blockIdx.x * ACROSS + threadIdx.x, t = blockIdx.y, kind = t - T;
    const bool of_position = t < T;
    const int terms = of_position ? kinds : T;
    const long long first = of_position ? static_cast<long long>(t) * E : static_cast<long long>(kind) * T * E;
    const long long step = of_position ? static_cast<long long>(T) * E : E;
    float sum = 0.0f;
    if (e < E) {
        for (int i = threadIdx.y; i < terms; i += TEAMS) sum += by_place[first + i * step + e];
    }
    sum = sum_of_teams(sum);
    if (threadIdx.y > 0 || e >= E) return;
    if (of_position) {
        dposition[t * E + e] += sum;
    } else {
        dtoken_type[kind * E + e] += sum;
    }
}

#define EMBEDDING(suffix, S)                                                                                           \
    extern "C" __global__ void __launch_bounds__(256) embedding_forward_##suffix(                                      \
        const long long* ids, const long long* types, const float* word, const float* position,                        \
        const float* token_type, S* y, long long R, int T, int E                                                       \
    ) {                                                                                                                \
        embedding_forward<S>(ids, types, word, position, token_type, y, R, T, E);                                      \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) embedding_backward_word_##suffix(                                \
        const S* dy, const long long* ids, const int* order, float* dword, long long R, int E                          \
    ) {                                                                                                                \
        embedding_backward_word<S>(dy, ids, order, dword, R, E);                                                       \
    }                                                                                                                  \
    extern "C" __global__ void __launch_bounds__(256) embedding_backward_places_##suffix(                              \
        const S* dy, const long long* types, float* by_place, int B, int T, int E                                      \
    ) {                                                                                                                \
        embedding_backward_places<S>(dy, types, by_place, B, T, E);                                                    \
    }

EMBEDDING(f32, float)
EMBEDDING(bf16, bf16)
EMBEDDING(f16, f16)
