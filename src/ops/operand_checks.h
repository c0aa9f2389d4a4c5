// Checks of operands at execution, shared by many operations. Violations are OP_FAILED.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "halyard/driver/status.h"
#include "ops/operation.h"

namespace halyard::ops {

// Formats a shape at execution: "[2,0,3]"; a rank of 0 prints as "[]". (shapeText of
// halyard/driver/model.h is for declared shapes, where 0 means unknown.)
std::string realShapeText(const Shape& shape);

// Checks that the rank lies in [min, max]. A model may leave the rank open, so that the signature's
// rank rules do not apply.
Status checkRank(const Tensor& tensor, size_t min, size_t max, std::string_view name);

// An output that holds the input's elements unchanged needs the same scale and zero point.
template <typename T>  // Tensor or Operand
Status checkSameQuantization(const T& input, const T& output) {
  if (input.scale == output.scale && input.zeroPoint == output.zeroPoint) return okStatus();
  return opFailed("output has scale {} and zero point {}, expected those of the input, {} and {}",
                  output.scale, output.zeroPoint, input.scale, input.zeroPoint);
}

// Shape inference may run before the values of all scalars are known. If a value is only checked,
// and no shape depends on it, the check is left to the kernel.
inline Status unlessIncomplete(Status status) {
  return status.code() == ResultCode::INCOMPLETE ? okStatus() : std::move(status);
}

}  // namespace halyard::ops
