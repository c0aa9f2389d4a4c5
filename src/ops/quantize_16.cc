// QUANTIZE_16 and DEQUANTIZE_16 of the extension halyard.tflite: between real numbers and 16-bit
// activations. Layers of models with such activations compute in float.
#include <cstdint>

#include "ops/elementwise.h"
#include "ops/operation.h"
#include "ops/requantize.h"

namespace halyard::ops {
namespace {

constexpr ClampRange<int32_t> kRange = {INT16_MIN, INT16_MAX};

Status dequantizeAll(OperationContext& context) {
  applyUnary<int16_t, float>(context, [scale = context.input(0).scale](int16_t q) {
    return scale * static_cast<float>(q);
  });
  return okStatus();
}

// NaN becomes the lowest value.
Status quantizeAll(OperationContext& context) {
  applyUnary<float, int16_t>(context, [scale = context.output(0).scale](float x) {
    return static_cast<int16_t>(quantizeUnits(static_cast<double>(x / scale), 0, kRange));
  });
  return okStatus();
}

OperationDefinition define(OperationType type, OperandType from, OperandType to) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = {{FeatureLevel::FL3, {from, to}}};
  definition.signature.forms = {{"", {typed("input", 0)}, {}}};
  definition.signature.outputs = {typed("output", 1)};
  definition.infer = inferSameShape;
  definition.reference = type == OperationType::QUANTIZE_16 ? quantizeAll : dequantizeAll;
  definition.precision = Precision::ROUNDED;
  return definition;
}

}  // namespace

const OperationDefinition& dequantize16() {
  return madeOnce([] {
    return define(OperationType::DEQUANTIZE_16, OperandType::TENSOR_QUANT16_SYMM,
                  OperandType::TENSOR_FLOAT32);
  });
}

const OperationDefinition& quantize16() {
  return madeOnce([] {
    return define(OperationType::QUANTIZE_16, OperandType::TENSOR_FLOAT32,
                  OperandType::TENSOR_QUANT16_SYMM);
  });
}

}  // namespace halyard::ops
