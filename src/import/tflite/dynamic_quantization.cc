// Dynamic-range quantisation: float activations with weights of 8 bits.
//
// TFLite quantises the activations again at every run, by their current minimum and maximum, and
// multiplies integers. NNAPI has no such operation. An equal result comes from a float operation.
// Its activations are first rounded to those steps, and its weights are the floats that the bytes
// represent. One operation of kTfliteExtension does the rounding, or several operations of the API
// that compute the same. Without the rounding, the result would be more exact and cheaper, but not
// that of the file. kws_ref_float then differs by about 1e-3 of its range.
//
// The scheme is that of LiteRT's default (XNNPACK). It is asymmetric, -128 to 127 from the minimum
// to the maximum, with 0 in the range. LiteRT's other kernels quantise symmetrically. They differ
// from the default by up to 1e-2 of the range on the same file.
#include <cmath>

#include "import/tflite/converters.h"
#include "ops/rounding_steps.h"

namespace halyard::import {
namespace {

constexpr float kLeast = ops::kDynamicRangeSteps.least;
constexpr float kGreatest = ops::kDynamicRangeSteps.greatest;
constexpr float kSteps = kGreatest - kLeast;
constexpr float kSmallestRange = ops::kDynamicRangeSteps.smallestRange;

// Appends operations one by one and keeps the first error.
class Chain {
 public:
  Chain(Node& node, std::string name) : node_(node), name_(std::move(name)) {}

  uint32_t constant(float value) { return keep(node_.builder().float32Tensor(value)); }
  uint32_t apply(OperationType type, OperandIndexes inputs) {
    if (!status_.ok()) return 0;
    const uint32_t y =
        keep(node_.builder().addTemporary(OperandType::TENSOR_FLOAT32, {}, 0, 0, name_));
    if (status_.ok()) status_ = node_.builder().addOperation(type, std::move(inputs), {y});
    return y;
  }
  // ADD, SUB, MUL and DIV have a fused activation.
  uint32_t arithmetic(OperationType type, uint32_t a, uint32_t b) {
    const uint32_t none = keep(node_.builder().int32Scalar(0));
    return apply(type, {a, b, none});
  }
  uint32_t reduce(OperationType type, uint32_t x, const std::vector<int32_t>& axes) {
    const uint32_t list =
        keep(node_.builder().int32Tensor({static_cast<uint32_t>(axes.size())}, axes));
    const uint32_t keepDims = keep(node_.builder().boolScalar(true));
    return apply(type, {x, list, keepDims});
  }
  Status takeStatus() { return std::move(status_); }

 private:
  uint32_t keep(Result<uint32_t> result) {
    if (result.ok()) return *result;
    if (status_.ok()) status_ = result.takeStatus();
    return 0;
  }

  Node& node_;
  std::string name_;
  Status status_;
};

}  // namespace

bool isDynamicallyQuantized(const Node& node, uint32_t x, const FileTensor& weights) {
  return node.operand(x).type == OperandType::TENSOR_FLOAT32 && !node.has16Bits() &&
         weights.isConstant() &&
         (weights.type == tfl::TensorType::INT8 || weights.type == tfl::TensorType::UINT8 ||
          weights.type == tfl::TensorType::INT4);
}

Result<uint32_t> dynamicallyQuantized(Node& node, uint32_t x, size_t axis) {
  using enum OperationType;
  Chain chain(node, node.builder().operandName(x) + " (rounded)");
  if (node.builder().prefersExtension()) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                             node.builder().int32Scalar(static_cast<int32_t>(axis)));
    const uint32_t rounded = chain.apply(ROUND_TO_DYNAMIC_RANGE, {x, scalar});
    HALYARD_RETURN_IF_ERROR(chain.takeStatus());
    return rounded;
  }
  std::vector<int32_t> axes;
  for (size_t i = axis; i < node.operand(x).dimensions.size(); ++i) {
    axes.push_back(static_cast<int32_t>(i));
  }
  const uint32_t zero = chain.constant(0);
  const uint32_t low = chain.apply(MINIMUM, {chain.reduce(REDUCE_MIN, x, axes), zero});
  const uint32_t high = chain.apply(MAXIMUM, {chain.reduce(REDUCE_MAX, x, axes), zero});
  const uint32_t range =
      chain.apply(MAXIMUM, {chain.arithmetic(SUB, high, low), chain.constant(kSmallestRange)});
  const uint32_t perUnit = chain.arithmetic(DIV, chain.constant(kSteps), range);
  // Rounds to nearest: floor(x + 0.5).
  const uint32_t zeroPoint = chain.apply(
      FLOOR,
      {chain.arithmetic(SUB, chain.constant(kLeast + 0.5f), chain.arithmetic(MUL, low, perUnit))});
  const uint32_t rounded = chain.apply(
      FLOOR, {chain.arithmetic(ADD, chain.arithmetic(MUL, x, perUnit), chain.constant(0.5f))});
  const uint32_t least = chain.arithmetic(SUB, chain.constant(kLeast), zeroPoint);
  const uint32_t greatest = chain.arithmetic(SUB, chain.constant(kGreatest), zeroPoint);
  const uint32_t clamped = chain.apply(MINIMUM, {chain.apply(MAXIMUM, {rounded, least}), greatest});
  const uint32_t step = chain.arithmetic(DIV, range, chain.constant(kSteps));
  const uint32_t result = chain.arithmetic(MUL, clamped, step);
  HALYARD_RETURN_IF_ERROR(chain.takeStatus());
  return result;
}

}  // namespace halyard::import
