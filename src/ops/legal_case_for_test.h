// LegalCase: one operation with random legal operands, made from its signature's tables and a
// recipe for what tables cannot say. CaseBuilder: what recipes make it with.
// Thread safety: none needed.
// Ownership: a case shares the parameters that its operands point to; copies are cheap enough.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/naive_for_test.h"
#include "ops/window_for_test.h"

namespace halyard::ops::testing {

// Which of a signature's lists of operands: indices of form and row, numbers of operands.
struct Variant {
  size_t form = 0;
  size_t row = 0;
  size_t inputs = 0;
  size_t outputs = 0;
};
// All variants; a list that may be of any length comes with its three shortest lengths.
std::vector<Variant> variantsOf(const Signature& signature);

// The type that the tables give to a position of a variant.
OperandType tableType(const Signature& signature, const Variant& variant, bool input, size_t i);
const OperandSpec& tableSpec(const Signature& signature, const Variant& variant, bool input,
                             size_t i);

struct LegalCase {
  OperationType type = {};
  std::string id;  // what caseOf makes it from again
  Variant variant;
  std::shared_ptr<RandomOperands> random;
  std::vector<TestOperand> inputs;
  std::vector<TestOperand> outputs;

  // With a layout operand: its index (the value is false), and what it applies to.
  std::optional<size_t> layout;
  std::vector<size_t> imageInputs;
  std::vector<size_t> imageOutputs;
  std::optional<size_t> shapeInput;  // a shape [N,H,W,C] as values
  // Operands along whose axis results are independent of each other, and only of these operands.
  struct Axis {
    size_t operand;
    size_t axis;
  };
  std::vector<Axis> batchInputs;
  std::vector<Axis> batchOutputs;
  std::vector<size_t> storedScalars;       // INT32 inputs that are stored values of the main type
  std::vector<size_t> unspecifiedOutputs;  // whose values are not laid down
  bool readsBytes = false;                 // results depend on how elements are stored
  // Single changes that make the case illegal.
  struct WrongQuantization {
    bool input;
    size_t operand;
    float scale;
    int32_t zeroPoint;
  };
  struct WrongValue {
    size_t input;  // an INT32
    int32_t value;
  };
  std::vector<WrongQuantization> wrongQuantizations;
  std::vector<WrongValue> wrongValues;
  std::vector<size_t> channelDimInputs;  // whose per-channel scales lie along the only legal one
  // The first output's real values straight from the formula; null where the kernel is one.
  std::function<std::vector<double>(const LegalCase&)> expected;
  double slack = 0;  // for expectReals

  std::string text() const;
};

// A model of the one operation. Scalars, and other inputs at random, are constants.
Model toModel(const LegalCase& legal);

// Reads operands the way recipes write them, in the order of the operation's inputs.
class CaseBuilder {
 public:
  CaseBuilder(const OperationDefinition& definition, const Variant& variant, unsigned seed);

  RandomOperands& random() { return *case_.random; }
  LegalCase& legal() { return case_; }
  OperationType type() const { return case_.type; }
  size_t inputCount() const { return case_.variant.inputs; }
  size_t outputCount() const { return case_.variant.outputs; }
  bool isForm(std::string_view name) const { return form_.name == name; }
  bool more() const { return case_.inputs.size() < inputCount(); }
  OperandType nextType() const { return typeOf(case_.inputs.size()); }
  OperandType typeOf(size_t i) const { return tableType(signature_, case_.variant, true, i); }
  OperandType outputType(size_t i) const { return tableType(signature_, case_.variant, false, i); }
  const TestOperand& input(size_t i) const { return case_.inputs[i]; }
  const Shape& dims(size_t i) const { return case_.inputs[i].tensor.dims; }
  int between(int low, int high) { return random().between(low, high); }
  uint32_t size(int low, int high) { return static_cast<uint32_t>(between(low, high)); }
  bool coin() { return random().coin(); }

  // The inputs, one after the other. Those that add a tensor return its index.
  size_t add(TestOperand operand);
  // Floats lie between low and high, integers are small, the rest uses its whole range.
  size_t tensor(const Shape& dims, float low = -1, float high = 1);
  size_t tensorLike(size_t i, const Shape& dims);  // with the quantisation of input i
  // Real values; fixed-point types store multiples of an eighth, which is the only legal scale.
  size_t coordinates(const Shape& dims, const std::vector<double>& values);
  size_t ints(const Shape& dims, const std::vector<int32_t>& values);
  void intList(const std::vector<int32_t>& values) {
    ints({static_cast<uint32_t>(values.size())}, values);
  }
  void int32(int32_t value) { add(TestOperand::int32(value)); }
  void flag(bool value) { add(TestOperand::boolean(value)); }
  void real(float value) {
    add(nextType() == OperandType::FLOAT16 ? float16(value) : TestOperand::float32(value));
  }
  void omit();
  // One that the operation takes with a value `present` only.
  size_t tensorOr(bool present, const Shape& dims);
  FuseCode activation();
  // An axis in [-rank, rank), or from 0 on; returns it resolved.
  size_t axis(size_t rank, bool mayBeNegative = true);
  int32_t positive(int low, int high);  // a scalar that must not be 0
  size_t filter(const Shape& dims, uint32_t channelDim);
  void bias(size_t input, size_t filter, uint32_t channels);
  void layout(std::vector<size_t> images, std::vector<size_t> outputs);

  // A shape of a rank that the position's rules allow.
  Shape shape(int largest = 5, int lowestRank = 1);
  size_t rankOf(int lowest = 1);

  // The outputs, one after the other.
  void out(double magnitude = 1);
  void outLike(size_t input);
  void outFixed(float scale, int32_t unsignedZeroPoint, int32_t signedZeroPoint);
  void outPlain() { case_.outputs.push_back(TestOperand::output(outputType(nextOutput()))); }
  // Of a sum of `terms` products of inputs a and b.
  void outOfProducts(size_t a, size_t b, double terms);
  double spread(size_t i) const;  // how large the values of input i are

  void batch(const std::vector<size_t>& inputs, const std::vector<size_t>& outputs);
  void wrongValue(int32_t value) { case_.wrongValues.push_back({case_.inputs.size() - 1, value}); }

 private:
  size_t nextOutput() const { return case_.outputs.size(); }
  TestOperand randomTensor(OperandType type, const Shape& dims, float low, float high);
  void onlyQuantization(bool input, size_t operand, const Tensor& tensor);

  const Signature& signature_;
  const Form& form_;
  LegalCase case_;
};

inline size_t tablePosition(const std::vector<OperandSpec>& specs, int repeated, size_t count,
                            size_t i) {
  if (repeated < 0) return i;
  const auto first = static_cast<size_t>(repeated);
  const size_t extra = count - specs.size();
  return i <= first ? i : std::max(first, i - std::min(extra, i));
}

inline const OperandSpec& tableSpec(const Signature& signature, const Variant& variant, bool input,
                                    size_t i) {
  const Form& form = signature.forms[variant.form];
  return input ? form.inputs[tablePosition(form.inputs, form.repeated, variant.inputs, i)]
               : signature.outputs[tablePosition(signature.outputs, signature.repeatedOutput,
                                                 variant.outputs, i)];
}

inline OperandType tableType(const Signature& signature, const Variant& variant, bool input,
                             size_t i) {
  const OperandSpec& spec = tableSpec(signature, variant, input, i);
  return spec.column < 0 ? spec.fixed
                         : signature.rows[variant.row].types[static_cast<size_t>(spec.column)];
}

inline std::vector<size_t> lengthsOf(size_t size, const std::vector<CountRule>& counts,
                                     int repeated) {
  if (repeated >= 0) return {size, size + 1, size + 2};
  if (counts.empty()) return {size};
  std::vector<size_t> result;
  for (const CountRule& rule : counts) result.push_back(rule.count);
  return result;
}

inline std::vector<Variant> variantsOf(const Signature& signature) {
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

inline std::string LegalCase::text() const {
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

inline Operand operandFor(const TestOperand& from) {
  Operand operand;
  operand.type = from.tensor.type;
  if (!isScalarType(operand.type)) operand.dimensions = from.tensor.dims;
  operand.scale = from.tensor.scale;
  operand.zeroPoint = from.tensor.zeroPoint;
  if (from.tensor.channelQuant != nullptr) operand.extraParams = *from.tensor.channelQuant;
  return operand;
}

inline Model toModel(const LegalCase& legal) {
  Model model;
  Operation operation;
  operation.type = legal.type;
  std::mt19937 choice(static_cast<unsigned>(std::hash<std::string>()(legal.id)));
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

#include "ops/case_builder_for_test.h"  // IWYU pragma: export
