// LegalCase: one operation with random legal operands, made from its signature's tables and a
// recipe for the rules beyond tables. CaseBuilder: the tool that recipes use.
// Thread safety: none needed.
// Ownership: a case shares the parameters of its operands; copies are cheap enough.
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

inline constexpr float kEighth = 0.125f;  // the scale of fixed-point coordinates

// Selects one of a signature's lists of operands: indices of form and row, numbers of operands.
struct Variant {
  size_t form = 0;
  size_t row = 0;
  size_t inputs = 0;
  size_t outputs = 0;
};
// Returns all variants. A list of any length comes with its three shortest lengths.
std::vector<Variant> variantsOf(const Signature& signature);

// Returns the same hash on every system; std::hash need not.
unsigned hashOf(const std::string& text, unsigned seed);

// Returns the type of a variant's position in the tables.
OperandType tableType(const Signature& signature, const Variant& variant, bool input, size_t i);
const OperandSpec& tableSpec(const Signature& signature, const Variant& variant, bool input,
                             size_t i);

struct LegalCase {
  OperationType type = {};
  std::string id;  // caseOf makes the case again from it
  Variant variant;
  std::shared_ptr<RandomOperands> random;
  std::vector<TestOperand> inputs;
  std::vector<TestOperand> outputs;

  // With a layout operand: its index (the value is false), and the operands that it applies to.
  std::optional<size_t> layout;
  std::vector<size_t> imageInputs;
  std::vector<size_t> imageOutputs;
  std::optional<size_t> shapeInput;  // a shape [N,H,W,C] as values
  // Operands along whose axis the results are independent, and depend on no other operands.
  struct Axis {
    size_t operand;
    size_t axis;
  };
  std::vector<Axis> batchInputs;
  std::vector<Axis> batchOutputs;
  std::vector<size_t> storedScalars;       // INT32 inputs that are stored values of the main type
  std::vector<size_t> unspecifiedOutputs;  // outputs whose values are not specified
  bool readsBytes = false;                 // results depend on the stored form of elements
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
  std::vector<size_t> channelDimInputs;  // have one legal dimension for per-channel scales
  // Returns the first output's real values, directly from the formula; null if the kernel itself is
  // that formula.
  std::function<std::vector<double>(const LegalCase&)> expected;
  double slack = 0;  // for floats, added to the tolerance of their type
  // The error of the recipe; empty without error.
  std::string problem;

  std::string text() const;
};

// Returns the legal lengths of a list of operands; the three shortest if an operand may repeat any
// number of times.
std::vector<size_t> lengthsOf(size_t size, const std::vector<CountRule>& counts, int repeated);

// Returns the operand of a model for an operand of a case, without lifetime and value.
Operand operandFor(const TestOperand& from);

// Returns a model of this operation. Scalars, and some other inputs at random, are constants.
Model toModel(const LegalCase& legal);

// Offers existing shapes and values, so that outputs of other operations can become an operation's
// inputs.
class CaseSource {
 public:
  virtual ~CaseSource() = default;
  // Returns the dimensions of a value of the type, of one of these ranks; nullopt requests new
  // ones.
  virtual std::optional<Shape> shapeFor(OperandType type, std::span<const size_t> ranks) = 0;
  // Returns a value; nullopt requests a new one. Real values must lie between `low` and `high`,
  // except for the quantised types.
  virtual std::optional<TestOperand> valueFor(OperandType type, const Shape& dims, float low,
                                              float high) = 0;
};

// Draws operands as recipes list them, in the order of the operation's inputs.
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

  // Add the inputs in order. Functions that add a tensor return its index.
  size_t add(TestOperand operand);
  // Floats lie between low and high, integers are small, other types use their whole range.
  size_t tensor(const Shape& dims, float low = -1, float high = 1);
  size_t tensorLike(size_t i, const Shape& dims);  // with the quantisation of input i
  // Adds real values. Fixed-point types store multiples of an eighth, their only legal scale.
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
  // Adds a tensor, or an operand without a value unless `present`.
  size_t tensorOr(bool present, const Shape& dims);
  FuseCode activation();
  // Adds an axis in [-rank, rank), or from 0 on. Returns the resolved axis.
  size_t axis(size_t rank, bool mayBeNegative = true);
  int32_t positive(int low, int high);  // a scalar that must not be 0
  size_t filter(const Shape& dims, uint32_t channelDim);
  void bias(size_t input, size_t filter, uint32_t channels);
  void layout(std::vector<size_t> images, std::vector<size_t> outputs);

  // Returns a shape of a rank that the position's rules allow.
  Shape shape(int largest = 5, int lowestRank = 1);
  size_t rankOf(int lowest = 1);
  // Returns the ranks that the position's rules allow, up to 5.
  std::vector<size_t> legalRanks(int lowest = 1) const;

  // Add the outputs in order.
  void out(double magnitude = 1);
  void outLike(size_t input);
  void outFixed(float scale, int32_t unsignedZeroPoint, int32_t signedZeroPoint);
  void outPlain() { case_.outputs.push_back(TestOperand::output(outputType(nextOutput()))); }
  // Adds an output for a sum of `terms` products of inputs a and b.
  void outOfProducts(size_t a, size_t b, double terms);
  double spread(size_t i) const;  // magnitude of the values of input i

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
