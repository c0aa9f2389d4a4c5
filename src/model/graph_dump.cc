#include "model/graph_dump.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace halyard {
namespace {

std::string shortTypeName(OperandType type) {
  switch (type) {
    case OperandType::FLOAT32:
      return "F32";
    case OperandType::INT32:
      return "I32";
    case OperandType::UINT32:
      return "U32";
    case OperandType::TENSOR_FLOAT32:
      return "TF32";
    case OperandType::TENSOR_INT32:
      return "TI32";
    case OperandType::TENSOR_QUANT8_ASYMM:
      return "TQ8A";
    case OperandType::OEM_SCALAR:
      return "OEM";
    case OperandType::TENSOR_OEM_BYTE:
      return "TOEMB";
    default:
      return operandTypeName(type);
  }
}

std::string_view lifetimeText(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::CONSTANT_COPY:
      return ": COPY";
    case Lifetime::CONSTANT_REFERENCE:
      return ": REF";
    case Lifetime::NO_VALUE:
      return ": NO";
    case Lifetime::SUBGRAPH:
      return ": SUBGRAPH";
    default:
      return "";
  }
}

template <typename T>
std::string valueText(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return fmt::format(" = {}", value);
}

// Returns the value of a scalar that is stored in the model itself.
std::string scalarText(const Model& model, const Operand& operand) {
  const uint64_t end = uint64_t{operand.location.offset} + 4;
  if (operand.lifetime != Lifetime::CONSTANT_COPY || end > model.operandValues.size()) return {};
  const uint8_t* const bytes = model.operandValues.data() + operand.location.offset;
  switch (operand.type) {
    case OperandType::FLOAT32:
      return valueText<float>(bytes);
    case OperandType::INT32:
      return valueText<int32_t>(bytes);
    case OperandType::UINT32:
      return valueText<uint32_t>(bytes);
    default:
      return {};
  }
}

std::optional<size_t> placeIn(const std::vector<uint32_t>& list, size_t operand) {
  const auto it = std::ranges::find(list, operand);
  if (it == list.end()) return std::nullopt;
  return static_cast<size_t>(it - list.begin());
}

std::string operandNode(const Model& model, size_t index) {
  const Operand& operand = model.main.operands[index];
  const auto input = placeIn(model.main.inputIndexes, index);
  const auto output = placeIn(model.main.outputIndexes, index);
  std::string role;
  if (input) {
    role = fmt::format(" = input[{}]", *input);
  } else if (output) {
    role = fmt::format(" = output[{}]", *output);
  }
  std::string dimensions;
  for (const uint32_t dimension : operand.dimensions) {
    dimensions += fmt::format("{}{}", dimensions.empty() ? "" : "x", dimension);
  }
  if (!dimensions.empty()) dimensions = fmt::format("({})", dimensions);
  return fmt::format("    d{} [{}label=\"{}{}{}\\n{}{}{}\"]", index,
                     input || output ? "style=filled fillcolor=black fontcolor=white " : "", index,
                     role, lifetimeText(operand.lifetime), shortTypeName(operand.type),
                     scalarText(model, operand), dimensions);
}

void addOperation(const Operation& operation, size_t index, std::vector<std::string>* lines) {
  const size_t inputs = operation.inputs.size();
  const size_t outputs = operation.outputs.size();
  std::string_view ordering;
  if (std::max(inputs, outputs) > 1)
    ordering = inputs >= outputs ? " ordering=in" : " ordering=out";
  lines->push_back(fmt::format("    n{} [shape=box{} label=\"{}: {}\"]", index, ordering, index,
                               operationTypeName(operation.type)));
  const auto label = [](size_t count, size_t i) {
    return count > 1 ? fmt::format(" [label={}]", i) : std::string();
  };
  for (size_t i = 0; i < inputs; ++i) {
    lines->push_back(fmt::format("    d{} -> n{}{}", operation.inputs[i], index, label(inputs, i)));
  }
  for (size_t i = 0; i < outputs; ++i) {
    lines->push_back(
        fmt::format("    n{} -> d{}{}", index, operation.outputs[i], label(outputs, i)));
  }
}

}  // namespace

std::vector<std::string> graphDump(const Model& model, std::string_view name) {
  std::vector<std::string> lines;
  lines.push_back(fmt::format("// {}", name));
  if (!model.referenced.empty()) {
    lines.push_back("// Only the main subgraph is drawn.");
    lines.push_back(fmt::format("// Subgraphs left out: {}", model.referenced.size()));
  }
  lines.emplace_back("digraph {");
  for (size_t i = 0; i < model.main.operands.size(); ++i) lines.push_back(operandNode(model, i));
  for (size_t i = 0; i < model.main.operations.size(); ++i) {
    addOperation(model.main.operations[i], i, &lines);
  }
  lines.emplace_back("}");
  return lines;
}

}  // namespace halyard
