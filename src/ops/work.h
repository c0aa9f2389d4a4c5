// Numbers of products by shapes, for OperationDefinition::work. Ranks may be unknown.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "ops/operation.h"

namespace halyard::ops {

inline double workDimension(const Tensor& tensor, size_t i) {
  return i < tensor.rank() ? tensor.dims[i] : 1;
}
inline double workElements(const Tensor& tensor) {
  double count = tensor.omitted ? 0 : 1;
  for (const uint32_t dimension : tensor.dims) count *= dimension;
  return count;
}

// The cost of the activation of a cell's gate, in products.
inline constexpr double kWorkOfActivation = 200;

// Each row of input 0 is multiplied by all weights of recurrent cells: the matrices among the
// inputs in `ranges` (first and last position). The results pass through an activation.
inline double workOfRows(std::span<const Tensor> inputs,
                         std::initializer_list<std::pair<size_t, size_t>> ranges) {
  double weights = 0;
  for (const auto& [first, last] : ranges) {
    for (size_t i = first; i <= last && i < inputs.size(); ++i) {
      if (inputs[i].rank() != 2 || inputs[i].omitted) continue;
      weights += workElements(inputs[i]) + inputs[i].dims[0] * kWorkOfActivation;
    }
  }
  const double rowLength = inputs[0].rank() > 0 ? inputs[0].dims.back() : 1;
  return workElements(inputs[0]) / rowLength * weights;
}

}  // namespace halyard::ops
