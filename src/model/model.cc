// Sizes, texts and small changes of the canonical model.
#include "halyard/driver/model.h"

#include <algorithm>

#include <cstring>

namespace halyard {

std::string_view lifetimeName(Lifetime lifetime) {
  constexpr std::string_view kNames[] = {
      "TEMPORARY_VARIABLE", "SUBGRAPH_INPUT", "SUBGRAPH_OUTPUT", "CONSTANT_COPY",
      "CONSTANT_REFERENCE", "NO_VALUE",       "SUBGRAPH"};
  const auto index = static_cast<size_t>(lifetime);
  return index < std::size(kNames) ? kNames[index] : "unknown lifetime";
}

std::optional<uint32_t> knownElementCount(const Shape& shape) {
  if (shape.empty()) return std::nullopt;
  uint64_t count = 1;
  for (uint32_t d : shape) {
    if (d == 0) return std::nullopt;
    count *= d;
    if (count > UINT32_MAX) return std::nullopt;
  }
  return static_cast<uint32_t>(count);
}

std::optional<uint32_t> knownByteSize(OperandType type, const Shape& shape) {
  const OperandTypeTraits* traits = operandTypeTraits(type);
  if (traits == nullptr) return std::nullopt;
  if (traits->scalar) return traits->elementSize;
  const std::optional<uint32_t> count = knownElementCount(shape);
  if (!count) return std::nullopt;
  const uint64_t bytes = uint64_t{*count} * traits->elementSize;
  if (bytes > UINT32_MAX) return std::nullopt;
  return static_cast<uint32_t>(bytes);
}

std::optional<uint32_t> realByteSize(OperandType type, const Shape& dims) {
  if (std::find(dims.begin(), dims.end(), 0u) != dims.end()) return 0;
  if (dims.empty()) return elementSize(type);
  return knownByteSize(type, dims);
}

Status checkSizeFits(OperandType type, const Shape& shape) {
  uint64_t bytes = std::max<uint32_t>(elementSize(type), 1);
  for (uint32_t d : shape) {
    if (d == 0) continue;
    bytes *= d;
    if (bytes > UINT32_MAX) {
      return badData("{}{} needs more than 4294967295 bytes", operandTypeName(type),
                     shapeText(shape));
    }
  }
  return okStatus();
}

std::string shapeText(const Shape& shape) {
  if (shape.empty()) return "[...]";
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += ",";
    text += shape[i] == 0 ? "?" : std::to_string(shape[i]);
  }
  return text + "]";
}

std::string operandText(const Operand& operand) {
  std::string text = operandTypeName(operand.type);
  if (!isScalarType(operand.type)) text += shapeText(operand.dimensions);
  if (operand.scale != 0 || operand.zeroPoint != 0) {
    text += fmt::format(" scale {} zero point {}", operand.scale, operand.zeroPoint);
  }
  if (const auto* quant = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams)) {
    text += fmt::format(" {} scales along dimension {}", quant->scales.size(), quant->channelDim);
  }
  return text;
}

std::string operationText(size_t index, OperationType type) {
  return fmt::format("operation #{} {}", index, operationTypeName(type));
}

std::vector<uint32_t> countConsumers(const Subgraph& subgraph) {
  std::vector<uint32_t> counts(subgraph.operands.size(), 0);
  for (const Operation& operation : subgraph.operations) {
    for (uint32_t index : operation.inputs) {
      if (index < counts.size()) ++counts[index];
    }
  }
  return counts;
}

DataLocation appendConstant(Model& model, const void* bytes, size_t length) {
  const size_t alignment = length < 2 ? 1 : length < 4 ? 2 : 4;
  std::vector<uint8_t>& values = model.operandValues;
  values.resize((values.size() + alignment - 1) / alignment * alignment);
  DataLocation location;
  location.offset = static_cast<uint32_t>(values.size());
  location.length = static_cast<uint32_t>(length);
  const auto* begin = static_cast<const uint8_t*>(bytes);
  values.insert(values.end(), begin, begin + length);
  return location;
}

}  // namespace halyard
