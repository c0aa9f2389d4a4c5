// Operations along one axis by coordinates, for tests.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <functional>
#include <vector>

#include "ops/naive_for_test.h"

namespace halyard::ops::testing {

using Line = std::vector<double>;

// Replaces every line of `values` along the axis by f of it, which has the same length.
inline std::vector<double> mapLines(const std::vector<double>& values, const Shape& dims,
                                    size_t axis, const std::function<Line(const Line&)>& f) {
  std::vector<double> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    std::vector<size_t> at = coordinatesOf(i, dims);
    if (at[axis] != 0) continue;
    Line line;
    for (at[axis] = 0; at[axis] < dims[axis]; ++at[axis]) line.push_back(values[indexOf(at, dims)]);
    const Line mapped = f(line);
    for (at[axis] = 0; at[axis] < dims[axis]; ++at[axis]) {
      result[indexOf(at, dims)] = mapped[at[axis]];
    }
  }
  return result;
}

// An axis operand of a tensor of `rank` dimensions: negative, not negative, or left out.
struct RandomAxis {
  size_t resolved;
  std::vector<TestOperand> operand;  // empty when left out
};
inline RandomAxis randomAxis(RandomOperands& random, size_t rank, bool optional) {
  const int n = static_cast<int>(rank);
  if (optional && random.between(0, 3) == 0) return {rank - 1, {}};
  const int axis = random.between(-n, n - 1);
  return {static_cast<size_t>((axis + n) % n), {TestOperand::int32(axis)}};
}

}  // namespace halyard::ops::testing
