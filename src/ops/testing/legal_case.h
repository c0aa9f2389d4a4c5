// LegalCase: one operation with random legal operands, made from its signature's tables and a
// recipe for what tables cannot say. CaseBuilder: what recipes make it with.
// Thread safety: none needed.
// Ownership: a case shares the parameters that its operands point to; copies are cheap enough.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ops/testing/random_operands.h"
#include "ops/testing/random_window.h"

namespace halyard::ops::testing {

inline constexpr float kEighth = 0.125f;  // the scale of coordinates in fixed point

// Which of a signature's lists of operands: indices of form and row, numbers of operands.
struct Variant {
  size_t form = 0;
  size_t row = 0;
  size_t inputs = 0;
  size_t outputs = 0;
};
// All variants; a list that may be of any length comes with its three shortest lengths.
std::vector<Variant> variantsOf(const Signature& signature);

// The same everywhere, which std::hash need not be.
unsigned hashOf(const std::string& text, unsigned seed);

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
  double slack = 0;  // of floats, beyond the tolerance of their type
  // What the recipe has done wrong; empty when nothing.
  std::string problem;

  std::string text() const;
};

// The lengths that a list of operands may have; the three shortest where any number may be
// repeated.
std::vector<size_t> lengthsOf(size_t size, const std::vector<CountRule>& counts, int repeated);

// The operand of a model that an operand of a case is, without lifetime and value.
Operand operandFor(const TestOperand& from);

// A model of the one operation. Scalars, and other inputs at random, are constants.
Model toModel(const LegalCase& legal);

// Offers shapes and values that exist already, so that an operation's inputs can be the outputs of
// others.
class CaseSource {
 public:
  virtual ~CaseSource() = default;
  // Dimensions of a value of the type, of one of these ranks; nullopt for new ones.
  virtual std::optional<Shape> shapeFor(OperandType type, std::span<const size_t> ranks) = 0;
  // A value; nullopt for a new one. Real values must lie between `low` and `high`, but for the
  // quantised types.
  virtual std::optional<TestOperand> valueFor(OperandType type, const Shape& dims, float low,
                                              float high) = 0;
};

// Reads operands the way recipes write them, in the order of the operation's inputs.
class CaseBuilder {
 public:
  // `source` may be null, and must outlive the builder.
  CaseBuilder(const OperationDefinition& definition, const Variant& variant, unsigned seed,
              CaseSource* source = nullptr);

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
  // Those that the position's rules allow, up to 5.
  std::vector<size_t> legalRanks(int lowest = 1) const;

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
  CaseSource* const source_;
  LegalCase case_;
};

}  // namespace halyard::ops::testing
