#include "ops/operand_checks.h"

#include <fmt/ranges.h>

namespace halyard::ops {

std::string realShapeText(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

Status checkRank(const Tensor& tensor, size_t min, size_t max, std::string_view name) {
  if (tensor.rank() >= min && tensor.rank() <= max) return okStatus();
  if (min == max) {
    return opFailed("{} has rank {} {}, expected rank {}", name, tensor.rank(),
                    realShapeText(tensor.dims), min);
  }
  return opFailed("{} has rank {} {}, expected rank {} to {}", name, tensor.rank(),
                  realShapeText(tensor.dims), min, max);
}

}  // namespace halyard::ops
