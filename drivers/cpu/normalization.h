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

// The normalisation that ends with operation `last`, in one of the forms that converters write.
// With d = x - MEAN(x) and r = RSQRT(MEAN(d * d) + epsilon), or 1 / SQRT of that:
//   d * r * factors + summands, and d / SQRT(...) * factors + summands
//   x * (r * factors) + (summands - MEAN(x) * (r * factors))
// Empty if `last` ends no normalisation, or if other operations read the values between.
std::optional<RowNormalization> rowNormalizationAt(const FusionGraph& graph, size_t last);

}  // namespace halyard::cpudriver
