// What a processor can multiply at most: register loops, one for each instruction set that kernels
// are compiled for. Thread safety: none needed. Ownership: none.
#pragma once

#include <algorithm>
#include <chrono>

#include "ops/simd.h"

namespace halyard::bench {

inline constexpr int kPeakRounds = 100000;
inline constexpr int kPeakSums = 12;  // that no instruction waits for

// Loops of `instructions` on each register \\r of 12, from 0 on.
#define HALYARD_PEAK_LOOP(function, zeroing, instructions, ...)                                  \
  inline void function() {                                                                       \
    asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n" zeroing "\n.endr" ::: __VA_ARGS__);  \
    for (int i = 0; i < kPeakRounds; ++i) {                                                      \
      asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n" instructions "\n.endr" ::: __VA_ARGS__); \
    }                                                                                            \
  }

#if defined(__x86_64__)
#define HALYARD_PEAK_REGISTERS                                                             \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13"
HALYARD_PEAK_LOOP(multiplyFloats, "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r",
                  "vfmadd231ps %%zmm12, %%zmm13, %%zmm\\r", HALYARD_PEAK_REGISTERS)
HALYARD_PEAK_LOOP(multiplyAvx512, "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r",
                  "vpdpbusd %%zmm12, %%zmm13, %%zmm\\r", HALYARD_PEAK_REGISTERS)
HALYARD_PEAK_LOOP(multiplyAvxVnni, "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r",
                  "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm\\r", HALYARD_PEAK_REGISTERS)
HALYARD_PEAK_LOOP(multiplyAvx2, "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r",
                  "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n vpaddd %%ymm14, %%ymm\\r, %%ymm\\r",
                  HALYARD_PEAK_REGISTERS, "xmm14")
HALYARD_PEAK_LOOP(multiplyBaseline, "pxor %%xmm\\r, %%xmm\\r",
                  "movdqa %%xmm13, %%xmm14\n pmaddwd %%xmm12, %%xmm14\n paddd %%xmm14, %%xmm\\r",
                  HALYARD_PEAK_REGISTERS, "xmm14")
#elif defined(__aarch64__)
#define HALYARD_PEAK_REGISTERS \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13"
HALYARD_TARGET_NEON_DOT
HALYARD_PEAK_LOOP(multiplyNeonDot, "movi v\\r\\().4s, #0", "sdot v\\r\\().4s, v12.16b, v13.16b",
                  HALYARD_PEAK_REGISTERS)
HALYARD_PEAK_LOOP(multiplyBaseline, "movi v\\r\\().4s, #0", "smlal v\\r\\().4s, v12.4h, v13.4h",
                  HALYARD_PEAK_REGISTERS)
#endif

// `products` for each round of `loop`; per second, the best of many times.
inline double peakOf(void (*loop)(), double products) {
  using Clock = std::chrono::steady_clock;
  double best = 1e9;
  const Clock::time_point begin = Clock::now();
  do {
    const Clock::time_point start = Clock::now();
    loop();
    best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count());
  } while (Clock::now() - begin < std::chrono::milliseconds(150));
  return kPeakRounds * products / best;
}

// Of this processor's best instruction set; 0 where no loop knows it.
inline double floatPeak() {
#if defined(__x86_64__)
  if (ops::simdLevel() == ops::SimdLevel::AVX512) return peakOf(multiplyFloats, kPeakSums * 16);
#endif
  return 0;
}

// Of the instructions that 8 bit kernels for `level` multiply with, which this processor has.
inline double quant8Peak([[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AVX512) return peakOf(multiplyAvx512, kPeakSums * 64);
  if (level == ops::SimdLevel::AVX_VNNI) return peakOf(multiplyAvxVnni, kPeakSums * 32);
  if (level == ops::SimdLevel::AVX2) return peakOf(multiplyAvx2, kPeakSums * 16);
  return peakOf(multiplyBaseline, kPeakSums * 8);
#elif defined(__aarch64__)
  if (level == ops::SimdLevel::NEON_DOT) return peakOf(multiplyNeonDot, kPeakSums * 16);
  return peakOf(multiplyBaseline, kPeakSums * 4);
#else
  return 0;
#endif
}

}  // namespace halyard::bench
