// Converts changes of representation: quantising, dequantising, requantising; folds constants.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/float16.h"
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

// Returns the number of elements between two steps along `dimension`.
size_t innerSize(const Shape& dims, size_t dimension) {
  size_t count = 1;
  for (size_t i = dimension + 1; i < dims.size(); ++i) count *= dims[i];
  return count;
}

void foldHalves(const uint8_t* data, std::span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    Float16 half;
    std::memcpy(&half, data + i * sizeof(half), sizeof(half));
    to[i] = toFloat(half);
  }
}

// T: int8_t or uint8_t. The zero points fit it.
template <typename T>
void foldBytes(const FileTensor& tensor, const uint8_t* data, std::span<float> to) {
  const size_t channels = tensor.scales.size();
  const auto dimension = static_cast<size_t>(std::max(tensor.quantizedDimension, 0));
  const size_t run = channels > 1 ? innerSize(tensor.dims, dimension) : to.size();
  for (size_t begin = 0, channel = 0; begin < to.size(); begin += run) {
    const float scale = tensor.scales[channel];
    const auto zeroPoint =
        static_cast<int32_t>(tensor.zeroPoints.empty() ? 0 : tensor.zeroPoints[channel]);
    const size_t end = std::min(begin + run, to.size());
    for (size_t i = begin; i < end; ++i) {
      to[i] = scale * static_cast<float>(static_cast<T>(data[i]) - zeroPoint);
    }
    if (++channel == channels) channel = 0;
  }
}

void fold(const FileTensor& tensor, const uint8_t* data, std::span<float> to) {
  if (tensor.type == tfl::TensorType::FLOAT16) return foldHalves(data, to);
  if (tensor.type != tfl::TensorType::UINT8) return foldBytes<int8_t>(tensor, data, to);
  foldBytes<uint8_t>(tensor, data, to);
}

Status checkFoldable(const FileTensor& tensor) {
  const bool isInt8 = tensor.type == tfl::TensorType::INT8 || tensor.type == tfl::TensorType::INT4;
  if (tensor.type == tfl::TensorType::FLOAT16) return okStatus();
  if (!isInt8 && tensor.type != tfl::TensorType::UINT8) {
    return unsupported("{} is of type {}, expected FLOAT16, INT8, INT4 or UINT8", tensor.text(),
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

// Up to this size, the model itself has the floats.
constexpr size_t kMostFoldedHere = 128;

// Returns the constant as an input of NNAPI's DEQUANTIZE, or of CAST for float16; nullopt if the
// operation does not support it.
std::optional<Operand> dequantizable(const FileTensor& tensor) {
  if (tensor.dims.empty() || tensor.dims.size() > 4) return std::nullopt;
  Operand operand;
  operand.dimensions = tensor.dims;
  if (tensor.type == tfl::TensorType::FLOAT16) {
    operand.type = OperandType::TENSOR_FLOAT16;
    return operand;
  }
  // Those of 4 bits become bytes.
  const bool isInt8 = tensor.type == tfl::TensorType::INT8 || tensor.type == tfl::TensorType::INT4;
  const auto isPositive = [](float scale) { return scale > 0 && std::isfinite(scale); };
  if ((!isInt8 && tensor.type != tfl::TensorType::UINT8) ||
      !std::ranges::all_of(tensor.scales, isPositive)) {
    return std::nullopt;
  }
  if (tensor.scales.size() == 1) {
    operand.type =
        isInt8 ? OperandType::TENSOR_QUANT8_ASYMM_SIGNED : OperandType::TENSOR_QUANT8_ASYMM;
    operand.scale = tensor.scales[0];
    if (!tensor.zeroPoints.empty()) operand.zeroPoint = static_cast<int32_t>(tensor.zeroPoints[0]);
    return operand;
  }
  for (size_t i = 0; i < tensor.zeroPoints.size(); ++i) {
    if (tensor.zeroPoints[i] != 0) return std::nullopt;
  }
  const auto dimension = static_cast<size_t>(std::max(tensor.quantizedDimension, 0));
  if (!isInt8 || dimension >= tensor.dims.size() ||
      tensor.dims[dimension] != tensor.scales.size()) {
    return std::nullopt;
  }
  operand.type = OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL;
  operand.extraParams = SymmPerChannelQuantParams{{tensor.scales.begin(), tensor.scales.end()},
                                                  static_cast<uint32_t>(dimension)};
  return operand;
}

Status convertDequantize(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from, node.inputInfo(0));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::FLOAT32) {
    return unsupported("the output ({}) is {}, expected FLOAT32", to.text(),
                       tensorTypeName(to.type));
  }
  if (from.isConstant()) {
    // The kernels need weights stored in a small type as constant floats.
    if (!to.dims.empty() && to.dims != from.dims) {
      return badData("the output ({}) is {}, the input {}", to.text(), shapeText(to.dims),
                     shapeText(from.dims));
    }
    HALYARD_ASSIGN_OR_RETURN(const uint32_t folded, foldedToFloat(node.builder(), from));
    return node.forward(0, folded);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  if (node.operand(x).type == OperandType::TENSOR_FLOAT16) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
    return node.builder().addOperation(OperationType::CAST, {x}, {y});
  }
  if (node.has16Bits()) return node.forward(0, x);
  if (!isQuant8Asymm(node.operand(x).type)) {
    return unsupported("of a {} that is no constant: NNAPI dequantises INT8 and UINT8",
                       tensorTypeName(from.type));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(OperationType::DEQUANTIZE, {x}, {y});
}

Status convertQuantize(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  // NNAPI quantises floats only. A change of quantisation goes through float32. It holds every
  // quantised value (8 or 16 bits times a scale) to well below a hundredth of a step.
  if (isQuant8Asymm(node.operand(x).type)) {
    HALYARD_ASSIGN_OR_RETURN(x, node.dequantized(x));
  }
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type == tfl::TensorType::INT16) return node.forward(0, x);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.quantize(x, y);
}

// A sparse constant becomes a dense one.
Status convertDensify(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  if (!node.hasInput(0)) return badData("input 0 is left out");
  GraphBuilder& builder = node.builder();
  Sparsity sparsity;
  HALYARD_ASSIGN_OR_RETURN(const FileTensor from,
                           builder.file().sparseTensor(node.inputTensor(0), &sparsity));
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  using enum tfl::TensorType;
  if (from.type != FLOAT32 && from.type != FLOAT16 && from.type != INT8) {
    return unsupported("{} is {}, expected FLOAT32, FLOAT16 or INT8", from.text(),
                       tensorTypeName(from.type));
  }
  if (to.type != from.type || (!to.dims.empty() && to.dims != from.dims)) {
    return badData("the output ({}) is {}{}, the input {}{}", to.text(), tensorTypeName(to.type),
                   shapeText(to.dims), tensorTypeName(from.type), shapeText(from.dims));
  }
  HALYARD_ASSIGN_OR_RETURN(Operand operand, builder.describe(from));
  const std::optional<uint32_t> size = knownByteSize(operand.type, from.dims);
  if (!size) return badData("{} has the shape {}", from.text(), shapeText(from.dims));
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> values, builder.contents(from));
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> dense, builder.newBytes(*size));
  HALYARD_RETURN_IF_ERROR(sparsity.densify(from.dims, values, tensorElementSize(from.type), dense),
                          "{}", from.text());
  HALYARD_ASSIGN_OR_RETURN(const uint32_t constant,
                           builder.addOwnConstant(std::move(operand), dense, builder.nameOf(to)));
  return node.forward(0, constant);
}

constexpr Converter kQuantizationConverters[] = {
    {tfl::BuiltinOperator::DENSIFY, tfl::BuiltinOptions::DensifyOptions, OptionsNeed::OPTIONAL,
     convertDensify},
    {tfl::BuiltinOperator::DEQUANTIZE, tfl::BuiltinOptions::DequantizeOptions,
     OptionsNeed::OPTIONAL, convertDequantize, kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::QUANTIZE, tfl::BuiltinOptions::QuantizeOptions, OptionsNeed::OPTIONAL,
     convertQuantize, kTakesOpenRank | kTakesInt16},
};

}  // namespace

namespace {

// Returns the constant as floats, computed by a DEQUANTIZE or CAST.
Result<uint32_t> dequantized(GraphBuilder& builder, Operand bytes, const FileTensor& tensor,
                             std::string name) {
  const OperationType type =
      bytes.type == OperandType::TENSOR_FLOAT16 ? OperationType::CAST : OperationType::DEQUANTIZE;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t from, addStored(builder, std::move(bytes), tensor));
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t real,
      builder.addTemporary(OperandType::TENSOR_FLOAT32, tensor.dims, 0, 0, std::move(name)));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(type, {from}, {real}));
  return real;
}

// Returns a constant of floats.
Result<uint32_t> folded(GraphBuilder& builder, const FileTensor& tensor, std::string name) {
  const bool is4Bits = tensor.type == tfl::TensorType::INT4;
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> data,
                           is4Bits ? unpackedNibbles(builder, tensor) : builder.contents(tensor));
  const size_t count = data.size() / (is4Bits ? 1 : tensorElementSize(tensor.type));
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, builder.newBytes(count * sizeof(float)));
  fold(tensor, data.data(), {reinterpret_cast<float*>(bytes.data()), count});
  Operand operand;
  operand.type = OperandType::TENSOR_FLOAT32;
  operand.dimensions = tensor.dims.empty() ? Shape{1} : tensor.dims;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t added,
                           builder.addOwnConstant(std::move(operand), bytes, std::move(name)), "{}",
                           tensor.text());
  return added;
}

}  // namespace

Result<uint32_t> addStored(GraphBuilder& builder, Operand operand, const FileTensor& tensor) {
  if (tensor.type != tfl::TensorType::INT4) {
    return builder.addFileConstant(std::move(operand), tensor);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> bytes, unpackedNibbles(builder, tensor));
  return builder.addOwnConstant(std::move(operand), bytes, builder.nameOf(tensor));
}

Result<std::span<const uint8_t>> unpackedNibbles(GraphBuilder& builder, const FileTensor& tensor) {
  HALYARD_ASSIGN_OR_RETURN(const std::span<const uint8_t> packed, builder.contents(tensor));
  const size_t count = knownElementCount(tensor.dims).value_or(0);
  if (packed.size() != (count + 1) / 2) {
    return badData("{} has {} bytes, {} elements of 4 bits need {}", tensor.text(), packed.size(),
                   count, (count + 1) / 2);
  }
  HALYARD_ASSIGN_OR_RETURN(const std::span<uint8_t> bytes, builder.newBytes(count));
  for (size_t i = 0; i < count; ++i) {
    const int nibble = packed[i / 2] >> (i % 2 * 4) & 15;
    bytes[i] = static_cast<uint8_t>(nibble < 8 ? nibble : nibble - 16);
  }
  return std::span<const uint8_t>(bytes);
}

Result<uint32_t> foldedToFloat(GraphBuilder& builder, const FileTensor& tensor) {
  if (const auto known = builder.floatsOf(tensor.index)) return *known;
  HALYARD_RETURN_IF_ERROR(checkFoldable(tensor));
  std::optional<Operand> bytes;
  if (builder.prefersExtension() && tensor.data.size() > kMostFoldedHere)
    bytes = dequantizable(tensor);
  std::string name = builder.nameOf(tensor) + " (float)";
  HALYARD_ASSIGN_OR_RETURN(const uint32_t operand,
                           bytes ? dequantized(builder, std::move(*bytes), tensor, std::move(name))
                                 : folded(builder, tensor, std::move(name)));
  builder.keepFloatsOf(tensor.index, operand);
  return operand;
}

std::span<const Converter> quantizationConverters() { return kQuantizationConverters; }

}  // namespace halyard::import
