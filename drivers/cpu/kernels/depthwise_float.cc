// Float depthwise rows, for each instruction set.
#include "kernels/depthwise_rows.h"
#include "kernels/float_vectors.h"

namespace halyard::cpudriver {

namespace portable {
namespace {
#define HALYARD_KERNEL_TARGET
#include "kernels/float_depthwise.inc"
#undef HALYARD_KERNEL_TARGET
}  // namespace
}  // namespace portable

#if defined(__x86_64__)
namespace avx2 {
namespace {
#define HALYARD_KERNEL_TARGET HALYARD_TARGET_AVX2
#include "kernels/float_depthwise.inc"
#undef HALYARD_KERNEL_TARGET
}  // namespace
}  // namespace avx2

namespace avx512 {
namespace {
#define HALYARD_KERNEL_TARGET HALYARD_TARGET_AVX512
#include "kernels/float_depthwise.inc"
#undef HALYARD_KERNEL_TARGET
}  // namespace
}  // namespace avx512
#endif

FloatDepthwise floatDepthwise(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AVX512) return avx512::floatDepthwiseRow;
  if (level == ops::SimdLevel::AVX2) return avx2::floatDepthwiseRow;
#endif
  (void)level;
  return portable::floatDepthwiseRow;
}

}  // namespace halyard::cpudriver
