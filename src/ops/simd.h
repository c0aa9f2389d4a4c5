// Selects among versions of a loop that are compiled for different instruction sets.
// Thread safety: simdLevel may be called from any thread.
// Ownership: none.
//
// The build targets the baseline of its architecture. Function attributes compile hot loops again
// for newer processors, and the code selects one at run time. It uses no ifunc, so the same code
// works with sanitizers and with clang.
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "base/made_once.h"

namespace halyard::ops {

// Instruction sets that loops are compiled for. In each architecture, a level includes the levels
// before it.
enum class SimdLevel {
  BASELINE = 0,  // SSE2 on x86-64, NEON on aarch64
  AVX2 = 1,      // with FMA
  AVX_VNNI = 2,  // products of bytes, 256 bits
  AVX512 = 3,    // F, BW, DQ, VL and VNNI
  AMX = 4,       // products of tiles of bytes
  NEON_DOT = 5   // products of bytes, 128 bits
};

// The levels of this architecture in order, supported by this processor or not.
inline constexpr SimdLevel kSimdLevels[] = {
    SimdLevel::BASELINE,
#if defined(__x86_64__)
    SimdLevel::AVX2,     SimdLevel::AVX_VNNI, SimdLevel::AVX512, SimdLevel::AMX,
#elif defined(__aarch64__)
    SimdLevel::NEON_DOT,
#endif
};

#if defined(__x86_64__)
#define HALYARD_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define HALYARD_TARGET_AVX_VNNI __attribute__((target("avx2,fma,avxvnni")))
#define HALYARD_TARGET_AVX512 \
  __attribute__((target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define HALYARD_TARGET_AMX \
  __attribute__((          \
      target("avx2,fma,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")))

namespace internal {
// Not every compiler has a name for this feature: leaf 7.1, EAX bit 4.
inline bool hasAvxVnni() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a >> 4 & 1) != 0;
}

// AMX-TILE and AMX-INT8: leaf 7, EDX bits 24 and 25.
inline bool hasTiles() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 24 & 3) == 3;
}

// The registers of tiles are large. The kernel gives them only to processes that ask. A refusal has
// several reasons, for example an old kernel, or a small stack for signals.
inline bool requestTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // the part of the state that tiles are in
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
}  // namespace internal

// Returns the highest level below AMX whose instructions are all supported by this processor and
// its system.
inline SimdLevel simdLevel() {
  return madeOnce([] {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
      return SimdLevel::BASELINE;
    }
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vnni")) {
      return SimdLevel::AVX512;
    }
    return internal::hasAvxVnni() ? SimdLevel::AVX_VNNI : SimdLevel::AVX2;
  });
}

// The same with AMX. The first call asks the system for the permission, which is for the whole
// process and enlarges what signals need of a stack. So only code that uses tiles calls this.
inline SimdLevel newestSimdLevel() {
  return madeOnce([] {
    return simdLevel() == SimdLevel::AVX512 && internal::hasTiles() && internal::requestTiles()
               ? SimdLevel::AMX
               : simdLevel();
  });
}
#elif defined(__aarch64__)
#define HALYARD_TARGET_NEON_DOT __attribute__((target("arch=armv8.2-a+dotprod")))

inline SimdLevel simdLevel() {
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0 ? SimdLevel::NEON_DOT : SimdLevel::BASELINE;
}
inline SimdLevel newestSimdLevel() { return simdLevel(); }
#else
inline SimdLevel simdLevel() { return SimdLevel::BASELINE; }
inline SimdLevel newestSimdLevel() { return simdLevel(); }
#endif

// Returns whether this processor can run code for `level`, which is one of kSimdLevels. An AVX-512
// machine may lack the encoding of AVX-VNNI. Of AMX it asks as newestSimdLevel does.
inline bool hasSimdLevel(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::AMX) return newestSimdLevel() == level;
  if (level == SimdLevel::AVX_VNNI && simdLevel() == SimdLevel::AVX512) {
    return internal::hasAvxVnni();
  }
#endif
  return level <= simdLevel();
}

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
