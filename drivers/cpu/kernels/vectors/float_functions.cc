// The float functions, for each instruction set.
#include "kernels/vectors/float_functions.h"

#include <cstdint>
#include <cstring>

#include "kernels/vectors/float_vectors.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/vectors/float_functions.inc"
#include "kernels/vectors/each_float_target.inc"
#undef HALYARD_KERNEL_FILE

const FloatFunctions& floatFunctions(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return avx512::kFloatFunctions;
  if (level >= ops::SimdLevel::AVX2) return avx2::kFloatFunctions;
#endif
  (void)level;
  return portable::kFloatFunctions;
}

}  // namespace halyard::cpudriver
