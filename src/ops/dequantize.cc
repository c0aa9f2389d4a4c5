// DEQUANTIZE: 8-bit values to real numbers, with one scale or one per channel.
#include <algorithm>
#include <cstdint>

#include "ops/axis.h"
#include "ops/elementwise.h"
#include "ops/operand_checks.h"
#include "ops/operation.h"

namespace halyard::ops {
namespace {

Status checkChannels(const Tensor& input) {
  const SymmPerChannelQuantParams* quant = input.channelQuant;
  if (quant == nullptr) return opFailed("input has no per-channel scales");
  if (quant->channelDim < input.rank() && quant->scales.size() == input.dims[quant->channelDim]) {
    return okStatus();
  }
  return opFailed("input {} has {} scales along dimension {}", realShapeText(input.dims),
                  quant->scales.size(), quant->channelDim);
}

Status infer(OperationContext& context) {
  const Tensor& input = context.input(0);
  HALYARD_RETURN_IF_ERROR(checkRank(input, 1, 4, "input"));
  if (input.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    HALYARD_RETURN_IF_ERROR(checkChannels(input));
  }
  context.output(0).dims = input.dims;
  return okStatus();
}

template <typename T>
void scaleAll(OperationContext& context, int32_t zeroPoint) {
  applyUnary<T, float>(context, [scale = context.input(0).scale, zeroPoint](T q) {
    return scale * static_cast<float>(q - zeroPoint);
  });
}

void scaleChannels(OperationContext& context) {
  const Tensor& input = context.input(0);
  const std::vector<float>& scales = input.channelQuant->scales;
  const AxisView view = axisView(input.dims, input.channelQuant->channelDim);
  const auto* from = input.as<int8_t>();
  auto* to = context.output(0).as<float>();
  const size_t grain = std::max<size_t>(1, kElementGrain / (view.extent * view.inner));
  context.services().parallelFor(view.outer, grain, [&](size_t begin, size_t end) {
    for (size_t o = begin; o < end; ++o) {
      size_t at = o * view.extent * view.inner;
      for (size_t c = 0; c < view.extent; ++c) {
        const float scale = scales[c];
        for (size_t i = 0; i < view.inner; ++i, ++at) to[at] = scale * static_cast<float>(from[at]);
      }
    }
  });
}

Status compute(OperationContext& context) {
  const Tensor& input = context.input(0);
  switch (input.type) {
    case OperandType::TENSOR_QUANT8_ASYMM:
      scaleAll<uint8_t>(context, input.zeroPoint);
      return okStatus();
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
      scaleAll<int8_t>(context, input.zeroPoint);
      return okStatus();
    case OperandType::TENSOR_QUANT8_SYMM:
      scaleAll<int8_t>(context, 0);
      return okStatus();
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
      scaleChannels(context);
      return okStatus();
    default:
      return badData("input is {}", operandTypeName(input.type));
  }
}

OperationDefinition define() {
  using enum FeatureLevel;
  using enum OperandType;
  OperationDefinition definition;
  definition.type = OperationType::DEQUANTIZE;
  definition.signature.rows = {{FL1, {TENSOR_QUANT8_ASYMM, TENSOR_FLOAT32}},
                               {FL3, {TENSOR_QUANT8_ASYMM, TENSOR_FLOAT16}},
                               {FL3, {TENSOR_QUANT8_SYMM, TENSOR_FLOAT32}},
                               {FL3, {TENSOR_QUANT8_SYMM, TENSOR_FLOAT16}},
                               {FL3, {TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT32}},
                               {FL3, {TENSOR_QUANT8_SYMM_PER_CHANNEL, TENSOR_FLOAT16}},
                               {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT32}},
                               {FL4, {TENSOR_QUANT8_ASYMM_SIGNED, TENSOR_FLOAT16}}};
  definition.signature.forms = {{"", {typed("input", 0, rankBetween(1, 4))}, {}}};
  definition.signature.outputs = {typed("output", 1)};
  definition.infer = infer;
  definition.reference = compute;
  definition.precision = Precision::ROUNDED;
  definition.acceptsZeroSized = true;
  return definition;
}

}  // namespace

const OperationDefinition& dequantize() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
