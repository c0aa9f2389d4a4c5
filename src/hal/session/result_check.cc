#include "hal/session/result_check.h"

#include <algorithm>

namespace halyard::hal {
namespace {

// Whether `dims` could be those of the operand; 0 in `known` is unknown.
bool agrees(const Shape& dims, const Shape& known) {
  if (known.empty()) return true;
  return std::equal(dims.begin(), dims.end(), known.begin(), known.end(),
                    [](uint32_t found, uint32_t wanted) { return wanted == 0 || found == wanted; });
}

bool isFullyKnown(const Operand& operand, const RequestArgument& argument) {
  if (isScalarType(operand.type)) return true;
  const Shape& first = argument.dimensions;
  const Shape& second = operand.dimensions;
  const size_t rank = std::max(first.size(), second.size());
  for (size_t i = 0; i < rank; ++i) {
    const bool known = (i < first.size() && first[i] != 0) || (i < second.size() && second[i] != 0);
    if (!known) return false;
  }
  return rank > 0;
}

Status checkShape(const Operand& operand, const RequestArgument& argument, const Shape& found) {
  const Shape* const wrong = !agrees(found, operand.dimensions)    ? &operand.dimensions
                             : !agrees(found, argument.dimensions) ? &argument.dimensions
                                                                   : nullptr;
  if (wrong == nullptr) return okStatus();
  return opFailed("it reports dimensions [{}], expected {}", fmt::join(found, ","),
                  shapeText(*wrong));
}

Status check(const Model& model, const Request& request, const ExecutionResult& result) {
  const bool tooSmall = result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (!result.status.ok() && !tooSmall) return okStatus();
  const std::vector<uint32_t>& indexes = model.main.outputIndexes;
  const std::vector<OutputShape>& shapes = result.outputShapes;
  if (shapes.empty() && !tooSmall) {
    for (size_t i = 0; i < indexes.size(); ++i) {
      if (isFullyKnown(model.main.operands[indexes[i]], request.outputs[i])) continue;
      return opFailed("output {}: its dimensions were open, and it reports none", i);
    }
    return okStatus();
  }
  if (shapes.size() != indexes.size()) {
    return opFailed("it reports {} output shapes, the model has {} outputs", shapes.size(),
                    indexes.size());
  }
  const auto sufficient = static_cast<size_t>(std::count_if(
      shapes.begin(), shapes.end(), [](const OutputShape& shape) { return shape.isSufficient; }));
  if (tooSmall && sufficient == shapes.size()) {
    return opFailed(
        "it answers OUTPUT_INSUFFICIENT_SIZE, and says that every output is large enough");
  }
  if (!tooSmall && sufficient != shapes.size()) {
    return opFailed("it answers success, and says that an output is too small");
  }
  for (size_t i = 0; i < shapes.size() && !tooSmall; ++i) {
    HALYARD_RETURN_IF_ERROR(
        checkShape(model.main.operands[indexes[i]], request.outputs[i], shapes[i].dimensions),
        "output {}", i);
  }
  return okStatus();
}

}  // namespace

void checkResult(const Model& model, const Request& request, ExecutionResult& result) {
  if (Status status = check(model, request, result); !status.ok()) {
    result = {};
    result.status = std::move(status.annotate("the driver's result"));
    return;
  }
  const Timing& timing = result.timing;
  if (timing.timeOnDevice && timing.timeInDriver && *timing.timeOnDevice > *timing.timeInDriver) {
    result.timing = {};
  }
}

}  // namespace halyard::hal
