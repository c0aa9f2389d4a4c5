// Finds layer normalisations, which models spell out in operations of the API.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <optional>
#include <vector>

#include "fusion.h"

namespace halyard::cpudriver {

// (x - mean) / sqrt(variance + epsilon) * factors + summands, where mean and variance are those of
// a row of `extent` elements of x.
struct RowNormalization {
  std::vector<size_t> before;  // all operations except the last one
  uint32_t input = 0;          // operands
  uint32_t factors = 0;        // as many elements as a row
  uint32_t summands = 0;       // the same
  float epsilon = 0;
  size_t extent = 0;
};

// The normalisation that ends with operation `last`. Empty if it ends none, or if other operations
// read the values between. With d = x - MEAN(x) and v = MEAN(d * d) + epsilon, the forms are:
//
//   d * RSQRT(v) * factors + summands
//
//   d / SQRT(v) * factors + summands
//
//   x * (RSQRT(v) * factors) + (summands - MEAN(x) * (RSQRT(v) * factors))
std::optional<RowNormalization> rowNormalizationAt(const FusionGraph& graph, size_t last);

}  // namespace halyard::cpudriver
