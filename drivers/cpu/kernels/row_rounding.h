// Rounding rows to the steps of a byte. Thread safety: pure functions. Ownership: kernels are the
// caller's.
#pragma once

#include "kernel.h"

namespace halyard::cpudriver {

// The steps that a row's values are rounded to are numbered from `least` to `greatest`. A row's
// range counts as `smallestRange` at the least.
struct RoundingSteps {
  float least = 0;
  float greatest = 0;
  float smallestRange = 0;
};

// For input and output 0, of `rows` rows.
std::unique_ptr<Kernel> makeRowRounding(const RoundingSteps& steps, size_t rows, size_t extent);

}  // namespace halyard::cpudriver
