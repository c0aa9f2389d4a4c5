// The exponentials of one row of floats, for softmax.
// Thread safety: pure functions.
// Ownership: borrows everything.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/vectors/float_functions.h"

namespace halyard::cpudriver {

// to[i] = exp(beta * (from[i] - the largest one)); both may be the same. Returns their sum.
inline double exponentialsOfRow(const FloatFunctions& functions, const float* from, float* to,
                                size_t count, float beta) {
  constexpr size_t kAtATime = 4096;  // whose sum keeps its digits in single precision
  const float largest = functions.findLargest(from, count);
  double sum = 0;
  for (size_t i = 0; i < count; i += kAtATime) {
    const size_t some = std::min(kAtATime, count - i);
    sum += static_cast<double>(functions.exponentials(from + i, to + i, some, beta, largest));
  }
  return sum;
}

}  // namespace halyard::cpudriver
