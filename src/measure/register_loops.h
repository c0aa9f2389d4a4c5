// Loops that use only registers. They measure the peak multiplication rate of a processor, for each
// instruction set that kernels are compiled for.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <cstdint>

#include "ops/simd.h"

namespace halyard::measure {

struct RegisterLoop {
  void (*run)();
  double products;  // multiply-adds of one run
};

inline constexpr int kLoopTurns = 50'000;
// Independent sums, so that no instruction waits for the result of another one.
inline constexpr int kLoopSums = 12;

// A loop of `instructions` for each register \\r from 0 to 11. Registers 12 and 13 are the factors.
#define HALYARD_REGISTER_LOOP(function, zeroing, instructions, ...)                              \
  inline void function() {                                                                       \
    asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11,12,13\n" zeroing "\n.endr" ::: __VA_ARGS__);  \
    for (int i = 0; i < kLoopTurns; ++i) {                                                       \
      asm volatile(".irp r,0,1,2,3,4,5,6,7,8,9,10,11\n" instructions "\n.endr" ::: __VA_ARGS__); \
    }                                                                                            \
  }

#if defined(__x86_64__)
#define HALYARD_LOOP_REGISTERS                                                             \
  "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", \
      "xmm11", "xmm12", "xmm13"
HALYARD_REGISTER_LOOP(multiplyFloats512, "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r",
                      "vfmadd231ps %%zmm12, %%zmm13, %%zmm\\r", HALYARD_LOOP_REGISTERS)
HALYARD_REGISTER_LOOP(multiplyFloats256, "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r",
                      "vfmadd231ps %%ymm12, %%ymm13, %%ymm\\r", HALYARD_LOOP_REGISTERS)
HALYARD_REGISTER_LOOP(multiplyFloats128, "pxor %%xmm\\r, %%xmm\\r",
                      "movaps %%xmm13, %%xmm14\n mulps %%xmm12, %%xmm14\n addps %%xmm14, %%xmm\\r",
                      HALYARD_LOOP_REGISTERS, "xmm14")
HALYARD_REGISTER_LOOP(multiplyBytes512, "vpxord %%zmm\\r, %%zmm\\r, %%zmm\\r",
                      "vpdpbusd %%zmm12, %%zmm13, %%zmm\\r", HALYARD_LOOP_REGISTERS)
HALYARD_REGISTER_LOOP(multiplyBytesVnni, "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r",
                      "%{vex%} vpdpbusd %%ymm12, %%ymm13, %%ymm\\r", HALYARD_LOOP_REGISTERS)
// 16-bit products, the exact method without VNNI.
HALYARD_REGISTER_LOOP(multiplyBytes256, "vpxor %%ymm\\r, %%ymm\\r, %%ymm\\r",
                      "vpmaddwd %%ymm12, %%ymm13, %%ymm14\n vpaddd %%ymm14, %%ymm\\r, %%ymm\\r",
                      HALYARD_LOOP_REGISTERS, "xmm14")
HALYARD_REGISTER_LOOP(
    multiplyBytes128, "pxor %%xmm\\r, %%xmm\\r",
    "movdqa %%xmm13, %%xmm14\n pmaddwd %%xmm12, %%xmm14\n paddd %%xmm14, %%xmm\\r",
    HALYARD_LOOP_REGISTERS, "xmm14")
#undef HALYARD_LOOP_REGISTERS
// Tiles 0 to 5 are sums, 6 and 7 the factors.
inline void multiplyTiles() {
  struct alignas(64) {
    uint8_t palette[16] = {1};
    uint16_t rowBytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } const setting;
  asm volatile("ldtilecfg %0" : : "m"(setting));
  asm volatile(".irp r,0,1,2,3,4,5,6,7\n tilezero %%tmm\\r\n.endr" :);
  for (int i = 0; i < kLoopTurns; ++i) {
    asm volatile(".irp r,0,1,2,3,4,5,0,1,2,3,4,5\n tdpbssd %%tmm7, %%tmm6, %%tmm\\r\n.endr" :);
  }
  asm volatile("tilerelease" :);
}
#elif defined(__aarch64__)
#define HALYARD_LOOP_REGISTERS \
  "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13"
HALYARD_REGISTER_LOOP(multiplyFloats128, "movi v\\r\\().4s, #0", "fmla v\\r\\().4s, v12.4s, v13.4s",
                      HALYARD_LOOP_REGISTERS)
HALYARD_TARGET_NEON_DOT
HALYARD_REGISTER_LOOP(multiplyBytesDot, "movi v\\r\\().4s, #0",
                      "sdot v\\r\\().4s, v12.16b, v13.16b", HALYARD_LOOP_REGISTERS)
HALYARD_REGISTER_LOOP(multiplyBytes128, "movi v\\r\\().4s, #0", "smlal v\\r\\().4s, v12.4h, v13.4h",
                      HALYARD_LOOP_REGISTERS)
#undef HALYARD_LOOP_REGISTERS
#else
// Code that the compiler generates for plain vectors.
template <typename Number>
void multiplyVectors() {
  using Vector = Number __attribute__((vector_size(16)));
  Vector sums[kLoopSums] = {};
  Vector a = {};
  Vector b = {};
  for (int i = 0; i < kLoopTurns; ++i) {
    for (Vector& sum : sums) sum += a * b;
    asm volatile("" : "+g"(a), "+g"(b) : : "memory");
  }
  asm volatile("" : : "g"(&sums) : "memory");
}
#endif
#undef HALYARD_REGISTER_LOOP

// `perInstruction`: the multiply-adds of one instruction for one of the sums.
inline RegisterLoop registerLoop(void (*run)(), int perInstruction) {
  return {run, static_cast<double>(kLoopTurns) * kLoopSums * perInstruction};
}

// A loop of float32 multiply-adds. The processor must support the level.
inline RegisterLoop floatLoop([[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return registerLoop(multiplyFloats512, 16);
  if (level >= ops::SimdLevel::AVX2) return registerLoop(multiplyFloats256, 8);
  return registerLoop(multiplyFloats128, 4);
#elif defined(__aarch64__)
  return registerLoop(multiplyFloats128, 4);
#else
  return registerLoop(multiplyVectors<float>, 4);
#endif
}

// A loop of 8-bit multiply-adds with sums of 32 bits. It uses the multiply instructions of the
// kernels for the level.
inline RegisterLoop byteLoop([[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AMX) return registerLoop(multiplyTiles, 16 * 16 * 64);
  if (level >= ops::SimdLevel::AVX512) return registerLoop(multiplyBytes512, 64);
  if (level >= ops::SimdLevel::AVX_VNNI) return registerLoop(multiplyBytesVnni, 32);
  if (level >= ops::SimdLevel::AVX2) return registerLoop(multiplyBytes256, 16);
  return registerLoop(multiplyBytes128, 8);
#elif defined(__aarch64__)
  if (level >= ops::SimdLevel::NEON_DOT) return registerLoop(multiplyBytesDot, 16);
  return registerLoop(multiplyBytes128, 4);
#else
  return registerLoop(multiplyVectors<int16_t>, 8);
#endif
}

}  // namespace halyard::measure
