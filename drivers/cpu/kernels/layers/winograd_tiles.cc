// The transformations for each instruction set.
#include "kernels/layers/winograd_tiles.h"

#include "kernels/vectors/float_vectors.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/layers/float_winograd.inc"
#include "kernels/vectors/each_float_target.inc"
#undef HALYARD_KERNEL_FILE

WinogradFunctions winogradFunctions(ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) {
    return {avx512::transformTile, avx512::transformFilter, avx512::transformProducts};
  }
  if (level >= ops::SimdLevel::AVX2) {
    return {avx2::transformTile, avx2::transformFilter, avx2::transformProducts};
  }
#endif
  (void)level;
  return {portable::transformTile, portable::transformFilter, portable::transformProducts};
}

}  // namespace halyard::cpudriver
