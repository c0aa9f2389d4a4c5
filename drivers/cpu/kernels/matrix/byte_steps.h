// Float weights that are bytes times a step. Importers make such weights of quantised ones.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// For each column of `depth` values, a step that all of them are multiples of, by factors from -128
// to 127. Empty if one has no such step. `columnAt` gives a column's values.
std::vector<float> byteStepsOf(const KernelSite& site, size_t columns, size_t depth,
                               const std::function<const float*(size_t column)>& columnAt);

// The factors of values that are such multiples.
void toByteFactors(const float* values, size_t count, float step, int8_t* factors);

}  // namespace halyard::cpudriver
