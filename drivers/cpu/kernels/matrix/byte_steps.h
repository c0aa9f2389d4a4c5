// ByteColumns: float weights that are bytes times a step for each column. Quantised weights of a
// model that computes with floats are such weights.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernels/kernel.h"
#include "kernels/matrix/matrix_operands.h"

namespace halyard::cpudriver {

struct ByteColumns {
  std::vector<float> steps;  // by column; empty: the weights are no such multiples
  // Writes the factors of a column, from -128 to 127. Any thread may call it.
  std::function<void(size_t column, int8_t* factors)> write;

  bool areThere() const { return !steps.empty(); }
};

// The columns of these constant inputs of a site, the first input's first. Each input has equally
// many columns of `depth` values. They are as the model stores them (KernelSite::quantised), and
// nothing is read of their floats. Not there if the model stores one of the inputs otherwise.
ByteColumns storedBytes(const KernelSite& site, const std::vector<size_t>& inputs, size_t depth);

// Looks at floats to find whether they are such multiples. The result keeps `columnAt`.
ByteColumns findBytes(const KernelSite& site, size_t columns, size_t depth,
                      const ColumnAt& columnAt);

}  // namespace halyard::cpudriver
