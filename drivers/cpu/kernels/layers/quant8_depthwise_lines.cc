// 8 bit depthwise lines, for each instruction set.
#include "kernels/layers/quant8_depthwise_lines.h"

#include <cstring>

#include "kernels/vectors/float_vectors.h"
#include "kernels/vectors/quant8_vectors.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/layers/quant8_depthwise_lines.inc"
#include "kernels/vectors/each_quant8_target.inc"
#undef HALYARD_KERNEL_FILE

const Quant8Depthwise* quant8Depthwise([[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return &avx512::kQuant8Depthwise;
  if (level == ops::SimdLevel::AVX_VNNI) return &avxvnni::kQuant8Depthwise;
  if (level == ops::SimdLevel::AVX2) return &avx2::kQuant8Depthwise;
  return &sse2::kQuant8Depthwise;
#elif defined(__aarch64__)
  if (level >= ops::SimdLevel::NEON_DOT) return &neondot::kQuant8Depthwise;
  return &neon::kQuant8Depthwise;
#else
  return nullptr;
#endif
}

}  // namespace halyard::cpudriver
