#include "hal/checks/result_check.h"

#include <algorithm>

#include "model/shape_agreement.h"

namespace halyard::hal {
namespace {

bool isFullyKnown(const Shape& dimensions) {
  return !dimensions.empty() && std::ranges::find(dimensions, 0u) == dimensions.end();
}

// Combines the dimensions of model and request. Mostly one of them is complete, and nothing is
// copied.
const Shape& knownDimensions(const Operand& operand, const RequestArgument& argument,
                             Shape* combined) {
  const Shape& given = argument.dimensions.empty() ? operand.dimensions : argument.dimensions;
  if (isFullyKnown(given)) return given;
  *combined = completeShape(given, operand.dimensions);
  return *combined;
}

// Returns the size of an output's buffer in bytes. Returns nullopt for a missing buffer, or when
// only the driver knows the size: its own buffer, or an image.
std::optional<uint64_t> capacityOf(const Request& request, const RequestArgument& argument) {
  if (argument.kind == RequestArgument::Kind::NO_VALUE) return std::nullopt;
  if (argument.kind == RequestArgument::Kind::POINTER) return argument.length;
  const auto* const pool =
      std::get_if<SharedMemoryPtr>(&request.pools[argument.location.poolIndex]);
  if (pool == nullptr || (*pool)->kind() == MemoryKind::HARDWARE_BUFFER) return std::nullopt;
  const bool isWhole = argument.location.offset == 0 && argument.location.length == 0;
  return isWhole ? (*pool)->size() : argument.location.length;
}

// Checks one output. The driver reports its shape, or null if the known shape applies.
Status checkOutput(const Operand& operand, const OperandSizes& sizes, const Request& request,
                   const RequestArgument& argument, const OutputShape* reported) {
  const bool isScalar = sizes.isScalar(operand.type);
  Shape combined;
  const Shape& dimensions =
      reported != nullptr ? reported->dimensions : knownDimensions(operand, argument, &combined);
  if (reported == nullptr && !isScalar && !isFullyKnown(dimensions)) {
    return opFailed("its dimensions were open, and it reports none");
  }
  if (reported != nullptr && !isScalar) {
    const Shape* const wrong = !isShapeOf(operand.dimensions, dimensions)    ? &operand.dimensions
                               : !isShapeOf(argument.dimensions, dimensions) ? &argument.dimensions
                                                                             : nullptr;
    if (wrong != nullptr) {
      return opFailed("it reports dimensions [{}], expected {}", fmt::join(dimensions, ","),
                      shapeText(*wrong));
    }
  }
  if (!sizes.isKnown(operand.type)) return okStatus();
  const std::optional<uint32_t> bytes = sizes.real(operand.type, dimensions);
  if (!bytes) {
    return opFailed("it reports dimensions [{}], for which 32 bits cannot count the bytes",
                    fmt::join(dimensions, ","));
  }
  if (reported != nullptr && !reported->isSufficient) return okStatus();
  const std::optional<uint64_t> capacity = capacityOf(request, argument);
  if (!capacity || *bytes <= *capacity) return okStatus();
  return opFailed("it reports dimensions [{}], {} bytes, and the buffer has {}",
                  fmt::join(dimensions, ","), *bytes, *capacity);
}

Status check(const Model& model, const Request& request, const OperandSizes& sizes,
             const ExecutionResult& result) {
  const bool tooSmall = result.status.code() == ResultCode::OUTPUT_INSUFFICIENT_SIZE;
  if (!result.status.ok() && !tooSmall) return okStatus();
  const std::vector<uint32_t>& indexes = model.main.outputIndexes;
  const std::vector<OutputShape>& shapes = result.outputShapes;
  const bool reportsNone = shapes.empty() && !tooSmall;
  if (!reportsNone && shapes.size() != indexes.size()) {
    return opFailed("it reports {} output shapes, the model has {} outputs", shapes.size(),
                    indexes.size());
  }
  const bool allFit = std::ranges::all_of(shapes, &OutputShape::isSufficient);
  if (tooSmall && allFit) {
    return opFailed(
        "it answers OUTPUT_INSUFFICIENT_SIZE, and says that every output is large enough");
  }
  if (!tooSmall && !allFit) {
    return opFailed("it answers success, and says that an output is too small");
  }
  for (size_t i = 0; i < indexes.size(); ++i) {
    HALYARD_RETURN_IF_ERROR(checkOutput(model.main.operands[indexes[i]], sizes, request,
                                        request.outputs[i], reportsNone ? nullptr : &shapes[i]),
                            "output {}", i);
  }
  return okStatus();
}

}  // namespace

void checkResult(const Model& model, const Request& request, const OperandSizes& sizes,
                 ExecutionResult& result) {
  if (Status status = check(model, request, sizes, result); !status.ok()) {
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
