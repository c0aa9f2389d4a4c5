// Choosing among versions of a loop that are compiled for different instruction sets.
// Thread safety: simdLevel may be called from any thread.
// Ownership: none.
//
// The build is for the baseline of its architecture; hot loops are compiled again for newer
// processors with function attributes and chosen when they run. No ifunc is involved, so the same
// code works under sanitizers and with clang.
#pragma once

namespace halyard::ops {

enum class SimdLevel { BASELINE = 0, AVX2 = 1, AVX512 = 2 };

#if defined(__x86_64__)
#define HALYARD_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define HALYARD_TARGET_AVX512 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))

// The best level whose instructions, all of them, this processor and its system have.
inline SimdLevel simdLevel() {
  static const SimdLevel level = [] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
      return SimdLevel::BASELINE;
    }
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vnni");
    return avx512 ? SimdLevel::AVX512 : SimdLevel::AVX2;
  }();
  return level;
}
#else
inline SimdLevel simdLevel() { return SimdLevel::BASELINE; }
#endif

// For what must be compiled for the target of its caller: the bodies that runBest takes, and what
// they call.
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

// Calls `body`, a HALYARD_ALWAYS_INLINE function of plain loops, as compiled for this processor.
template <auto body, typename... Args>
void runBest(Args... args) {
#if defined(__x86_64__)
  if (simdLevel() >= SimdLevel::AVX2) return internal::LoopVersions<body>::avx2(args...);
#endif
  internal::LoopVersions<body>::baseline(args...);
}

}  // namespace halyard::ops
