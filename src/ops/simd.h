// Selects among versions of a loop that are compiled for different instruction sets.
// Thread safety: simdLevel may be called from any thread.
// Ownership: none.
//
// The build targets the baseline of its architecture. Function attributes compile hot loops again
// for newer processors, and the code selects one at run time. It uses no ifunc, so the same code
// works with sanitizers and with clang.
#pragma once

#include <string_view>

namespace halyard::ops {

// Instruction sets that loops are compiled for. In each architecture, a level includes the levels
// before it.
enum class SimdLevel {
  BASELINE = 0,     // SSE2 on x86-64, NEON on aarch64
  AVX2 = 1,         // with FMA
  AVX_VNNI = 2,     // products of bytes, 256 bits
  AVX512 = 3,       // F, BW, DQ, VL and VNNI
  AVX512_FP16 = 4,  // products of float16, 512 bits
  AMX = 5,          // products of tiles of bytes and of bfloat16
  NEON_DOT = 6,     // products of bytes, 128 bits
  NEON_FP16 = 7     // products of float16, 128 bits
};

// The levels of this architecture in order, supported by this processor or not.
inline constexpr SimdLevel kSimdLevels[] = {
    SimdLevel::BASELINE,
#if defined(__x86_64__)
    SimdLevel::AVX2,        SimdLevel::AVX_VNNI, SimdLevel::AVX512,
    SimdLevel::AVX512_FP16, SimdLevel::AMX,
#elif defined(__aarch64__)
    SimdLevel::NEON_DOT,
    SimdLevel::NEON_FP16,
#endif
};

#if defined(__x86_64__)
#define HALYARD_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define HALYARD_TARGET_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#define HALYARD_TARGET_AVX512 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define HALYARD_TARGET_AVX512_FP16 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512fp16")))
#define HALYARD_TARGET_AMX \
  __attribute__((target(   \
      "avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8,amx-bf16")))
#elif defined(__aarch64__)
#define HALYARD_TARGET_NEON_DOT __attribute__((target("arch=armv8.2-a+dotprod")))
#define HALYARD_TARGET_NEON_FP16 __attribute__((target("arch=armv8.2-a+dotprod+fp16")))
#endif

// Returns the highest level below AMX whose instructions are all supported by this processor and
// its system. The environment variable HALYARD_INSTRUCTIONS lowers it; it is read once.
SimdLevel simdLevel();

// The same with AMX. The first call asks the system for the permission, which is for the whole
// process and enlarges what signals need of a stack. So only code that uses tiles calls this.
SimdLevel newestSimdLevel();

// Returns whether this process may run code for `level`, which is one of kSimdLevels. An AVX-512
// machine may lack the encoding of AVX-VNNI. Of AMX it asks as newestSimdLevel does.
bool hasSimdLevel(SimdLevel level);

// Returns the name of `level` in HALYARD_INSTRUCTIONS, for example "avx-vnni".
std::string_view simdLevelName(SimdLevel level);

// For functions that must be compiled for the target of their caller: the bodies that runBest
// takes, and the functions that they call.
#define HALYARD_ALWAYS_INLINE __attribute__((always_inline)) inline

namespace internal {
template <auto body>
struct LoopVersions;
template <typename... Args, void (*body)(Args...)>
struct LoopVersions<body> {
  static void baseline(Args... args) { body(args...); }
#if defined(__x86_64__)
  HALYARD_TARGET_AVX2 static void avx2(Args... args) { body(args...); }
#endif
};
}  // namespace internal

// Calls the version of `body` for this processor. `body` is a HALYARD_ALWAYS_INLINE function of
// plain loops.
template <auto body, typename... Args>
void runBest(Args... args) {
#if defined(__x86_64__)
  if (simdLevel() >= SimdLevel::AVX2) return internal::LoopVersions<body>::avx2(args...);
#endif
  internal::LoopVersions<body>::baseline(args...);
}

}  // namespace halyard::ops
