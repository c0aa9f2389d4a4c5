// The 8 bit micro kernels, for each instruction set.
#include "kernels/matrix/gemm_quant8.h"

#include <cstring>
#include <utility>

#include "kernels/matrix/quant8_tiles.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/even_pieces.h"
#include "kernels/vectors/float_vectors.h"
#include "kernels/vectors/quant8_vectors.h"
#include "ops/transpose_block.h"

namespace halyard::cpudriver {

#define HALYARD_KERNEL_FILE "kernels/matrix/quant8_micro.inc"
#include "kernels/vectors/each_quant8_target.inc"
#undef HALYARD_KERNEL_FILE

#if defined(__x86_64__)
namespace amx {
namespace {
using namespace avx512;  // NOLINT(google-build-using-namespace): the same vectors
#include "kernels/matrix/quant8_tiles.inc"
}  // namespace
}  // namespace amx
#endif

WideRows widenRows(const Quant8Gemm& gemm, const uint8_t* left, size_t stride, size_t depth,
                   size_t rows, bool isSigned) {
  constexpr size_t kAliasing = 1024;  // see rowStride
  size_t values = divideUp(depth, gemm.unitValues()) * gemm.unitValues();
  if (values % kAliasing == 0) values += 32;
  auto& buffer = threadOwned<AlignedBuffer<int16_t>, struct WideBuffer>();
  if (buffer.size() < rows * values) buffer = AlignedBuffer<int16_t>(rows * values);
  gemm.widenRows(left, stride, depth, rows, isSigned, buffer.data(), values);
  return {reinterpret_cast<const uint8_t*>(buffer.data()), values * sizeof(int16_t)};
}

void packUnits(const Quant8Gemm& gemm, const uint8_t* columns, size_t columnBytes, size_t count,
               size_t units, uint8_t* to, size_t places) {
  const auto transpose = [&](const auto* from, auto* packed) {
    ops::transposeBlock(from, columnBytes / sizeof(*from), count, units, packed, places);
  };
  if (gemm.unitValues() == 2) {
    transpose(reinterpret_cast<const uint16_t*>(columns), reinterpret_cast<uint16_t*>(to));
  } else {
    transpose(reinterpret_cast<const uint32_t*>(columns), reinterpret_cast<uint32_t*>(to));
  }
}

const Quant8Gemm* quant8Gemm([[maybe_unused]] ops::SimdLevel level) {
#if defined(__x86_64__)
  if (level >= ops::SimdLevel::AVX512) return &avx512::kQuant8Gemm;
  if (level == ops::SimdLevel::AVX_VNNI) return &avxvnni::kQuant8Gemm;
  if (level == ops::SimdLevel::AVX2) return &avx2::kQuant8Gemm;
  return &sse2::kQuant8Gemm;
#elif defined(__aarch64__)
  if (level >= ops::SimdLevel::NEON_DOT) return &neondot::kQuant8Gemm;
  return &neon::kQuant8Gemm;
#else
  return nullptr;
#endif
}

const Quant8Gemm* quant8Gemm(ops::SimdLevel level, [[maybe_unused]] const Quant8Shape& shape) {
#if defined(__x86_64__)
  if (level == ops::SimdLevel::AMX && suitsTiles(shape)) return &amx::kQuant8Gemm;
#endif
  return quant8Gemm(level);
}

}  // namespace halyard::cpudriver
