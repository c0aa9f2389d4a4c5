// Text and Graphviz dumps of models, safe for models that are not valid.
#include "model/dump.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/float16.h"
#include "halyard/driver/constants.h"

namespace halyard {
namespace {

// The dump prints the values of a constant with at most this number of elements.
constexpr size_t kMaxPrintedValues = 8;
// A drawing cuts operand names that are longer.
constexpr size_t kMaxDrawnName = 48;

// Names come from files. Quotes, backslashes and control characters in them must not end a string
// or a line.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      result += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string byteText(uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1024 * 1024));
}

template <typename T, typename Convert>
std::string valuesText(const uint8_t* data, size_t count, Convert convert) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, data + i * sizeof(T), sizeof(T));
    text += fmt::format("{}{}", i == 0 ? "" : ", ", convert(value));
  }
  return text;
}

// Returns the values of a small constant in Model::operandValues, or an empty text.
std::string constantValues(const Model& model, const Operand& operand) {
  const uint64_t size = operand.location.length;
  const uint64_t begin = operand.location.offset;
  if (operand.lifetime != Lifetime::CONSTANT_COPY || begin + size > model.operandValues.size()) {
    return {};
  }
  const uint32_t each = elementSize(operand.type);
  if (each == 0 || size % each != 0 || size == 0 || size / each > kMaxPrintedValues) return {};
  const uint8_t* data = model.operandValues.data() + begin;
  const size_t count = size / each;
  const auto same = [](auto value) { return value; };
  switch (operand.type) {
    case OperandType::FLOAT32:
    case OperandType::TENSOR_FLOAT32:
      return valuesText<float>(data, count, same);
    case OperandType::FLOAT16:
    case OperandType::TENSOR_FLOAT16:
      return valuesText<Float16>(data, count, [](Float16 value) { return toFloat(value); });
    case OperandType::INT32:
    case OperandType::TENSOR_INT32:
      return valuesText<int32_t>(data, count, same);
    case OperandType::UINT32:
      return valuesText<uint32_t>(data, count, same);
    case OperandType::BOOL:
    case OperandType::TENSOR_BOOL8:
      return valuesText<uint8_t>(data, count, [](uint8_t value) { return value != 0; });
    case OperandType::TENSOR_QUANT8_ASYMM:
      return valuesText<uint8_t>(data, count, same);
    case OperandType::TENSOR_QUANT8_ASYMM_SIGNED:
    case OperandType::TENSOR_QUANT8_SYMM:
    case OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL:
      return valuesText<int8_t>(data, count, [](int8_t value) { return int{value}; });
    default:
      return {};
  }
}

std::string indexList(std::span<const uint32_t> indexes, size_t operandCount) {
  std::string text;
  for (const uint32_t index : indexes) {
    text += fmt::format("{}%{}{}", text.empty() ? "" : ", ", index,
                        index < operandCount ? "" : " (no such operand)");
  }
  return text;
}

uint64_t constantBytes(const Model& model) {
  uint64_t bytes = 0;
  const auto add = [&](const Subgraph& subgraph) {
    for (const Operand& operand : subgraph.operands) {
      if (isConstant(operand)) bytes += operand.location.length;
    }
  };
  add(model.main);
  for (const Subgraph& subgraph : model.referenced) add(subgraph);
  return bytes;
}

std::string operandLine(const Model& model, const Operand& operand, size_t index,
                        std::string_view name) {
  std::string line = fmt::format("  operand %{}", index);
  if (!name.empty()) line += fmt::format(" \"{}\"", escaped(name));
  line += fmt::format(" {} {}", operandText(operand), lifetimeName(operand.lifetime));
  if (operand.lifetime == Lifetime::CONSTANT_REFERENCE) {
    line += fmt::format(" pool {} offset {} length {}", operand.location.poolIndex,
                        operand.location.offset, operand.location.length);
  } else if (operand.lifetime == Lifetime::SUBGRAPH) {
    line += fmt::format(" referenced #{}", operand.location.offset);
  } else if (const std::string values = constantValues(model, operand); !values.empty()) {
    line += fmt::format(" = {}", values);
  } else if (operand.lifetime == Lifetime::CONSTANT_COPY) {
    line += fmt::format(" {}", byteText(operand.location.length));
  }
  return line + "\n";
}

std::string subgraphText(const Model& model, const Subgraph& subgraph, std::string_view title,
                         std::span<const std::string> names) {
  const size_t count = subgraph.operands.size();
  std::string text =
      fmt::format("{}\n  inputs {}\n  outputs {}\n", title, indexList(subgraph.inputIndexes, count),
                  indexList(subgraph.outputIndexes, count));
  for (size_t i = 0; i < count; ++i) {
    text += operandLine(model, subgraph.operands[i], i, i < names.size() ? names[i] : "");
  }
  for (size_t i = 0; i < subgraph.operations.size(); ++i) {
    const Operation& operation = subgraph.operations[i];
    text += fmt::format("  {}({}) -> {}\n", operationText(i, operation.type),
                        indexList(operation.inputs, count), indexList(operation.outputs, count));
  }
  return text;
}

// Draws one subgraph. The name of a node is PREFIX, one letter and a number. The letter is o
// (operation), i (input), r (result) or c (constant).
class GraphWriter {
 public:
  GraphWriter(const Model& model, const Subgraph& subgraph, std::span<const std::string> names,
              std::string prefix, bool drawConstants)
      : model_(model),
        subgraph_(subgraph),
        names_(names),
        prefix_(std::move(prefix)),
        drawConstants_(drawConstants),
        sources_(subgraph.operands.size()) {}

  std::string write() {
    writeInputs();
    for (size_t i = 0; i < subgraph_.operations.size(); ++i) writeOperation(i);
    writeEdges();
    return std::move(text_);
  }

 private:
  const Operand* operandAt(uint32_t index) const {
    return index < subgraph_.operands.size() ? &subgraph_.operands[index] : nullptr;
  }

  // The label is "name\ntype and shape". Graphviz turns the \n into a line break.
  std::string operandLabel(uint32_t index) const {
    std::string label;
    if (index < names_.size() && !names_[index].empty()) {
      const std::string& name = names_[index];
      label = name.size() <= kMaxDrawnName
                  ? escaped(name)
                  : "..." + escaped(std::string_view(name).substr(name.size() - kMaxDrawnName));
      label += "\\n";
    }
    return label + escaped(operandText(subgraph_.operands[index]));
  }

  void writeInputs() {
    for (const uint32_t index : subgraph_.inputIndexes) {
      if (operandAt(index) == nullptr) continue;
      sources_[index] = fmt::format("{}i{}", prefix_, index);
      text_ +=
          fmt::format("  {} [shape=oval, style=filled, fillcolor=\"#d7ecd9\", label=\"{}\"];\n",
                      sources_[index], operandLabel(index));
    }
  }

  void writeOperation(size_t number) {
    const Operation& operation = subgraph_.operations[number];
    std::string label = fmt::format("#{} {}", number, escaped(operationTypeName(operation.type)));
    uint64_t tensors = 0;
    uint64_t bytes = 0;
    for (const uint32_t index : operation.inputs) {
      const Operand* operand = operandAt(index);
      if (operand == nullptr) {
        label += fmt::format("\\n%{} (no such operand)", index);
      } else if (operand->lifetime == Lifetime::SUBGRAPH) {
        label += fmt::format("\\nreferenced #{}", operand->location.offset);
      } else if (isConstant(*operand) && !isScalarType(operand->type)) {
        ++tensors;
        bytes += operand->location.length;
      }
    }
    if (tensors != 0 && !drawConstants_) {
      label +=
          fmt::format("\\n{} constant{}, {}", tensors, tensors == 1 ? "" : "s", byteText(bytes));
    }
    const std::string node = fmt::format("{}o{}", prefix_, number);
    text_ += fmt::format("  {} [shape=box, label=\"{}\"];\n", node, label);
    for (const uint32_t index : operation.outputs) {
      if (operandAt(index) != nullptr) sources_[index] = node;
    }
  }

  // Returns the node that holds an operand's value. The node of a constant is drawn at its first
  // use.
  std::string sourceOf(uint32_t index) {
    const Operand* operand = operandAt(index);
    if (operand == nullptr) return {};
    if (sources_[index].empty() && isConstant(*operand) && drawConstants_) {
      sources_[index] = fmt::format("{}c{}", prefix_, index);
      std::string label = operandLabel(index);
      if (const std::string values = constantValues(model_, *operand); !values.empty()) {
        label += fmt::format("\\n= {}", values);
      }
      text_ +=
          fmt::format("  {} [shape=oval, style=filled, fillcolor=\"#eeeeee\", label=\"{}\"];\n",
                      sources_[index], label);
    }
    return sources_[index];
  }

  void writeEdges() {
    for (size_t i = 0; i < subgraph_.operations.size(); ++i) {
      for (const uint32_t index : subgraph_.operations[i].inputs) {
        const std::string source = sourceOf(index);
        if (source.empty()) continue;
        // An oval already contains the description of its operand.
        const bool labelled = source[prefix_.size()] == 'o';
        text_ += fmt::format("  {} -> {}o{}{};\n", source, prefix_, i,
                             labelled ? fmt::format(" [label=\"{}\"]", operandLabel(index)) : "");
      }
    }
    for (const uint32_t index : subgraph_.outputIndexes) {
      if (operandAt(index) == nullptr) continue;
      text_ +=
          fmt::format("  {}r{} [shape=oval, style=filled, fillcolor=\"#d6e4f5\", label=\"{}\"];\n",
                      prefix_, index, operandLabel(index));
      if (const std::string source = sourceOf(index); !source.empty()) {
        text_ += fmt::format("  {} -> {}r{};\n", source, prefix_, index);
      }
    }
  }

  const Model& model_;
  const Subgraph& subgraph_;
  const std::span<const std::string> names_;
  const std::string prefix_;
  const bool drawConstants_;
  std::vector<std::string> sources_;  // name of the node by operand; empty: not drawn yet
  std::string text_;
};

}  // namespace

std::string modelText(const Model& model, std::span<const std::string> names) {
  std::string text = fmt::format(
      "model: {} operations, {} operands, {} referenced subgraphs, {} pools, {} of constants{}\n",
      model.main.operations.size(), model.main.operands.size(), model.referenced.size(),
      model.pools.size(), byteText(constantBytes(model)),
      model.relaxComputationFloat32toFloat16 ? ", float32 may be computed as float16" : "");
  text += subgraphText(model, model.main, "main", names);
  for (size_t i = 0; i < model.referenced.size(); ++i) {
    text += subgraphText(model, model.referenced[i], fmt::format("referenced #{}", i), {});
  }
  return text;
}

std::string modelGraphviz(const Model& model, std::span<const std::string> names,
                          bool drawConstants) {
  std::string text =
      "digraph model {\n"
      "  node [fontname=\"sans-serif\", fontsize=11];\n"
      "  edge [fontname=\"sans-serif\", fontsize=9];\n";
  text += GraphWriter(model, model.main, names, "m_", drawConstants).write();
  for (size_t i = 0; i < model.referenced.size(); ++i) {
    text += fmt::format("  subgraph cluster_{} {{\n  label=\"referenced #{}\";\n", i, i);
    text +=
        GraphWriter(model, model.referenced[i], {}, fmt::format("s{}_", i), drawConstants).write();
    text += "  }\n";
  }
  return text + "}\n";
}

}  // namespace halyard
