// ROUND_TO_DYNAMIC_RANGE of the extension halyard.tflite: the rounding of a layer's input in
// dynamic-range quantisation. Each row is rounded to the steps of a byte between its minimum and
// its maximum, with 0 in the range. The steps are those of an asymmetric signed byte, so a driver
// may multiply bytes instead.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"
#include "ops/rounding_steps.h"

namespace halyard::ops {
namespace {

constexpr size_t kAxis = 1;

// The dimensions from `axis` on form a row; those before it count rows.
Status readAxis(const OperationContext& context, size_t* axis) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kAxis, &value), "input 1 (axis)");
  const size_t rank = context.input(0).rank();
  if (value < 0 || static_cast<size_t>(value) >= rank) {
    return opFailed("input 1 (axis) is {}, expected 0 to {}", value, rank - 1);
  }
  *axis = static_cast<size_t>(value);
  return okStatus();
}

Status infer(OperationContext& context) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(0), 1, 4, "input"));
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readAxis(context, &axis)));
  return inferSameShape(context);
}

void roundRow(const float* from, float* to, size_t extent) {
  float low = 0;
  float high = 0;
  bool isFinite = true;
  for (size_t i = 0; i < extent; ++i) {
    low = std::min(low, from[i]);
    high = std::max(high, from[i]);
    isFinite = isFinite && std::isfinite(from[i]);
  }
  if (!isFinite || !std::isfinite(high - low)) {
    std::fill_n(to, extent, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  const RowSteps steps = stepsOfRow(kDynamicRangeSteps, low, high);
  for (size_t i = 0; i < extent; ++i) {
    // Product and sum are rounded separately.
    float units = from[i] * steps.perUnit;
    asm("" : "+m"(units));
    to[i] = std::clamp(std::floor(units + 0.5f), steps.least, steps.greatest) * steps.step;
  }
}

Status compute(OperationContext& context) {
  size_t axis = 0;
  HALYARD_RETURN_IF_ERROR(readAxis(context, &axis));
  const Tensor& input = context.input(0);
  size_t extent = 1;
  for (size_t d = axis; d < input.rank(); ++d) extent *= input.dims[d];
  const auto* const from = input.as<float>();
  auto* const to = context.output(0).as<float>();
  context.services().parallelFor(input.elementCount() / extent,
                                 std::max<size_t>(1, kElementGrain / extent),
                                 [&](size_t begin, size_t end) {
                                   for (size_t row = begin; row < end; ++row) {
                                     roundRow(from + row * extent, to + row * extent, extent);
                                   }
                                 });
  return okStatus();
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::ROUND_TO_DYNAMIC_RANGE;
  definition.signature.rows = {{FeatureLevel::FL3, {OperandType::TENSOR_FLOAT32}}};
  definition.signature.forms = {{"", {typed("input", 0, rankBetween(1, 4)), int32("axis")}, {}}};
  definition.signature.outputs = {typed("output", 0, rankBetween(1, 4))};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::APPROXIMATE;
  return definition;
}

}  // namespace

const OperationDefinition& roundToDynamicRange() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
