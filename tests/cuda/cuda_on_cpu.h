// CUDA C on the CPU, for tests: put before a .cu file, this header lets g++ compile it.
//
// A GPU runs the threads of a block side by side. Here each is a fiber: a function with a stack of its own, which can
// stop in the middle, let another go on, and later continue where it stopped. Nothing runs at the same time as
// anything else; a kernel's logic does not need that. It needs that no thread passes a barrier before all have come
// to it, and a fiber at a barrier does just this: it notes that it has come, and gives way until all have.
//
//     launch        for each block: make a fiber for each thread; then, round after round, let each run
//                   until it gives way or ends; a round in which nothing at all happened is a deadlock
//     give_way      from a fiber back to the round
//     meet          the barrier: come, and give way until all have come. Of a block: __syncthreads; of a warp of
//                   32 threads: __syncwarp and, with values left for the others to read, the shuffles
//
// To switch from one fiber to another is to save the registers that a called function must keep, and to take up the
// other's stack pointer: a dozen instructions (switch_stack).
//
// What a GPU leaves open is made as bad as it may be, so that a test fails where a GPU might have been kind:
//   order         0: threads and blocks in order. 1: backwards. 2 and above: drawn anew each round, from that seed,
//                 and a warp goes on alone as far as it can. A forgotten barrier often shows in these alone.
//   shared memory starts as NaN (all bits one) in every block.
//   cp.async      copies nothing before it is waited for, and nothing that does not lie on a multiple of its size.
//   a barrier to which threads come on different lines is an error, as is one that some never reach.
// There are no atomics here: the order of their sums is nobody's choice, and our results are to be the same twice.
//
// Not shown: what depends on the memory model (a missing __threadfence), on blocks at work at the same time, on the
// accuracy of the GPU's own exp and its like, and anything about speed.
#pragma once
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#define CUDA_ON_CPU 1
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
// Thread-local variables of a library lie side by side, where they can be made NaN: all our fibers are one thread.
// The sanitizers watch the edges of plain static ones.
#ifdef __SANITIZE_ADDRESS__
#define __shared__ static
#else
#define __shared__ static thread_local
#endif
#define DYN_SHARED(type, name) type* name = reinterpret_cast<type*>(shim::state.dynamic_shared)

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};

#define VECTORS(type, name)                                                                              \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };                                               \
  struct alignas(4 * sizeof(type)) name##4 { type x, y, z, w; };                                         \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }                                       \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
VECTORS(float, float)
VECTORS(int, int)
VECTORS(unsigned, uint)
VECTORS(unsigned short, ushort)
#undef VECTORS

namespace shim {

constexpr unsigned WARP = 32;
#ifdef __SANITIZE_ADDRESS__
constexpr size_t STACK = 256 << 10;
#else
constexpr size_t STACK = 64 << 10;
#endif
constexpr uint64_t CANARY = 0x5afe5afe5afe5afeull;       // at a stack's far end: there as long as nothing outgrew it

struct Barrier {
  unsigned members = 0, come = 0, turn = 0;
  unsigned votes[3] = {};                                // of this turn, and of the turns before and after it
  int line = 0;
};

struct Warp {
  Barrier barrier;
  uint64_t values[2][WARP][2];                           // what each lane left: two sets in turn, up to 16 bytes each
};

struct Copy {
  void* to;
  const void* from;
  size_t bytes, valid;                                   // zeros behind the valid ones
};

struct Fiber {
  void* stack_pointer = nullptr;
  char* stack = nullptr;
  bool done = false;
  uint3 thread;
  unsigned lane = 0, warp = 0, exchanges = 0;
  std::vector<std::vector<Copy>> copies;                 // groups of cp.async under way; the last one is still open
};

struct State {
  std::vector<Fiber> fibers;
  std::vector<Warp> warps;
  std::vector<unsigned> order_of_threads;
  Barrier block_barrier;
  dim3 grid, block;
  uint3 block_index;
  char* dynamic_shared = nullptr;
  unsigned current = 0, living = 0;
  bool progress = false;
  int order = 0;
  uint64_t random = 0;
  void* scheduler = nullptr;                             // its stack pointer, while a fiber runs
  void (*body)(void*) = nullptr;
  void* arguments = nullptr;
  const char* error = nullptr;
};
static State state;
static thread_local volatile char in_thread_memory;      // writing to it makes sure that there is such memory

inline Fiber& me() { return state.fibers[state.current]; }

// ---------------------------------------------------------------------------------------------------- switching

// Save the registers on this stack and its pointer in *from; go on where the stack `to` was left.
extern "C" void switch_stack(void** from, void* to);

#if defined(__x86_64__)
asm(R"(
.text
.weak switch_stack
.type switch_stack, @function
switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

inline void* fresh_stack(char* stack, void (*start)()) {
  void** top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + STACK) & ~uintptr_t(15));
  *--top = nullptr;                                      // where `start` would return to: it never does
  *--top = reinterpret_cast<void*>(start);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  return top;
}
#elif defined(__aarch64__)
asm(R"(
.text
.weak switch_stack
.type switch_stack, %function
switch_stack:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x2, sp
  str x2, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
)");

inline void* fresh_stack(char* stack, void (*start)()) {
  char* top = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(stack + STACK) & ~uintptr_t(15)) - 160;
  memset(top, 0, 160);
  *reinterpret_cast<void**>(top + 88) = reinterpret_cast<void*>(start);
  return top;
}
#else
#error "the fibers are written for x86-64 and aarch64"
#endif

inline void give_way() { switch_stack(&me().stack_pointer, state.scheduler); }

// ----------------------------------------------------------------------------------------------------- barriers

inline void open_if_all_have_come(Barrier& barrier) {
  if (barrier.members == 0 || barrier.come < barrier.members) return;
  barrier.come = 0;
  ++barrier.turn;
  barrier.votes[(barrier.turn + 1) % 3] = 0;
  state.progress = true;
}

// How many of those that come vote yes.
inline unsigned meet(Barrier& barrier, int line, bool vote = false) {
  if (barrier.come == 0) barrier.line = line;
  if (barrier.line != line) state.error = "threads came to one barrier on different lines of the code";
  const unsigned turn = barrier.turn;
  barrier.votes[turn % 3] += vote;
  ++barrier.come;
  open_if_all_have_come(barrier);
  while (barrier.turn == turn) give_way();
  return barrier.votes[turn % 3];
}

// Leave a value for the other lanes of the warp, and wait for theirs. A set of values is written anew only two
// exchanges later, when all have read it.
typedef uint64_t (*Values)[2];

template <class T> Values publish(T value, int line = __builtin_LINE()) {
  static_assert(sizeof(T) <= 16, "a lane leaves at most 16 bytes");
  Fiber& fiber = me();
  Warp& warp = state.warps[fiber.warp];
  Values values = warp.values[fiber.exchanges++ & 1];
  memcpy(values[fiber.lane], &value, sizeof(T));
  meet(warp.barrier, line);
  return values;
}

template <class T> T peek(Values values, unsigned lane) {
  T value;
  memcpy(&value, values[lane & (WARP - 1)], sizeof(T));
  return value;
}

// -------------------------------------------------------------------------------------------------- async copies

inline void copy_async(void* to, const void* from, size_t bytes, size_t valid) {
  if ((reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from)) % bytes) state.error = "a misaligned copy";
  auto& groups = me().copies;
  if (groups.empty()) groups.emplace_back();
  groups.back().push_back({to, from, bytes, valid});
}

inline void copy_commit() {
  auto& groups = me().copies;
  if (groups.empty()) groups.emplace_back();
  groups.emplace_back();
}

// All groups are done but the `pending` newest that were committed.
inline void copy_wait(size_t pending) {
  auto& groups = me().copies;
  while (groups.size() > pending + 1) {
    for (const Copy& copy : groups.front()) {
      memcpy(copy.to, copy.from, copy.valid);
      memset(static_cast<char*>(copy.to) + copy.valid, 0, copy.bytes - copy.valid);
    }
    groups.erase(groups.begin());
  }
}

// ------------------------------------------------------------------------------------------------------- launch

inline uint64_t draw() {                                 // xorshift
  state.random ^= state.random << 13;
  state.random ^= state.random >> 7;
  state.random ^= state.random << 17;
  return state.random;
}

inline void shuffle(std::vector<unsigned>& list) {
  for (size_t i = list.size(); i > 1; i--) std::swap(list[i - 1], list[draw() % i]);
}

inline std::vector<unsigned> ordered(unsigned count) {
  std::vector<unsigned> list(count);
  std::iota(list.begin(), list.end(), 0u);
  if (state.order == 1) std::reverse(list.begin(), list.end());
  if (state.order >= 2) shuffle(list);
  return list;
}

// A thread that has ended counts as come to every barrier, as on the GPU.
inline void run_thread() {
  state.body(state.arguments);
  Fiber& fiber = me();
  Barrier& of_warp = state.warps[fiber.warp].barrier;
  fiber.done = state.progress = true;
  --state.living;
  --of_warp.members;
  --state.block_barrier.members;
  open_if_all_have_come(of_warp);
  open_if_all_have_come(state.block_barrier);
  for (;;) give_way();
}

inline void make_fibers() {
  const unsigned count = state.block.x * state.block.y * state.block.z;
  while (state.fibers.size() < count) {
    state.fibers.emplace_back();
    state.fibers.back().stack = static_cast<char*>(malloc(STACK));
  }
  state.warps.assign((count + WARP - 1) / WARP, Warp{});
  state.block_barrier = Barrier{};
  state.block_barrier.members = state.living = count;
  for (unsigned i = 0; i < count; i++) {
    Fiber& fiber = state.fibers[i];
    fiber.done = false;
    fiber.exchanges = 0;
    fiber.copies.clear();
    fiber.thread = {i % state.block.x, i / state.block.x % state.block.y, i / (state.block.x * state.block.y)};
    fiber.lane = i % WARP;
    fiber.warp = i / WARP;
    ++state.warps[fiber.warp].barrier.members;
    memcpy(fiber.stack, &CANARY, sizeof CANARY);
    fiber.stack_pointer = fresh_stack(fiber.stack, run_thread);
  }
  state.order_of_threads = ordered(count);
}

inline void run(const std::vector<unsigned>& threads) {
  for (unsigned i : threads) {
    state.current = i;
    if (!me().done && !state.error) switch_stack(&state.scheduler, me().stack_pointer);
  }
}

// One warp after the other, each as far as it can come: who is last at a barrier is far ahead of the rest behind it.
inline bool run_warps() {
  bool progress = false;
  for (unsigned warp : ordered(state.warps.size())) {
    std::vector<unsigned> threads;
    for (unsigned i : state.order_of_threads)
      if (state.fibers[i].warp == warp) threads.push_back(i);
    do {
      state.progress = false;
      shuffle(threads);
      run(threads);
      progress |= state.progress;
    } while (state.progress && !state.error);
  }
  return progress;
}

inline bool run_round() {
  if (state.order >= 2) return run_warps();
  state.progress = false;
  run(state.order_of_threads);
  return state.progress;
}

inline void run_block() {
  make_fibers();
  while (state.living && !state.error)
    if (!run_round() && !state.error)
      state.error = "deadlock: some threads wait at a barrier that others never reach";
  for (unsigned i : state.order_of_threads)
    if (memcmp(state.fibers[i].stack, &CANARY, sizeof CANARY)) state.error = "a thread's stack is too small";
}

// The thread-local variables of this library: its __shared__ ones.
inline int find_shared(dl_phdr_info* library, size_t, void* found) {
  Dl_info mine;
  dladdr(reinterpret_cast<void*>(&find_shared), &mine);
  if (reinterpret_cast<void*>(library->dlpi_addr) != mine.dli_fbase) return 0;
  for (int i = 0; i < library->dlpi_phnum; i++)
    if (library->dlpi_phdr[i].p_type == PT_TLS)
      *static_cast<std::pair<void*, size_t>*>(found) = {library->dlpi_tls_data, library->dlpi_phdr[i].p_memsz};
  return 1;
}

inline void run_grid(size_t dynamic_bytes) {
  in_thread_memory = 0;
  std::pair<void*, size_t> shared{nullptr, 0};
  dl_iterate_phdr(find_shared, &shared);
  for (unsigned i : ordered(state.grid.x * state.grid.y * state.grid.z)) {
    state.block_index = {i % state.grid.x, i / state.grid.x % state.grid.y, i / (state.grid.x * state.grid.y)};
    void* dynamic = nullptr;
    if (posix_memalign(&dynamic, 128, dynamic_bytes + !dynamic_bytes)) state.error = "out of memory";
    memset(dynamic, 0xff, dynamic_bytes);
    if (shared.first) memset(shared.first, 0xff, shared.second);
    state.dynamic_shared = static_cast<char*>(dynamic);
    run_block();
    free(dynamic);
    if (state.error) break;
  }
  if (!state.error) return;
  for (Fiber& fiber : state.fibers) free(fiber.stack);   // some were left in the middle
  state.fibers.clear();
}

template <class... A, size_t... I>
void call(void (*kernel)(A...), void** arguments, std::index_sequence<I...>) {
  kernel(*reinterpret_cast<std::decay_t<A>*>(arguments[I])...);
}

// nullptr, or what went wrong
template <class... A>
const char* launch(void (*kernel)(A...), const unsigned* grid, const unsigned* block, size_t dynamic_bytes,
                   void** arguments, int order) {
  struct Call {
    void (*kernel)(A...);
    void** arguments;
  } call_of_kernel{kernel, arguments};
  state.body = [](void* pointer) {
    Call* it = static_cast<Call*>(pointer);
    call(it->kernel, it->arguments, std::index_sequence_for<A...>{});
  };
  state.arguments = &call_of_kernel;
  state.grid = dim3(grid[0], grid[1], grid[2]);
  state.block = dim3(block[0], block[1], block[2]);
  state.order = order;
  state.random = 88172645463325252ull + order;
  state.error = nullptr;
  run_grid(dynamic_bytes);
  return state.error;
}

// The parameters' types in NumPy's letters: "f4 i4 *f4 *x2 ...", x for a struct, * for a pointer.
template <class T> void describe(std::vector<char>& text) {
  using Plain = std::remove_cv_t<std::remove_reference_t<T>>;
  if constexpr (std::is_pointer_v<Plain>) {
    text.push_back('*');
    describe<std::remove_pointer_t<Plain>>(text);
  } else {
    const bool whole = std::is_integral_v<Plain>;
    text.push_back(std::is_floating_point_v<Plain> ? 'f' : !whole ? 'x' : std::is_signed_v<Plain> ? 'i' : 'u');
    text.push_back(char('0' + sizeof(Plain)));
    text.push_back(' ');
  }
}

template <class... A> const char* signature(void (*)(A...)) {
  static std::vector<char> text;
  text.clear();
  (describe<A>(text), ...);
  text.push_back(0);
  return text.data();
}

}  // namespace shim

// ------------------------------------------------------------------------------------------- the names of CUDA C

#define threadIdx (shim::me().thread)
#define blockIdx (shim::state.block_index)
#define blockDim (shim::state.block)
#define gridDim (shim::state.grid)
constexpr int warpSize = shim::WARP;

inline void __syncthreads(int line = __builtin_LINE()) { shim::meet(shim::state.block_barrier, line); }
inline int __syncthreads_count(int vote, int line = __builtin_LINE()) {
  return shim::meet(shim::state.block_barrier, line, vote != 0);
}
inline void __syncwarp(unsigned = 0xffffffffu, int line = __builtin_LINE()) {
  shim::meet(shim::state.warps[shim::me().warp].barrier, line);
}
inline void __threadfence() {}
inline void __threadfence_block() {}

// All 32 lanes take part, whatever the mask says; `width` lanes at a time, as in CUDA.
template <class T>
T __shfl_sync(unsigned, T value, int from, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = shim::me().lane;
  return shim::peek<T>(shim::publish(value, line), (lane & ~(width - 1)) | (from & (width - 1)));
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int flip, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = shim::me().lane;
  shim::Values values = shim::publish(value, line);
  return flip < width ? shim::peek<T>(values, lane ^ flip) : value;
}
template <class T>
T __shfl_down_sync(unsigned, T value, int far, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = shim::me().lane;
  shim::Values values = shim::publish(value, line);
  return (lane & (width - 1)) + far < unsigned(width) ? shim::peek<T>(values, lane + far) : value;
}
template <class T>
T __shfl_up_sync(unsigned, T value, int far, int width = 32, int line = __builtin_LINE()) {
  const unsigned lane = shim::me().lane;
  shim::Values values = shim::publish(value, line);
  return int(lane & (width - 1)) >= far ? shim::peek<T>(values, lane - far) : value;
}
inline unsigned __ballot_sync(unsigned, int vote, int line = __builtin_LINE()) {
  shim::Values values = shim::publish<int>(vote != 0, line);
  unsigned ballot = 0;
  const unsigned members = unsigned(blockDim.x * blockDim.y * blockDim.z) - shim::me().warp * shim::WARP;
  for (unsigned lane = 0; lane < std::min(members, shim::WARP); lane++)
    if (shim::peek<int>(values, lane)) ballot |= 1u << lane;
  return ballot;
}
inline int __any_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return __ballot_sync(mask, vote, line) != 0;
}
inline int __all_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return __ballot_sync(mask, !vote, line) == 0;
}

using std::max;
using std::min;

template <class To, class From> To bits_as(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
inline unsigned __float_as_uint(float x) { return bits_as<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return bits_as<float>(x); }
inline int __float_as_int(float x) { return bits_as<int>(x); }
inline float __int_as_float(int x) { return bits_as<float>(x); }

inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }

template <class T> T __ldg(const T* x) { return *x; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __clz(int x) { return x ? __builtin_clz(x) : 32; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __umulhi(unsigned x, unsigned y) { return unsigned((uint64_t(x) * y) >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return (unsigned long long)(((unsigned __int128)x * y) >> 64);
}

// ---------------------------------------------------------------------------------------- numbers of 16 bits

namespace shim {

inline uint16_t bf16_of(float x) {                       // to the nearest, ties to even
  const unsigned bits = __float_as_uint(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
  return uint16_t((bits + 0x7fffu + ((bits >> 16) & 1)) >> 16);
}
inline float float_of_bf16(uint16_t bits) { return __uint_as_float(unsigned(bits) << 16); }

inline uint16_t f16_of(float x) {                        // to the nearest, ties to even
  const unsigned sign = __float_as_uint(x) >> 16 & 0x8000u;
  unsigned bits = __float_as_uint(x) & 0x7fffffffu;
  if (bits > 0x7f800000u) return 0x7fff;
  if (bits >= 0x477ff000u) return uint16_t(sign | 0x7c00u);              // 65520 and above
  if (bits < 0x38800000u)                                                // below 2⁻¹⁴: the sum with 0.5 rounds
    return uint16_t(sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u));
  return uint16_t(sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1)) >> 13));
}
inline float float_of_f16(uint16_t bits) {
  const unsigned sign = unsigned(bits & 0x8000u) << 16, rest = unsigned(bits & 0x7fffu) << 13;
  if (rest >= 0x0f800000u) return __uint_as_float(sign | 0x70000000u | rest);
  return __uint_as_float(sign | __float_as_uint(__uint_as_float(rest) * 0x1p112f));
}

}  // namespace shim
