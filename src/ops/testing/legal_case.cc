#include "ops/testing/legal_case.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace halyard::ops::testing {
namespace {

size_t tablePosition(const std::vector<OperandSpec>& specs, int repeated, size_t count, size_t i) {
  if (repeated < 0) return i;
  const auto first = static_cast<size_t>(repeated);
  const size_t extra = count - specs.size();
  return i <= first ? i : std::max(first, i - std::min(extra, i));
}

}  // namespace

unsigned hashOf(const std::string& text, unsigned seed) {
  unsigned hash = seed * 2654435761u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

const OperandSpec& tableSpec(const Signature& signature, const Variant& variant, bool input,
                             size_t i) {
  const Form& form = signature.forms[variant.form];
  return input ? form.inputs[tablePosition(form.inputs, form.repeated, variant.inputs, i)]
               : signature.outputs[tablePosition(signature.outputs, signature.repeatedOutput,
                                                 variant.outputs, i)];
}

OperandType tableType(const Signature& signature, const Variant& variant, bool input, size_t i) {
  const OperandSpec& spec = tableSpec(signature, variant, input, i);
  return spec.column < 0 ? spec.fixed
                         : signature.rows[variant.row].types[static_cast<size_t>(spec.column)];
}

std::vector<size_t> lengthsOf(size_t size, const std::vector<CountRule>& counts, int repeated) {
  if (repeated >= 0) return {size, size + 1, size + 2};
  if (counts.empty()) return {size};
  std::vector<size_t> result;
  for (const CountRule& rule : counts) result.push_back(rule.count);
  return result;
}

std::vector<Variant> variantsOf(const Signature& signature) {
  std::vector<Variant> result;
  for (size_t f = 0; f < signature.forms.size(); ++f) {
    const Form& form = signature.forms[f];
    for (size_t row = 0; row < std::max<size_t>(signature.rows.size(), 1); ++row) {
      for (size_t inputs : lengthsOf(form.inputs.size(), form.counts, form.repeated)) {
        for (size_t outputs : lengthsOf(signature.outputs.size(), signature.outputCounts,
                                        signature.repeatedOutput)) {
          result.push_back({f, row, inputs, outputs});
        }
      }
    }
  }
  return result;
}

std::string LegalCase::text() const {
  const auto describe = [](const TestOperand& operand) {
    const Tensor& t = operand.tensor;
    std::string result = operandTypeName(t.type);
    if (t.omitted) return result + " omitted";
    if (!isScalarType(t.type)) result += fmt::format("[{}]", fmt::join(t.dims, ","));
    if (t.scale != 0) result += fmt::format(" scale {} zero point {}", t.scale, t.zeroPoint);
    const bool isInt = t.type == OperandType::INT32 || t.type == OperandType::TENSOR_INT32;
    if (isInt && operand.bytes.size() <= 64) {
      result += fmt::format(" = {}", fmt::join(operand.values<int32_t>(), " "));
    } else if (t.type == OperandType::BOOL) {
      result += operand.bytes[0] != 0 ? " = true" : " = false";
    } else if (t.type == OperandType::FLOAT32) {
      result += fmt::format(" = {}", operand.values<float>()[0]);
    }
    return result;
  };
  std::string result = fmt::format("HALYARD_PROPERTY_CASE={}", id);
  for (size_t i = 0; i < inputs.size(); ++i) {
    result += fmt::format("\n  input {}: {}", i, describe(inputs[i]));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    result += fmt::format("\n  output {}: {}", i, describe(outputs[i]));
  }
  return result;
}

Operand operandFor(const TestOperand& from) {
  Operand operand;
  operand.type = from.tensor.type;
  if (!isScalarType(operand.type)) operand.dimensions = from.tensor.dims;
  operand.scale = from.tensor.scale;
  operand.zeroPoint = from.tensor.zeroPoint;
  if (from.tensor.channelQuant != nullptr) operand.extraParams = *from.tensor.channelQuant;
  return operand;
}

Model toModel(const LegalCase& legal) {
  Model model;
  Operation operation;
  operation.type = legal.type;
  std::mt19937 choice(hashOf(legal.id, 0));
  for (size_t i = 0; i < legal.inputs.size(); ++i) {
    const TestOperand& from = legal.inputs[i];
    Operand operand = operandFor(from);
    const auto index = static_cast<uint32_t>(model.main.operands.size());
    if (from.tensor.omitted) {
      operand.lifetime = Lifetime::NO_VALUE;
    } else if (isScalarType(operand.type) || (i > 0 && choice() % 2 == 0)) {
      operand.lifetime = Lifetime::CONSTANT_COPY;
      operand.location = appendConstant(model, from.bytes.data(), from.bytes.size());
    } else {
      operand.lifetime = Lifetime::SUBGRAPH_INPUT;
      model.main.inputIndexes.push_back(index);
    }
    operation.inputs.push_back(index);
    model.main.operands.push_back(std::move(operand));
  }
  for (const TestOperand& from : legal.outputs) {
    const auto index = static_cast<uint32_t>(model.main.operands.size());
    model.main.operands.push_back(operandFor(from));
    model.main.operands.back().lifetime = Lifetime::SUBGRAPH_OUTPUT;
    operation.outputs.push_back(index);
    model.main.outputIndexes.push_back(index);
  }
  model.main.operations = {operation};
  return model;
}

}  // namespace halyard::ops::testing
