// gemm: sums[r][c] = left[r] . right[c], the product behind convolutions and full connections.
// Thread safety: reentrant; the callbacks are called from several threads at once.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "ops/operation.h"
#include "ops/simd.h"

namespace halyard::ops {

// What products of T are summed in. int32 sums wrap around; with zero-point-corrected 8 bit values
// that needs more than 33,000 products of the largest magnitude.
template <typename T>
struct GemmSum;
template <>
struct GemmSum<float> {
  using Type = float;
};
template <>
struct GemmSum<int16_t> {
  using Type = int32_t;
};

// Finished sums of rows [rowBegin, rowEnd) and columns [columnBegin, columnEnd).
template <typename T>
struct GemmTile {
  size_t rowBegin;
  size_t rowEnd;
  size_t columnBegin;
  size_t columnEnd;
  const typename GemmSum<T>::Type* sums;  // (r, c) at (r - rowBegin) * stride + c - columnBegin
  size_t stride;
};

// Distance between the rows of the left matrix: the kernels take int16 in pairs.
template <typename T>
constexpr size_t gemmRowStride(size_t depth) {
  return sizeof(T) == 2 ? (depth + 1) & ~size_t{1} : depth;
}

template <typename T>
struct GemmProblem {
  size_t rows;
  size_t columns;
  size_t depth;
  // Rows [begin, end) of the left matrix, `depth` values each, gemmRowStride apart: either where
  // they are already, or written to `buffer`. May be asked for the same rows more than once.
  std::function<const T*(size_t begin, size_t end, T* buffer)> left;
  // The `depth` values of one column of the right matrix: where they are, or written to `buffer`.
  std::function<const T*(size_t column, T* buffer)> right;
  // Takes over finished sums; each (row, column) comes exactly once.
  std::function<void(const GemmTile<T>& tile)> store;
};

// Computes all sums. Each is added up in one fixed order for a given level, whatever the number of
// threads. T is float or int16_t. Scratch memory: at most 16 MiB of rearranged columns (more only
// for depths above 131,072, then one strip of columns), and below 1 MiB for each range of work.
template <typename T>
void gemm(KernelServices& services, const GemmProblem<T>& problem, SimdLevel level = simdLevel());

// Computes `count` independent products, made by `problemAt` (which is called from several threads)
// and of about `work` multiplications each: small ones are spread over the threads, larger ones
// come one after the other. Scratch memory as for one product at a time.
template <typename T>
void gemmEach(KernelServices& services, size_t count, size_t work,
              const std::function<GemmProblem<T>(size_t)>& problemAt);

extern template void gemm<float>(KernelServices&, const GemmProblem<float>&, SimdLevel);
extern template void gemm<int16_t>(KernelServices&, const GemmProblem<int16_t>&, SimdLevel);
extern template void gemmEach<float>(KernelServices&, size_t, size_t,
                                     const std::function<GemmProblem<float>(size_t)>&);
extern template void gemmEach<int16_t>(KernelServices&, size_t, size_t,
                                       const std::function<GemmProblem<int16_t>(size_t)>&);

}  // namespace halyard::ops
