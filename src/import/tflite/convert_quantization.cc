// Changes of representation: quantising, dequantising, requantising; folding of constants.
#include <cstring>

#include "base/float16.h"
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

// How many elements lie between two steps along `dimension`.
size_t innerSize(const Shape& dims, size_t dimension) {
  size_t count = 1;
  for (size_t i = dimension + 1; i < dims.size(); ++i) count *= dims[i];
  return count;
}

float foldedElement(const FileTensor& tensor, const uint8_t* data, size_t element, size_t inner) {
  if (tensor.type == tfl::TensorType::FLOAT16) {
    Float16 half;
    std::memcpy(&half, data + element * sizeof(half), sizeof(half));
    return toFloat(half);
  }
  const size_t channel = tensor.scales.size() > 1 ? element / inner % tensor.scales.size() : 0;
  const int64_t zeroPoint = tensor.zeroPoints.empty() ? 0 : tensor.zeroPoints[channel];
  const int64_t value = tensor.type == tfl::TensorType::INT8 ? static_cast<int8_t>(data[element])
                                                             : int64_t{data[element]};
  return tensor.scales[channel] * static_cast<float>(value - zeroPoint);
}

Status checkFoldable(const FileTensor& tensor) {
  const bool isInt8 = tensor.type == tfl::TensorType::INT8;
  if (tensor.type == tfl::TensorType::FLOAT16) return okStatus();
  if (!isInt8 && tensor.type != tfl::TensorType::UINT8) {
    return unsupported("{} is of type {}, expected FLOAT16, INT8 or UINT8", tensor.text(),
                       tensorTypeName(tensor.type));
  }
  if (tensor.scales.empty()) return badData("{} has no scale", tensor.text());
  for (size_t i = 0; i < tensor.zeroPoints.size(); ++i) {
    const int64_t zeroPoint = tensor.zeroPoints[i];
    if (zeroPoint < (isInt8 ? INT8_MIN : 0) || zeroPoint > (isInt8 ? INT8_MAX : UINT8_MAX)) {
      return badData("{} has zero point {}, out of range of {}", tensor.text(), zeroPoint,
                     tensorTypeName(tensor.type));
    }
  }
  return okStatus();
}

Status convertDequantize(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::FLOAT32) {
    return unsupported("the output ({}) is {}, expected FLOAT32", to.text(),
                       tensorTypeName(to.type));
  }
  const bool isOutput = node.builder().isModelOutput(to.index);
  if (from.isConstant() && !isOutput) {
    // Weights that are stored small: the kernels want them as floats, and constant.
    if (!to.dims.empty() && to.dims != from.dims) {
      return badData("the output ({}) is {}, the input {}", to.text(), shapeText(to.dims),
                     shapeText(from.dims));
    }
    if (to.isConstant()) return badData("{} is written, but is a constant", to.text());
    HALYARD_ASSIGN_OR_RETURN(const uint32_t folded, foldedToFloat(node.builder(), from));
    return node.builder().bind(to.index, folded);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  if (!isQuant8Asymm(node.operand(x).type)) {
    return unsupported("of a {} that is {}: NNAPI dequantises INT8 and UINT8",
                       tensorTypeName(from.type),
                       from.isConstant() ? "an output of the model" : "no constant");
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(OperationType::DEQUANTIZE, {x}, {y});
}

Status convertQuantize(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  // NNAPI quantises floats only. From one quantisation to another the value passes through float32,
  // which holds every quantised value (8 bits times a scale) to well below a thousandth of a step.
  if (isQuant8Asymm(node.operand(x).type)) {
    HALYARD_ASSIGN_OR_RETURN(x, node.dequantized(x));
  }
  return node.quantize(x, y);
}

constexpr Converter kConverters[] = {
    {tfl::BuiltinOperator::DEQUANTIZE, tfl::BuiltinOptions::DequantizeOptions,
     OptionsNeed::OPTIONAL, convertDequantize},
    {tfl::BuiltinOperator::QUANTIZE, tfl::BuiltinOptions::QuantizeOptions, OptionsNeed::OPTIONAL,
     convertQuantize},
};

}  // namespace

Result<uint32_t> foldedToFloat(GraphBuilder& builder, const FileTensor& tensor) {
  HALYARD_RETURN_IF_ERROR(checkFoldable(tensor));
  const size_t count = tensor.data.size() / tensorElementSize(tensor.type);
  HALYARD_RETURN_IF_ERROR(builder.spend(uint64_t{count} * sizeof(float)));
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> data, builder.contents(tensor));
  std::vector<uint8_t> bytes(count * sizeof(float));
  const size_t inner =
      innerSize(tensor.dims, static_cast<size_t>(std::max(tensor.quantizedDimension, 0)));
  for (size_t i = 0; i < count; ++i) {
    const float value = foldedElement(tensor, data.data(), i, inner);
    std::memcpy(bytes.data() + i * sizeof(value), &value, sizeof(value));
  }
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = tensor.dims.empty() ? Shape{1} : tensor.dims;
  return builder.addOwnConstant(std::move(operand), std::move(bytes),
                                displayName(tensor.name) + " (float)");
}

std::span<const Converter> quantizationConverters() { return kConverters; }

}  // namespace halyard::import
