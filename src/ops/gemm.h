// gemm: sums[r][c] = left[r] . right[c], the matrix product of convolutions and fully connected
// layers.
// Thread safety: reentrant; several threads call the callbacks at once.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "ops/operation.h"
#include "ops/simd.h"

namespace halyard::ops {

// The type of the sums of products of T. int32 sums wrap around. With zero-point-corrected 8-bit
// values, that needs more than 33,000 products of the largest magnitude.
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
  // Returns rows [begin, end) of the left matrix, `depth` values each, gemmRowStride apart. They
  // are either in place, or written to `buffer`. gemm may request the same rows several times.
  std::function<const T*(size_t begin, size_t end, T* buffer)> left;
  // Returns the `depth` values of one column of the right matrix, in place or written to `buffer`.
  std::function<const T*(size_t column, T* buffer)> right;
  // Receives finished sums. Each (row, column) comes exactly once.
  std::function<void(const GemmTile<T>& tile)> store;
};

// Computes all sums. For a given level, each is added up in one fixed order, for any number of
// threads. T is float or int16_t. Scratch memory: at most 16 MiB of rearranged columns, and below 1
// MiB for each range of work. Depths above 131,072 need more, for one strip of columns.
template <typename T>
void gemm(KernelServices& services, const GemmProblem<T>& problem, SimdLevel level = simdLevel());

// Computes `count` independent products of about `work` multiplications each. `problemAt` makes
// them, and several threads call it. Small products are spread over the threads, larger ones run in
// sequence. Scratch memory as for one product at a time.
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
