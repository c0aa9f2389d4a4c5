// Float depthwise rows, for each instruction set.
#include <type_traits>

#include "kernels/layers/depthwise_rows.h"
#include "kernels/vectors/float_vectors.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/layers/float_depthwise.inc"
#include "kernels/vectors/each_float_target.inc"
#undef HALYARD_KERNEL_FILE

FloatDepthwise floatDepthwise(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return avx512::floatDepthwiseRow;
  if (level >= ops::SimdLevel::AVX2) return avx2::floatDepthwiseRow;
#endif
  (void)level;
  return portable::floatDepthwiseRow;
}

FloatSlices floatSlices(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return avx512::kFloatSlices;
  if (level >= ops::SimdLevel::AVX2) return avx2::kFloatSlices;
#endif
  (void)level;
  return portable::kFloatSlices;
}

}  // namespace halyard::cpudriver
