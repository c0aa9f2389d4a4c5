// Arithmetic, activations, softmax.
#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

// a op b with a fused activation, broadcast from the last dimension as in NNAPI.
Status convertBinary(Node& node, OperationType type, tfl::ActivationFunctionType activation) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(2, 2, 1));
  HALYARD_ASSIGN_OR_RETURN(const int32_t fuse, Node::fuseCode(activation));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t a, node.input(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t b, node.input(1));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t code, node.builder().int32Scalar(fuse));
  return node.builder().addOperation(type, {a, b, code}, {y});
}

// The fused activation in options that may be absent.
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

Status convertMul(Node& node) {
  return convertBinary(node, OperationType::MUL, activationOf(node.options<tfl::MulOptions>()));
}

// NNAPI's rectifiers keep the quantisation; one that changes it is computed in float, where nothing
// is lost: every quantised value is exact there.
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

constexpr Converter kConverters[] = {
    {tfl::BuiltinOperator::ADD, tfl::BuiltinOptions::AddOptions, OptionsNeed::OPTIONAL, convertAdd},
    {tfl::BuiltinOperator::SUB, tfl::BuiltinOptions::SubOptions, OptionsNeed::OPTIONAL, convertSub},
    {tfl::BuiltinOperator::MUL, tfl::BuiltinOptions::MulOptions, OptionsNeed::OPTIONAL, convertMul},
    {tfl::BuiltinOperator::RELU, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertRelu},
    {tfl::BuiltinOperator::RELU_N1_TO_1, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertRelu1},
    {tfl::BuiltinOperator::RELU6, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL, convertRelu6},
    {tfl::BuiltinOperator::LOGISTIC, tfl::BuiltinOptions::NONE, OptionsNeed::OPTIONAL,
     convertLogistic},
    {tfl::BuiltinOperator::SOFTMAX, tfl::BuiltinOptions::SoftmaxOptions, OptionsNeed::REQUIRED,
     convertSoftmax},
};

}  // namespace

std::span<const Converter> elementwiseConverters() { return kConverters; }

}  // namespace halyard::import
