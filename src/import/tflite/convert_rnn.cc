// Converts recurrent layers other than UNIDIRECTIONAL_SEQUENCE_LSTM: RNN, sequences through one,
// LSTM, the bidirectional layers and SVDF. Their operands have NNAPI's order. As for all recurrent
// layers, every run starts with zeros, unless the caller keeps the states.
#include <algorithm>
#include <initializer_list>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

using enum OperationType;

constexpr size_t kRnnState = 4;
constexpr size_t kRnnInputs = 5;

// Reads the inputs in order. Those of `states` begin with zeros. Those of `optional` may be left
// out.
Result<OperandIndexes> inputsOf(Node& node, size_t count, std::initializer_list<size_t> states,
                                std::initializer_list<size_t> optional = {}) {
  OperandIndexes inputs;
  OperandType type = OperandType::TENSOR_FLOAT32;
  for (size_t i = 0; i < count; ++i) {
    const bool isState = std::ranges::find(states, i) != states.end();
    const bool mayLack = std::ranges::find(optional, i) != optional.end();
    Result<uint32_t> input = isState                        ? initialFloatState(node, i)
                             : mayLack && !node.hasInput(i) ? node.builder().omitted(type)
                                                            : node.input(i);
    if (!input.ok()) return input.takeStatus();
    if (i == 0) type = node.operand(*input).type;
    inputs.push_back(*input);
  }
  return inputs;
}

Status appendInt(Node& node, int32_t value, OperandIndexes& inputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().int32Scalar(value));
  inputs.push_back(scalar);
  return okStatus();
}

Status appendBool(Node& node, bool value, OperandIndexes& inputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, node.builder().boolScalar(value));
  inputs.push_back(scalar);
  return okStatus();
}

Status appendFloat(Node& node, float value, OperandIndexes& inputs) {
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           node.builder().floatScalar(node.operand(inputs[0]).type, value));
  inputs.push_back(scalar);
  return okStatus();
}

Status appendActivation(Node& node, tfl::ActivationFunctionType activation,
                        OperandIndexes& inputs) {
  HALYARD_ASSIGN_OR_RETURN(const int32_t code, cellActivation(activation));
  return appendInt(node, code, inputs);
}

Status convertRnn(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kRnnInputs, kRnnInputs, 1));
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, inputsOf(node, kRnnInputs, {kRnnState}));
  HALYARD_RETURN_IF_ERROR(
      appendActivation(node, node.options<tfl::RNNOptions>()->fused_activation_function(), inputs));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t state, node.temporaryLike(inputs[kRnnState], "state"));
  HALYARD_RETURN_IF_ERROR(keepState(node, kRnnState, state));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(RNN, std::move(inputs), {state, y});
}

// Appends the states after the execution, in the order of `states`, if they are kept.
Status appendStates(Node& node, const OperandIndexes& inputs, std::initializer_list<size_t> states,
                    OperandIndexes& outputs) {
  if (!node.builder().keepsStates()) return okStatus();
  for (const size_t i : states) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t state, node.temporaryLike(inputs[i], "state"));
    HALYARD_RETURN_IF_ERROR(keepState(node, i, state));
    outputs.push_back(state);
  }
  return okStatus();
}

Status convertSequenceRnn(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kRnnInputs, kRnnInputs, 1));
  const auto& options = *node.options<tfl::SequenceRNNOptions>();
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, inputsOf(node, kRnnInputs, {kRnnState}));
  HALYARD_RETURN_IF_ERROR(appendActivation(node, options.fused_activation_function(), inputs));
  HALYARD_RETURN_IF_ERROR(appendInt(node, options.time_major() ? 1 : 0, inputs));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  OperandIndexes outputs = {y};
  HALYARD_RETURN_IF_ERROR(appendStates(node, inputs, {kRnnState}, outputs));
  return node.builder().addOperation(UNIDIRECTIONAL_SEQUENCE_RNN, std::move(inputs),
                                     std::move(outputs));
}

// Returns the outputs of a bidirectional layer: one if the directions are merged, otherwise two.
Result<OperandIndexes> directions(Node& node, bool areMerged) {
  const size_t count = areMerged ? 1 : 2;
  if (node.outputCount() != count) {
    return badData("has {} outputs, expected {}", node.outputCount(), count);
  }
  OperandIndexes outputs;
  for (size_t i = 0; i < count; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(i));
    outputs.push_back(y);
  }
  return outputs;
}

Status convertBidirectionalRnn(Node& node) {
  constexpr size_t kInputs = 12;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs, node.outputCount()));
  const auto& options = *node.options<tfl::BidirectionalSequenceRNNOptions>();
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, inputsOf(node, kInputs, {4, 8}, {9, 10, 11}));
  HALYARD_RETURN_IF_ERROR(appendActivation(node, options.fused_activation_function(), inputs));
  HALYARD_RETURN_IF_ERROR(appendBool(node, options.time_major(), inputs));
  HALYARD_RETURN_IF_ERROR(appendBool(node, options.merge_outputs(), inputs));
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes outputs, directions(node, options.merge_outputs()));
  HALYARD_RETURN_IF_ERROR(appendStates(node, inputs, {4, 8}, outputs));
  return node.builder().addOperation(BIDIRECTIONAL_SEQUENCE_RNN, std::move(inputs),
                                     std::move(outputs));
}

Status convertSvdf(Node& node) {
  constexpr size_t kInputs = 5;
  constexpr size_t kBias = 3;
  constexpr size_t kState = 4;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs, 1));
  const auto& options = *node.options<tfl::SVDFOptions>();
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs, inputsOf(node, kInputs, {kState}, {kBias}));
  HALYARD_ASSIGN_OR_RETURN(const int32_t code, Node::fuseCode(options.fused_activation_function()));
  HALYARD_RETURN_IF_ERROR(appendInt(node, options.rank(), inputs));
  HALYARD_RETURN_IF_ERROR(appendInt(node, code, inputs));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t state, node.temporaryLike(inputs[kState], "state"));
  HALYARD_RETURN_IF_ERROR(keepState(node, kState, state));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(SVDF, std::move(inputs), {state, y});
}

Status convertLstm(Node& node) {
  constexpr size_t kInputs = 20;
  constexpr size_t kLayerNorm = 4;
  const auto& options = *node.options<tfl::LSTMOptions>();
  if (options.kernel_type() != tfl::LSTMKernelType::FULL) {
    return unsupported("the kernel BASIC, expected FULL");
  }
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs + kLayerNorm, 1));
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes inputs,
                           inputsOf(node, kInputs, {18, 19}, {1, 5, 9, 10, 11, 12, 16, 17}));
  HALYARD_RETURN_IF_ERROR(appendActivation(node, options.fused_activation_function(), inputs));
  HALYARD_RETURN_IF_ERROR(appendFloat(node, options.cell_clip(), inputs));
  HALYARD_RETURN_IF_ERROR(appendFloat(node, options.proj_clip(), inputs));
  const OperandType type = node.operand(inputs[0]).type;
  for (size_t i = kInputs; i < kInputs + kLayerNorm; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t weights, node.optionalFloatInput(i, type));
    inputs.push_back(weights);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scratch, node.temporaryLike(inputs[0], "scratch"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t hidden, node.temporaryLike(inputs[18], "hidden"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t cell, node.temporaryLike(inputs[19], "cell"));
  HALYARD_RETURN_IF_ERROR(keepState(node, 18, hidden));
  HALYARD_RETURN_IF_ERROR(keepState(node, 19, cell));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  return node.builder().addOperation(LSTM, std::move(inputs), {scratch, hidden, cell, y});
}

Status convertBidirectionalLstm(Node& node) {
  constexpr size_t kInputs = 48;
  constexpr size_t kLayerNorm = 8;
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kInputs, kInputs, node.outputCount()));
  const auto& options = *node.options<tfl::BidirectionalSequenceLSTMOptions>();
  HALYARD_ASSIGN_OR_RETURN(
      OperandIndexes inputs,
      inputsOf(node, kInputs, {35, 36, 37, 38}, {1,  5,  9,  10, 11, 12, 16, 17, 18, 22, 26, 27, 28,
                                                 29, 33, 34, 39, 40, 41, 42, 43, 44, 45, 46, 47}));
  HALYARD_RETURN_IF_ERROR(appendActivation(node, options.fused_activation_function(), inputs));
  HALYARD_RETURN_IF_ERROR(appendFloat(node, options.cell_clip(), inputs));
  HALYARD_RETURN_IF_ERROR(appendFloat(node, options.proj_clip(), inputs));
  HALYARD_RETURN_IF_ERROR(appendBool(node, options.merge_outputs(), inputs));
  HALYARD_RETURN_IF_ERROR(appendBool(node, options.time_major(), inputs));
  for (size_t i = 0; i < kLayerNorm; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t none,
                             node.builder().omitted(node.operand(inputs[0]).type));
    inputs.push_back(none);
  }
  HALYARD_ASSIGN_OR_RETURN(OperandIndexes outputs, directions(node, options.merge_outputs()));
  HALYARD_RETURN_IF_ERROR(appendStates(node, inputs, {35, 36, 37, 38}, outputs));
  return node.builder().addOperation(BIDIRECTIONAL_SEQUENCE_LSTM, std::move(inputs),
                                     std::move(outputs));
}

using Op = tfl::BuiltinOperator;
using Opt = tfl::BuiltinOptions;

constexpr Converter kRnnConverters[] = {
    {Op::RNN, Opt::RNNOptions, kNeeds, convertRnn},
    {Op::UNIDIRECTIONAL_SEQUENCE_RNN, Opt::SequenceRNNOptions, kNeeds, convertSequenceRnn},
    {Op::BIDIRECTIONAL_SEQUENCE_RNN, Opt::BidirectionalSequenceRNNOptions, kNeeds,
     convertBidirectionalRnn},
    {Op::SVDF, Opt::SVDFOptions, kNeeds, convertSvdf},
    {Op::LSTM, Opt::LSTMOptions, kNeeds, convertLstm},
    {Op::BIDIRECTIONAL_SEQUENCE_LSTM, Opt::BidirectionalSequenceLSTMOptions, kNeeds,
     convertBidirectionalLstm},
};

}  // namespace

std::span<const Converter> rnnConverters() { return kRnnConverters; }

}  // namespace halyard::import
