// The float micro kernels, for each instruction set.
#include "kernels/matrix/gemm_float.h"

#include <utility>

#include "kernels/vectors/float_vectors.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/matrix/float_micro.inc"
#include "kernels/vectors/each_float_target.inc"
#undef HALYARD_KERNEL_FILE

const FloatGemm& floatGemm(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return avx512::kFloatGemm;
  if (level >= ops::SimdLevel::AVX2) return avx2::kFloatGemm;
#endif
  (void)level;
  return portable::kFloatGemm;
}

}  // namespace halyard::cpudriver
