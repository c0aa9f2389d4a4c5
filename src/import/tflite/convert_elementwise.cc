// Converts arithmetic, activations and softmax.
#include <algorithm>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

// Computes a op b of known INT64 values with 64 bits if the result fits 32 bits. Returns false for
// other types.
Result<bool> foldWideInts(Node& node, OperationType type) {
  constexpr size_t kMost = 32;
  HALYARD_ASSIGN_OR_RETURN(const FileTensor to, node.outputInfo(0));
  if (to.type != tfl::TensorType::INT64) return false;
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> a, node.constantInts(0, "input 0", kMost));
  HALYARD_ASSIGN_OR_RETURN(const std::vector<int32_t> b, node.constantInts(1, "input 1", kMost));
  if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return false;
  std::vector<int32_t> values(std::max(a.size(), b.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    const int64_t x = a[a.size() == 1 ? 0 : i];
    const int64_t y = b[b.size() == 1 ? 0 : i];
    const int64_t z = type == OperationType::MUL   ? x * y
                      : type == OperationType::SUB ? x - y
                                                   : x + y;
    if (z < INT32_MIN || z > INT32_MAX) {
      return unsupported("the constant result {} needs more than 32 bits", z);
    }
    values[i] = static_cast<int32_t>(z);
  }
  const Shape dims = to.dims.empty() ? Shape{static_cast<uint32_t>(values.size())} : to.dims;
  if (knownElementCount(dims) != values.size()) return false;
  HALYARD_ASSIGN_OR_RETURN(const uint32_t folded, node.builder().int32Tensor(dims, values));
  HALYARD_RETURN_IF_ERROR(node.builder().bind(to, folded));
  return true;
}

// Converts a op b with a fused activation. Broadcasting starts at the last dimension, as in NNAPI.
Status convertBinary(Node& node, OperationType type, tfl::ActivationFunctionType activation) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const int32_t fuse, Node::fuseCode(activation));
  if (fuse == 0 && node.isKnown(0) && node.isKnown(1)) {
    HALYARD_ASSIGN_OR_RETURN(const bool isFolded, foldWideInts(node, type));
    if (isFolded) return okStatus();
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t a, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code, node.builder().int32Scalar(fuse));
  if (type == OperationType::MUL) return node.multiply(a, b, code, y);
  return node.builder().addOperation(type, {a, b, code}, {y});
}

// Returns the fused activation of options that may be absent.
template <typename Options>
tfl::ActivationFunctionType activationOf(const Options* options) {
  return options == nullptr ? tfl::ActivationFunctionType::NONE
                            : options->fused_activation_function();
}

Status convertAdd(Node& node) {
  return convertBinary(node, OperationType::ADD, activationOf(node.options<tfl::AddOptions>()));
}

Status convertSub(Node& node) {
  return convertBinary(node, OperationType::SUB, activationOf(node.options<tfl::SubOptions>()));
}

template <OperationType kType>
Status convertStablehlo(Node& node) {
  return convertBinary(node, kType, tfl::ActivationFunctionType::NONE);
}

Status convertMul(Node& node) {
  return convertBinary(node, OperationType::MUL, activationOf(node.options<tfl::MulOptions>()));
}

// NNAPI's rectifiers keep the quantisation. A rectifier that changes it is computed in float, which
// represents every quantised value exactly.
Status convertRectifier(Node& node, OperationType type) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (!isQuant8Asymm(node.operand(x).type) || node.sameQuantization(x, y)) {
    HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, x));
    return node.builder().addOperation(type, {x}, {y});
  }
  return node.applyInFloat(type, x, {}, y);
}

Status convertRelu(Node& node) { return convertRectifier(node, OperationType::RELU); }

Status convertRelu1(Node& node) { return convertRectifier(node, OperationType::RELU1); }

Status convertRelu6(Node& node) { return convertRectifier(node, OperationType::RELU6); }

// The intersection of two rectifiers.
Status convertRelu0To1(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  if (isQuant8Asymm(node.operand(x).type)) {
    HALYARD_ASSIGN_OR_RETURN(x, node.dequantized(x));
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t below, node.temporaryLike(x, "at most 1"));
  HALYARD_RETURN_IF_ERROR(node.builder().addOperation(OperationType::RELU1, {x}, {below}));
  return node.applyInFloat(OperationType::RELU, below, {}, y);
}

Status convertGelu(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  const auto* options = node.options<tfl::GeluOptions>();
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t isApproximate,
                           node.builder().boolScalar(options != nullptr && options->approximate()));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.applyInFloat(OperationType::GELU, x, {isApproximate}, y);
}

Status convertAddN(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, SIZE_MAX, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t none, node.builder().int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(uint32_t sum, node.input(0));
  if (isQuant8Asymm(node.operand(sum).type)) return unsupported("of quantised values");
  if (node.inputCount() == 1) return node.forward(0, sum);
  for (size_t i = 1; i < node.inputCount(); ++i) {
    const bool isLast = i + 1 == node.inputCount();
    HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(i));
    HALYARD_ASSIGN_OR_RETURN(const uint32_t to,
                             isLast ? node.output(0) : node.temporaryLike(sum, "sum"));
    HALYARD_RETURN_IF_ERROR(node.builder().addOperation(OperationType::ADD, {sum, x, none}, {to}));
    sum = to;
  }
  return okStatus();
}

// The output of a quantised sigmoid or softmax covers [0, 1) in steps of 1/256.
Status fixUnitInterval(Node& node, uint32_t y) {
  const OperandType type = node.operand(y).type;
  if (!isQuant8Asymm(type)) return okStatus();
  return node.fixQuantization(y, 1.0f / 256.0f,
                              type == OperandType::TENSOR_QUANT8_ASYMM_SIGNED ? -128 : 0);
}

Status convertLogistic(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(fixUnitInterval(node, y));
  return node.builder().addOperation(OperationType::LOGISTIC, {x}, {y});
}

Status convertSoftmax(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(1, 1, 1));
  const float beta = node.options<tfl::SoftmaxOptions>()->beta();
  if (!(beta > 0)) return unsupported("beta is {}, expected a positive number", beta);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(fixUnitInterval(node, y));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scale,
                           node.builder().floatScalar(node.operand(x).type, beta));
  return node.builder().addOperation(OperationType::SOFTMAX, {x, scale}, {y});
}

constexpr Converter kElementwiseConverters[] = {
    {tfl::BuiltinOperator::ADD, tfl::BuiltinOptions::AddOptions, OptionsNeed::OPTIONAL, convertAdd,
     kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::SUB, tfl::BuiltinOptions::SubOptions, OptionsNeed::OPTIONAL, convertSub,
     kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::MUL, tfl::BuiltinOptions::MulOptions, OptionsNeed::OPTIONAL, convertMul,
     kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::STABLEHLO_ADD, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertStablehlo<OperationType::ADD>, kTakesOpenRank},
    {tfl::BuiltinOperator::STABLEHLO_MULTIPLY, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertStablehlo<OperationType::MUL>, kTakesOpenRank},
    {tfl::BuiltinOperator::RELU, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertRelu,
     kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::RELU_N1_TO_1, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertRelu1, kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::RELU6, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertRelu6,
     kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::RELU_0_TO_1, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertRelu0To1, kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::GELU, tfl::BuiltinOptions::GeluOptions, OptionsNeed::OPTIONAL,
     convertGelu, kTakesOpenRank},
    {tfl::BuiltinOperator::ADD_N, tfl::BuiltinOptions::AddNOptions, OptionsNeed::OPTIONAL,
     convertAddN, kTakesOpenRank},
    {tfl::BuiltinOperator::LOGISTIC, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertLogistic, kTakesOpenRank | kTakesInt16},
    {tfl::BuiltinOperator::SOFTMAX, tfl::BuiltinOptions::SoftmaxOptions, OptionsNeed::REQUIRED,
     convertSoftmax, kTakesOpenRank | kTakesInt16},
};

}  // namespace

std::span<const Converter> elementwiseConverters() { return kElementwiseConverters; }

}  // namespace halyard::import
