// MEAN: averages over any set of dimensions.
#include <cstdint>
#include <type_traits>

#include "ops/operation.h"
#include "ops/reduction.h"
#include "ops/requantize.h"
#include "ops/type_rows.h"

namespace halyard::ops {
namespace {

Status infer(OperationContext& context) {
  int32_t keepDims = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kKeepDimsInput, &keepDims), "keep_dims");
  return inferReduction(context, keepDims > 0);
}

template <typename T>
Status average(OperationContext& context) {
  using Sum = std::conditional_t<std::is_same_v<T, float>, double, int64_t>;
  const double count = static_cast<double>(context.input(0).elementCount()) /
                       static_cast<double>(context.output(0).elementCount());
  const ClampRange<int32_t> range = quantizedRange(context.output(0).type);
  return reduce<AddReducer<Sum>, T>(context, [count, range](Sum sum) {
    const double mean = static_cast<double>(sum) / count;
    if constexpr (std::is_same_v<T, float>) {
      static_cast<void>(range);  // only for quantised results
      return static_cast<float>(mean);
    } else {
      return static_cast<T>(quantizeUnits(mean, 0, range));
    }
  });
}

Status compute(OperationContext& context) {
  switch (context.input(0).type) {
    case OperandType::TENSOR_FLOAT32:
      return average<float>(context);
    case OperandType::TENSOR_QUANT8_ASYMM:
      return average<uint8_t>(context);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      return average<int8_t>(context);
    default:
      return badData("input is {}", operandTypeName(context.input(0).type));
  }
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::MEAN;
  definition.signature.rows = floatAndQuant8Rows(FeatureLevel::FL2);
  definition.signature.forms = {{"", reductionInputs(int32("keep_dims")), {}}};
  definition.signature.outputs = {typed("output", 0)};
  definition.infer = infer;
  definition.reference = compute;
  return definition;
}

}  // namespace

const OperationDefinition& mean() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
