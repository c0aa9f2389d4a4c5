// Layer normalisation: rows of floats, each brought to mean 0 and variance 1, and then scaled.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// For output 0 and three inputs: `rows` rows of `extent` elements, and factors and summands for the
// elements of a row. `epsilon` is added to the variance.
std::unique_ptr<Kernel> makeRowNormalization(size_t rows, size_t extent, float epsilon);

}  // namespace halyard::cpudriver
