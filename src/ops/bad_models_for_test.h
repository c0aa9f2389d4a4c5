// Models that each break one rule of an operation's signature, made from a legal case.
// Thread safety: none needed.
// Ownership: values.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ops/testing/legal_case.h"

namespace halyard::ops::testing {

// One model that must be refused. Operand i of the model is input i of the operation; the outputs
// follow.
struct BadModel {
  std::string what;
  Model model;
  // Words that the error text must contain, besides the operation's name.
  std::vector<std::string> words = {};
  // Names of the wrong operand; the text must contain one of them.
  std::vector<std::string> names = {};
  // For inputs of the model: dimensions that only the execution gives, or no value there.
  std::vector<std::pair<uint32_t, Shape>> dimsAtExecution = {};
  std::vector<uint32_t> omittedAtExecution = {};
  // The error must be a mismatch of types: it names a position, its type and the expected type.
  bool isTypeMismatch = false;
};

// Returns whether some form and row of the tables allow operands of these types. It compares one
// position after the other.
inline bool tablesAllow(const Signature& signature, const std::vector<OperandType>& inputs,
                        const std::vector<OperandType>& outputs) {
  for (const Form& form : signature.forms) {
    for (size_t row = 0; row < std::max<size_t>(signature.rows.size(), 1); ++row) {
      const Variant variant = {static_cast<size_t>(&form - signature.forms.data()), row,
                               inputs.size(), outputs.size()};
      const auto allowed = [](const std::vector<OperandSpec>& specs, int repeated,
                              const std::vector<CountRule>& counts, size_t count) {
        if (repeated >= 0) return count >= specs.size();
        const std::vector<size_t> lengths = lengthsOf(specs.size(), counts, repeated);
        return std::find(lengths.begin(), lengths.end(), count) != lengths.end();
      };
      if (!allowed(form.inputs, form.repeated, form.counts, inputs.size())) continue;
      if (!allowed(signature.outputs, signature.repeatedOutput, signature.outputCounts,
                   outputs.size())) {
        continue;
      }
      bool match = true;
      for (size_t i = 0; i < inputs.size(); ++i) {
        match = match && inputs[i] == tableType(signature, variant, true, i);
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        match = match && outputs[i] == tableType(signature, variant, false, i);
      }
      if (match) return true;
    }
  }
  return false;
}

class BadModels {
 public:
  BadModels(const OperationDefinition& definition, const LegalCase& legal)
      : signature_(definition.signature), legal_(legal), base_(toModel(legal)) {
    for (OperandType type : {OperandType::FLOAT32, OperandType::INT32, OperandType::UINT32,
                             OperandType::BOOL, OperandType::FLOAT16}) {
      types_.push_back(type);
    }
    for (const OperandTypeTraits& traits : allOperandTypes()) {
      if (!traits.scalar && traits.scale != ScaleRule::UNCHECKED) types_.push_back(traits.type);
    }
  }

  // Models with one operand of each type that its position does not allow.
  std::vector<BadModel> withWrongTypes() const;
  // Models with lists that are too short or too long.
  std::vector<BadModel> withWrongCounts() const;
  // Models with one tensor of a rank that the tables exclude, either in the model or only at the
  // execution. Also outputs declared with other dimensions than the operation produces.
  std::vector<BadModel> withWrongRanks() const;
  // Models with one operand without a value, either in the model or at the execution.
  std::vector<BadModel> withMissingValues() const;
  // Models with errors that the recipe noted: scales, zero points, dimensions of per-channel
  // scales.
  std::vector<BadModel> withWrongQuantization() const;
  // Models with wrong values of scalars that the recipe noted.
  std::vector<BadModel> withWrongValues() const;

 private:
  size_t inputCount() const { return legal_.inputs.size(); }
  uint32_t operandOf(bool input, size_t i) const {
    return static_cast<uint32_t>(input ? i : inputCount() + i);
  }
  const OperandSpec& spec(bool input, size_t i) const {
    return tableSpec(signature_, legal_.variant, input, i);
  }
  // The operand's position, and the significant words of its name.
  std::vector<std::string> names(bool input, size_t i) const {
    std::vector<std::string> result = {place(input, i), std::string(spec(input, i).name)};
    const std::string name = result[1];
    if (!input && legal_.outputs.size() == 1) result.emplace_back("output");
    for (size_t begin = 0; begin < name.size();) {
      const size_t end = std::min(name.find(' ', begin), name.size());
      if (end - begin >= 4) result.push_back(name.substr(begin, end - begin));
      begin = end + 1;
    }
    return result;
  }
  std::string place(bool input, size_t i) const {
    return fmt::format("{} {}", input ? "input" : "output", i);
  }
  std::vector<OperandType> typesOf(const Model& model, std::span<const uint32_t> list) const {
    std::vector<OperandType> result;
    for (uint32_t i : list) result.push_back(model.main.operands[i].type);
    return result;
  }
  bool allows(const Model& model) const {
    const Operation& operation = model.main.operations[0];
    return tablesAllow(signature_, typesOf(model, operation.inputs),
                       typesOf(model, operation.outputs));
  }
  static void setConstant(Model& model, uint32_t operand, const void* bytes, size_t length) {
    model.main.operands[operand].location = appendConstant(model, bytes, length);
  }
  static void makeInput(Model& model, uint32_t operand) {
    Operand& target = model.main.operands[operand];
    if (target.lifetime == Lifetime::SUBGRAPH_INPUT) return;
    target.lifetime = Lifetime::SUBGRAPH_INPUT;
    target.location = {};
    model.main.inputIndexes.push_back(operand);
  }
  static void setType(Model& model, uint32_t operand, OperandType type);
  bool mayBeOmitted(size_t i) const;
  std::vector<Shape> wrongShapes(const OperandSpec& spec, const Operand& operand) const;

  const Signature& signature_;
  const LegalCase& legal_;
  const Model base_;
  std::vector<OperandType> types_;
};

// Makes an operand that is legal by itself.
inline void BadModels::setType(Model& model, uint32_t operand, OperandType type) {
  Operand& target = model.main.operands[operand];
  const OperandTypeTraits& traits = *operandTypeTraits(type);
  target.type = type;
  if (traits.scalar) target.dimensions.clear();
  const bool isConstant = target.lifetime == Lifetime::CONSTANT_COPY;
  if (!traits.scalar && target.dimensions.empty() && isConstant) target.dimensions = {1};
  target.scale = traits.scale == ScaleRule::POSITIVE ? 0.5f : 0;
  target.zeroPoint = 0;
  target.extraParams = {};
  if (type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) {
    target.scale = 0;
    if (target.dimensions.empty()) target.dimensions = {1};
    target.extraParams =
        SymmPerChannelQuantParams{std::vector<float>(target.dimensions[0], 0.5f), 0};
  }
  if (!isConstant) return;
  const std::vector<uint8_t> bytes(knownByteSize(type, target.dimensions).value_or(0));
  setConstant(model, operand, bytes.data(), bytes.size());
}

inline std::vector<BadModel> BadModels::withWrongTypes() const {
  std::vector<BadModel> result;
  for (const bool input : {true, false}) {
    for (size_t i = 0; i < (input ? inputCount() : legal_.outputs.size()); ++i) {
      for (OperandType type : types_) {
        BadModel bad = {fmt::format("{} is {}", place(input, i), operandTypeName(type)), base_};
        setType(bad.model, operandOf(input, i), type);
        if (allows(bad.model)) continue;
        bad.words = {"expected"};
        bad.isTypeMismatch = true;
        result.push_back(std::move(bad));
      }
    }
  }
  return result;
}

inline std::vector<BadModel> BadModels::withWrongCounts() const {
  std::vector<BadModel> result;
  const auto resize = [](Model& model, bool input, size_t count) {
    Operation& operation = model.main.operations[0];
    OperandIndexes& list = input ? operation.inputs : operation.outputs;
    list.resize(std::min(list.size(), count));
    while (list.size() < count) {
      Operand extra;
      extra.type = OperandType::INT32;
      const auto index = static_cast<uint32_t>(model.main.operands.size());
      extra.lifetime = input ? Lifetime::CONSTANT_COPY : Lifetime::SUBGRAPH_OUTPUT;
      const int32_t zero = 0;
      if (input) extra.location = appendConstant(model, &zero, sizeof(zero));
      model.main.operands.push_back(std::move(extra));
      if (!input) model.main.outputIndexes.push_back(index);
      list.push_back(index);
    }
  };
  for (const bool input : {true, false}) {
    const size_t legalCount = input ? inputCount() : legal_.outputs.size();
    for (size_t count = 0; count <= legalCount + 3; ++count) {
      BadModel bad = {fmt::format("{} {}s", count, input ? "input" : "output"), base_};
      resize(bad.model, input, count);
      if (allows(bad.model)) continue;
      // Another form may have this length. Then its types reveal the error.
      bad.words = {input ? "input" : "output"};
      result.push_back(std::move(bad));
    }
  }
  return result;
}

// Returns shapes with the operand's number of elements in every rank that the rules exclude.
inline std::vector<Shape> BadModels::wrongShapes(const OperandSpec& rules,
                                                 const Operand& operand) const {
  std::vector<Shape> result;
  if (rules.ranks.empty() || isScalarType(operand.type)) return result;
  const auto* channels = std::get_if<SymmPerChannelQuantParams>(&operand.extraParams);
  for (size_t rank = 1; rank <= 9; ++rank) {
    const auto holds = [rank](const RankRule& rule) {
      return rank >= rule.min && rank <= rule.max;
    };
    if (std::any_of(rules.ranks.begin(), rules.ranks.end(), holds)) continue;
    Shape shape(rank, 1);
    auto elements = static_cast<uint32_t>(elementsOf(operand.dimensions));
    if (channels != nullptr) {
      if (channels->channelDim >= rank || rank == 1) continue;
      shape[channels->channelDim] = static_cast<uint32_t>(channels->scales.size());
      elements /= shape[channels->channelDim];
    }
    shape[channels != nullptr && channels->channelDim == 0 ? 1 : 0] = elements;
    result.push_back(std::move(shape));
  }
  return result;
}

inline std::vector<BadModel> BadModels::withWrongRanks() const {
  std::vector<BadModel> result;
  for (size_t i = 0; i < inputCount(); ++i) {
    if (legal_.inputs[i].tensor.omitted) continue;
    const Operand& operand = base_.main.operands[i];
    for (const Shape& shape : wrongShapes(spec(true, i), operand)) {
      const std::string text = fmt::format("{} [{}]", place(true, i), fmt::join(shape, ","));
      BadModel declared = {text, base_, {place(true, i), "rank", "expected"}};
      // If only the computation finds the rank, the error is that of any shape that does not fit.
      if (spec(true, i).rankIsOfComputation) declared = {text, base_, {}, names(true, i)};
      declared.model.main.operands[i].dimensions = shape;
      result.push_back(std::move(declared));
      // Per-channel scales need a known rank.
      if (operand.type == OperandType::TENSOR_QUANT8_SYMM_PER_CHANNEL) continue;
      BadModel given = {text + " at execution", base_, {}, names(true, i)};
      makeInput(given.model, static_cast<uint32_t>(i));
      given.model.main.operands[i].dimensions.clear();
      given.dimsAtExecution = {{static_cast<uint32_t>(i), shape}};
      result.push_back(std::move(given));
    }
  }
  LegalCase made = legal_;
  const Status status = runOperation(made.type, made.inputs, made.outputs);
  EXPECT_TRUE(status.ok()) << status.toString();
  for (size_t i = 0; status.ok() && i < legal_.outputs.size(); ++i) {
    const uint32_t operand = operandOf(false, i);
    const OperandType type = base_.main.operands[operand].type;
    if (isScalarType(type)) continue;
    Shape more = made.outputs[i].tensor.dims;
    more.push_back(0);
    Shape other = made.outputs[i].tensor.dims;
    ++other[0];
    for (const Shape& shape : {more, other}) {
      BadModel bad = {fmt::format("{} declared as {}", place(false, i), shapeText(shape)),
                      base_,
                      {},
                      names(false, i)};
      bad.model.main.operands[operand].dimensions = shape;
      result.push_back(std::move(bad));
    }
  }
  return result;
}

inline bool BadModels::mayBeOmitted(size_t i) const {
  return std::any_of(signature_.forms.begin(), signature_.forms.end(), [&](const Form& form) {
    return i < form.inputs.size() && form.repeated < 0 && form.inputs[i].omittable;
  });
}

inline std::vector<BadModel> BadModels::withMissingValues() const {
  std::vector<BadModel> result;
  for (size_t i = 0; i < inputCount(); ++i) {
    if (mayBeOmitted(i)) continue;
    const auto operand = static_cast<uint32_t>(i);
    BadModel bad = {place(true, i) + " without a value", base_, {place(true, i), "value"}};
    auto& inputs = bad.model.main.inputIndexes;
    inputs.erase(std::remove(inputs.begin(), inputs.end(), operand), inputs.end());
    bad.model.main.operands[i].lifetime = Lifetime::NO_VALUE;
    bad.model.main.operands[i].location = {};
    result.push_back(std::move(bad));
    BadModel given = {
        place(true, i) + " without a value at execution", base_, {place(true, i), "value"}};
    makeInput(given.model, operand);
    given.omittedAtExecution = {operand};
    result.push_back(std::move(given));
  }
  return result;
}

inline std::vector<BadModel> BadModels::withWrongQuantization() const {
  std::vector<BadModel> result;
  for (const LegalCase::WrongQuantization& wrong : legal_.wrongQuantizations) {
    BadModel bad = {fmt::format("{} with scale {} and zero point {}",
                                place(wrong.input, wrong.operand), wrong.scale, wrong.zeroPoint),
                    base_};
    Operand& operand = bad.model.main.operands[operandOf(wrong.input, wrong.operand)];
    operand.scale = wrong.scale;
    operand.zeroPoint = wrong.zeroPoint;
    bad.words = {"expected", "scale"};
    bad.names = names(wrong.input, wrong.operand);
    result.push_back(std::move(bad));
  }
  for (size_t i : legal_.channelDimInputs) {
    const auto& quant = std::get<SymmPerChannelQuantParams>(base_.main.operands[i].extraParams);
    const Shape& dims = base_.main.operands[i].dimensions;
    for (uint32_t d = 0; d < dims.size(); ++d) {
      if (d == quant.channelDim) continue;
      BadModel bad = {fmt::format("{} with its scales along {}", place(true, i), d),
                      base_,
                      {"scales", "expected"},
                      names(true, i)};
      bad.model.main.operands[i].extraParams =
          SymmPerChannelQuantParams{std::vector<float>(dims[d], 0.5f), d};
      result.push_back(std::move(bad));
    }
  }
  return result;
}

inline std::vector<BadModel> BadModels::withWrongValues() const {
  std::vector<BadModel> result;
  for (const LegalCase::WrongValue& wrong : legal_.wrongValues) {
    BadModel bad = {fmt::format("{} = {}", place(true, wrong.input), wrong.value),
                    base_,
                    {std::to_string(wrong.value)}};
    bad.names = names(true, wrong.input);
    setConstant(bad.model, static_cast<uint32_t>(wrong.input), &wrong.value, sizeof(int32_t));
    result.push_back(std::move(bad));
  }
  return result;
}

}  // namespace halyard::ops::testing
