// The micro kernels of float16, for each instruction set that has such arithmetic.
#include "kernels/matrix/gemm_half.h"

#include <algorithm>
#include <utility>

#include "kernels/vectors/half_vectors.h"

namespace halyard::cpudriver {

#if defined(HALYARD_HAS_AVX512_FP16)
namespace avx512fp16 {
namespace {
#define HALYARD_KERNEL_TARGET HALYARD_TARGET_AVX512_FP16
#include "kernels/matrix/half_micro.inc"
#undef HALYARD_KERNEL_TARGET
}  // namespace
}  // namespace avx512fp16
#elif defined(__aarch64__)
namespace neonfp16 {
namespace {
#define HALYARD_KERNEL_TARGET HALYARD_TARGET_NEON_FP16
#include "kernels/matrix/half_micro.inc"
#undef HALYARD_KERNEL_TARGET
}  // namespace
}  // namespace neonfp16
#endif

const HalfGemm* halfGemm(ops::SimdLevel level) {
#if defined(HALYARD_HAS_AVX512_FP16)
  if (level >= ops::SimdLevel::AVX512_FP16) return &avx512fp16::kHalfGemm;
#elif defined(__aarch64__)
  if (level >= ops::SimdLevel::NEON_FP16) return &neonfp16::kHalfGemm;
#endif
  (void)level;
  return nullptr;
}

}  // namespace halyard::cpudriver
