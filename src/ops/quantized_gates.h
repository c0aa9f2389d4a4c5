// Integer gate products for quantised LSTMs: zero-point-corrected 8-bit values times weights.
// Thread safety: reentrant.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "ops/gemm.h"
#include "ops/operation.h"

namespace halyard::ops {

// sums[r * columns + c] = row r . column c. It wraps around like all int32 sums of products. `left`
// and `right` write `depth` values to the given address.
struct IntegerProduct {
  size_t rows = 0;
  size_t columns = 0;
  size_t depth = 0;
  std::function<void(size_t row, int16_t* to)> left;
  std::function<void(size_t column, int16_t* to)> right;
};
inline void multiplyIntegers(KernelServices& services, const IntegerProduct& product,
                             int32_t* sums) {
  GemmProblem<int16_t> problem;
  problem.rows = product.rows;
  problem.columns = product.columns;
  problem.depth = product.depth;
  problem.left = [&](size_t begin, size_t end, int16_t* buffer) {
    const size_t stride = gemmRowStride<int16_t>(product.depth);
    for (size_t row = begin; row < end; ++row) product.left(row, buffer + (row - begin) * stride);
    return buffer;
  };
  problem.right = [&](size_t column, int16_t* buffer) {
    product.right(column, buffer);
    return buffer;
  };
  problem.store = [&](const GemmTile<int16_t>& tile) {
    for (size_t row = tile.rowBegin; row < tile.rowEnd; ++row) {
      const int32_t* from = tile.sums + (row - tile.rowBegin) * tile.stride;
      int32_t* to = sums + row * product.columns + tile.columnBegin;
      for (size_t i = 0; i < tile.columnEnd - tile.columnBegin; ++i) to[i] = from[i];
    }
  };
  gemm(services, problem);
}

// Returns the sum of two int32, which wraps around.
inline int32_t addWrapping(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

}  // namespace halyard::ops
