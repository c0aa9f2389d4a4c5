// Converts sequences through an LSTM cell, in float and in integers.
//
// Inputs 0 to 19 have NNAPI's order. First come the sequence, input weights, recurrent weights,
// peephole weights and biases (four each, by gate; peephole weights three). Projection and its
// bias, output state and cell state follow. Inputs 20 to 23 are the weights of layer normalisation.
// The states are variables in the file. In TFLite they keep their values from one run to the next.
// A compiled model has no state. Every run starts with zeros, as TFLite's first run does and every
// run after a reset.
#include <cmath>

#include "import/tflite/converters.h"

namespace halyard::import {
namespace {

constexpr size_t kFirstWeights = 1;
constexpr size_t kPeephole = 9;
constexpr size_t kBias = 12;
constexpr size_t kProjection = 16;
constexpr size_t kProjectionBias = 17;
constexpr size_t kHiddenState = 18;
constexpr size_t kCellState = 19;
constexpr size_t kLayerNorm = 20;
constexpr size_t kGates = 4;
constexpr size_t kInputs = kLayerNorm + kGates;
constexpr size_t kHiddenIntermediate = kGates;

const tfl::UnidirectionalSequenceLSTMOptions& optionsOf(const Node& node) {
  return *node.options<tfl::UnidirectionalSequenceLSTMOptions>();
}

// Returns the value with which an execution starts a variable. Its first value has `zero` in every
// byte. It is a constant or, if states are kept, an input of the model.
Result<uint32_t> initialState(Node& node, size_t i, Operand operand, uint8_t zero) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  const std::optional<uint32_t> size = knownByteSize(operand.type, operand.dimensions);
  if (!size) return badData("the state ({}) has no shape", tensor.text());
  if (node.builder().keepsStates()) {
    return node.builder().beginState(tensor, std::move(operand), {*size, zero});
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t state,
                           node.builder().addFilledConstant(std::move(operand), *size, zero,
                                                            node.builder().nameOf(tensor)),
                           "{}", tensor.text());
  return state;
}

}  // namespace

Status keepState(Node& node, size_t i, uint32_t after) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  if (tensor.isVariable && node.builder().keepsStates()) {
    node.builder().endState(tensor.index, after);
  }
  return okStatus();
}

Result<uint32_t> initialFloatState(Node& node, size_t i) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  if (!tensor.isVariable) return node.input(i);
  HALYARD_ASSIGN_OR_RETURN(Operand operand, node.builder().describe(tensor));
  return initialState(node, i, std::move(operand), 0);
}

Result<int32_t> cellActivation(tfl::ActivationFunctionType activation) {
  switch (activation) {
    case tfl::ActivationFunctionType::TANH:
      return 4;
    case tfl::ActivationFunctionType::RELU_N1_TO_1:
      return unsupported("the activation of the cell is RELU_N1_TO_1, NNAPI's LSTM has none such");
    default:
      return Node::fuseCode(activation);
  }
}

namespace {

Status convertFloatLstm(Node& node, uint32_t x) {
  const tfl::UnidirectionalSequenceLSTMOptions& options = optionsOf(node);
  const OperandType type = node.operand(x).type;
  GraphBuilder& builder = node.builder();
  HALYARD_ASSIGN_OR_RETURN(const int32_t code, cellActivation(options.fused_activation_function()));
  OperandIndexes inputs = {x};
  for (size_t i = kFirstWeights; i < kHiddenState; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t weights, node.optionalFloatInput(i, type));
    inputs.push_back(weights);
  }
  for (size_t i : {kHiddenState, kCellState}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t state, initialFloatState(node, i));
    inputs.push_back(state);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t activation, builder.int32Scalar(code));
  inputs.push_back(activation);
  for (float clip : {options.cell_clip(), options.proj_clip()}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar, builder.floatScalar(type, clip));
    inputs.push_back(scalar);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t timeMajor, builder.boolScalar(options.time_major()));
  inputs.push_back(timeMajor);
  for (size_t i = kLayerNorm; i < kInputs; ++i) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t weights, node.optionalFloatInput(i, type));
    inputs.push_back(weights);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  OperandIndexes outputs = {y};
  for (size_t i : {kHiddenState, kCellState}) {
    if (!builder.keepsStates()) break;
    HALYARD_ASSIGN_OR_RETURN(const uint32_t after, node.temporaryLike(inputs[i], "state"));
    HALYARD_RETURN_IF_ERROR(keepState(node, i, after));
    outputs.push_back(after);
  }
  return builder.addOperation(OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM, std::move(inputs),
                              std::move(outputs));
}

// The integer form, with INT8 activations and weights and an INT16 state. kTfliteExtension supports
// it. NNAPI only has QUANTIZED_LSTM, which is one step, so the sequence is split into its steps.
// All use the same fixed-point arithmetic, so that the results are identical. A cell computed in
// float would drift away from them step by step.
struct IntegerLstm {
  OperandIndexes operands;         // of QUANTIZED_LSTM; those of x and of the states vary
  Operand hiddenState, cellState;  // as outputs of a step
  uint32_t steps = 0, batch = 0, depth = 0;
};

// Returns an operand without zero point, with this tensor's dimensions and scale.
Result<Operand> symmetricOperand(const FileTensor& tensor, tfl::TensorType expected,
                                 OperandType type) {
  if (tensor.type != expected) {
    return unsupported("{} is {}, expected {} in an LSTM of INT8", tensor.text(),
                       tensorTypeName(tensor.type), tensorTypeName(expected));
  }
  if (tensor.scales.size() != 1) {
    return unsupported("{} has {} scales, expected one", tensor.text(), tensor.scales.size());
  }
  if (!(tensor.scales[0] > 0)) {
    return badData("{} has scale {}, expected a positive number", tensor.text(), tensor.scales[0]);
  }
  if (!tensor.zeroPoints.empty() && tensor.zeroPoints[0] != 0) {
    return unsupported("{} has zero point {}, expected 0", tensor.text(), tensor.zeroPoints[0]);
  }
  Operand operand;
  operand.type = type;
  operand.dimensions = tensor.dims;
  operand.scale = tensor.scales[0];
  return operand;
}

Result<uint32_t> symmetricConstant(Node& node, size_t i, tfl::TensorType expected,
                                   OperandType type) {
  if (!node.hasInput(i)) return node.builder().omitted(type);
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  if (!tensor.isConstant()) {
    return unsupported("{} is computed at run time, only constants are supported", tensor.text());
  }
  HALYARD_ASSIGN_OR_RETURN(Operand operand, symmetricOperand(tensor, expected, type));
  return node.builder().addFileConstant(std::move(operand), tensor);
}

Result<uint32_t> biasConstant(Node& node, size_t i) {
  if (!node.hasInput(i)) return node.builder().omitted(OperandType::TENSOR_INT32);
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(i));
  if (!tensor.isConstant() || tensor.type != tfl::TensorType::INT32) {
    return unsupported("the bias ({}) is no constant of INT32", tensor.text());
  }
  Operand operand;
  operand.type = OperandType::TENSOR_INT32;
  operand.dimensions = tensor.dims;
  return node.builder().addFileConstant(std::move(operand), tensor);
}

Result<uint32_t> integerHiddenState(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(kHiddenState));
  if (!tensor.isVariable) return node.input(kHiddenState);
  HALYARD_ASSIGN_OR_RETURN(Operand operand, node.builder().describe(tensor));
  const auto zero = static_cast<uint8_t>(operand.zeroPoint);
  return initialState(node, kHiddenState, std::move(operand), zero);
}

Result<uint32_t> integerCellState(Node& node) {
  HALYARD_ASSIGN_OR_RETURN(const FileTensor tensor, node.inputInfo(kCellState));
  if (!tensor.isVariable) return unsupported("the cell state ({}) is no variable", tensor.text());
  HALYARD_ASSIGN_OR_RETURN(Operand operand, symmetricOperand(tensor, tfl::TensorType::INT16,
                                                             OperandType::TENSOR_QUANT16_SYMM));
  return initialState(node, kCellState, std::move(operand), 0);
}

// Returns the quantisation of an intermediate, if the file has one.
Result<std::optional<FileTensor>> intermediate(Node& node, size_t i) {
  const std::span<const int32_t> list = node.op().intermediates;
  if (i >= list.size() || list[i] < 0) return std::optional<FileTensor>();
  HALYARD_ASSIGN_OR_RETURN(FileTensor tensor, node.builder().file().quantizationOf(list[i]),
                           "intermediate {}", i);
  if (tensor.scales.size() != 1 || !(tensor.scales[0] > 0)) return std::optional<FileTensor>();
  return std::optional<FileTensor>(tensor);
}

// Appends the scales of the gates' sums, and scale and zero point of the hidden value before the
// projection.
Status appendIntermediates(Node& node, IntegerLstm& lstm) {
  GraphBuilder& builder = node.builder();
  const bool hasLayerNorm = node.hasInput(kLayerNorm + 1);
  for (size_t gate = 0; gate < kGates; ++gate) {
    // Without normalisation the sums go directly into functions that use this scale.
    float scale = 0x1p-12f;
    if (hasLayerNorm) {
      HALYARD_ASSIGN_OR_RETURN(const auto tensor, intermediate(node, gate));
      const bool isNeeded = gate != 0 || node.hasInput(kFirstWeights);
      if (!tensor && isNeeded) return badData("intermediate {} has no scale", gate);
      if (tensor) scale = tensor->scales[0];
    }
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                             builder.floatScalar(OperandType::TENSOR_FLOAT32, scale));
    lstm.operands.push_back(scalar);
  }
  float scale = lstm.hiddenState.scale;
  int64_t zeroPoint = lstm.hiddenState.zeroPoint;
  HALYARD_ASSIGN_OR_RETURN(const auto hidden, intermediate(node, kHiddenIntermediate));
  if (node.hasInput(kProjection)) {
    if (!hidden) return badData("intermediate {} has no scale", kHiddenIntermediate);
    scale = hidden->scales[0];
    zeroPoint = hidden->zeroPoints.empty() ? 0 : hidden->zeroPoints[0];
  }
  if (zeroPoint < INT8_MIN || zeroPoint > INT8_MAX) {
    return badData("intermediate {} has zero point {}", kHiddenIntermediate, zeroPoint);
  }
  // QUANTIZED_LSTM subtracts its argument, but the file's zero point must be added.
  HALYARD_ASSIGN_OR_RETURN(const uint32_t negated,
                           builder.int32Scalar(-static_cast<int32_t>(zeroPoint)));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                           builder.floatScalar(OperandType::TENSOR_FLOAT32, scale));
  lstm.operands.insert(lstm.operands.end(), {negated, scalar});
  return okStatus();
}

Result<IntegerLstm> readIntegerLstm(Node& node, uint32_t x) {
  const tfl::UnidirectionalSequenceLSTMOptions& options = optionsOf(node);
  if (options.fused_activation_function() != tfl::ActivationFunctionType::TANH) {
    return unsupported("the activation of an LSTM of INT8 is not TANH");
  }
  IntegerLstm lstm;
  lstm.operands = {x};
  for (size_t i = kFirstWeights; i < kHiddenState; ++i) {
    const bool isBias = (i >= kBias && i < kProjection) || i == kProjectionBias;
    const bool isPeephole = i >= kPeephole && i < kBias;
    Result<uint32_t> operand =
        isBias ? biasConstant(node, i)
        : isPeephole
            ? symmetricConstant(node, i, tfl::TensorType::INT16, OperandType::TENSOR_QUANT16_SYMM)
            : symmetricConstant(node, i, tfl::TensorType::INT8, OperandType::TENSOR_QUANT8_SYMM);
    if (!operand.ok()) return operand.takeStatus();
    lstm.operands.push_back(*operand);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t hidden, integerHiddenState(node));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t cell, integerCellState(node));
  lstm.operands.insert(lstm.operands.end(), {hidden, cell});
  lstm.hiddenState = node.operand(hidden);
  lstm.cellState = node.operand(cell);
  for (size_t i = kLayerNorm; i < kInputs; ++i) {
    HALYARD_ASSIGN_OR_RETURN(
        const uint32_t weights,
        symmetricConstant(node, i, tfl::TensorType::INT16, OperandType::TENSOR_QUANT16_SYMM));
    lstm.operands.push_back(weights);
  }
  for (float clip : {options.cell_clip(), options.proj_clip()}) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t scalar,
                             node.builder().floatScalar(OperandType::TENSOR_FLOAT32, clip));
    lstm.operands.push_back(scalar);
  }
  HALYARD_RETURN_IF_ERROR(appendIntermediates(node, lstm));
  const Shape& dims = node.operand(x).dimensions;
  if (dims.size() != 3) return badData("the input is {}, expected rank 3", shapeText(dims));
  lstm.steps = dims[options.time_major() ? 0 : 1];
  lstm.batch = dims[options.time_major() ? 1 : 0];
  lstm.depth = dims[2];
  if (lstm.hiddenState.dimensions.size() != 2) {
    return badData("the output state is {}, expected rank 2",
                   shapeText(lstm.hiddenState.dimensions));
  }
  return lstm;
}

Result<uint32_t> stepOperand(Node& node, const Operand& operand, Shape dims,
                             std::string_view what) {
  return node.builder().addTemporary(operand.type, std::move(dims), operand.scale,
                                     operand.zeroPoint, std::string(what));
}

// Swaps the first two of three dimensions of `from`.
Status swapOuter(Node& node, uint32_t from, uint32_t to) {
  const int32_t order[] = {1, 0, 2};
  HALYARD_ASSIGN_OR_RETURN(const uint32_t perm, node.builder().int32Tensor({3}, order));
  return node.builder().addOperation(OperationType::TRANSPOSE, {from, perm}, {to});
}

// Splits the sequence into steps of [batch, depth].
Result<OperandIndexes> splitSteps(Node& node, const IntegerLstm& lstm, bool swap) {
  GraphBuilder& builder = node.builder();
  uint32_t x = lstm.operands[0];
  const Operand source = node.operand(x);
  if (swap) {
    HALYARD_ASSIGN_OR_RETURN(
        const uint32_t swapped,
        stepOperand(node, source, {lstm.steps, lstm.batch, lstm.depth}, "by step"));
    HALYARD_RETURN_IF_ERROR(swapOuter(node, x, swapped));
    x = swapped;
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t rows,
                           node.reshapedTo(x, {lstm.steps * lstm.batch, lstm.depth}));
  OperandIndexes steps;
  for (uint32_t t = 0; t < lstm.steps; ++t) {
    HALYARD_ASSIGN_OR_RETURN(
        const uint32_t step,
        stepOperand(node, source, {lstm.batch, lstm.depth}, fmt::format("step {}", t)));
    steps.push_back(step);
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, builder.int32Scalar(0));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t count,
                           builder.int32Scalar(static_cast<int32_t>(lstm.steps)));
  HALYARD_RETURN_IF_ERROR(builder.addOperation(OperationType::SPLIT, {rows, axis, count}, steps));
  return steps;
}

// Returns the hidden values of all steps in sequence, [steps * batch, size].
Result<uint32_t> runSteps(Node& node, IntegerLstm& lstm, const OperandIndexes& steps) {
  GraphBuilder& builder = node.builder();
  OperandIndexes results;
  for (uint32_t step : steps) {
    OperandIndexes outputs;
    for (const Operand& like : {lstm.hiddenState, lstm.cellState, lstm.hiddenState}) {
      HALYARD_ASSIGN_OR_RETURN(const uint32_t output,
                               stepOperand(node, like, like.dimensions, "state"));
      outputs.push_back(output);
    }
    HALYARD_RETURN_IF_ERROR(builder.spend(2 * kInputs * sizeof(uint32_t)));
    lstm.operands[0] = step;
    HALYARD_RETURN_IF_ERROR(
        builder.addOperation(OperationType::QUANTIZED_LSTM, lstm.operands, outputs));
    lstm.operands[kHiddenState] = outputs[0];
    lstm.operands[kCellState] = outputs[1];
    results.push_back(outputs[2]);
  }
  const Shape& dims = lstm.hiddenState.dimensions;
  HALYARD_ASSIGN_OR_RETURN(
      const uint32_t joined,
      stepOperand(node, lstm.hiddenState, {lstm.steps * dims[0], dims[1]}, "all steps"));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t axis, builder.int32Scalar(0));
  results.push_back(axis);
  HALYARD_RETURN_IF_ERROR(
      builder.addOperation(OperationType::CONCATENATION, std::move(results), {joined}));
  return joined;
}

Status convertIntegerLstm(Node& node, uint32_t x) {
  HALYARD_ASSIGN_OR_RETURN(IntegerLstm lstm, readIntegerLstm(node, x));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t y, node.output(0));
  HALYARD_RETURN_IF_ERROR(node.shareQuantization(y, lstm.operands[kHiddenState]));
  // The operation of the whole sequence has no states as outputs.
  if (node.builder().prefersExtension() && !node.builder().keepsStates()) {
    HALYARD_ASSIGN_OR_RETURN(const uint32_t timeMajor,
                             node.builder().boolScalar(optionsOf(node).time_major()));
    lstm.operands.push_back(timeMajor);
    return node.builder().addOperation(OperationType::QUANTIZED_SEQUENCE_LSTM,
                                       std::move(lstm.operands), {y});
  }
  // The steps are contiguous if time is the first dimension or the batch is one.
  const bool swap = !optionsOf(node).time_major() && lstm.batch > 1;
  HALYARD_ASSIGN_OR_RETURN(const OperandIndexes steps, splitSteps(node, lstm, swap));
  HALYARD_ASSIGN_OR_RETURN(const uint32_t joined, runSteps(node, lstm, steps));
  for (size_t i : {kHiddenState, kCellState}) {
    if (!node.builder().keepsStates()) break;
    HALYARD_RETURN_IF_ERROR(keepState(node, i, lstm.operands[i]));
  }
  const uint32_t size = lstm.hiddenState.dimensions[1];
  const Shape expected = optionsOf(node).time_major() ? Shape{lstm.steps, lstm.batch, size}
                                                      : Shape{lstm.batch, lstm.steps, size};
  Operand& declared = node.builder().operand(y);
  if (declared.dimensions.empty()) declared.dimensions = expected;
  if (declared.dimensions != expected) {
    return badData("the output is {} in the file, the inputs make it {}",
                   shapeText(declared.dimensions), shapeText(expected));
  }
  if (!swap) return node.reshape(joined, y);
  HALYARD_ASSIGN_OR_RETURN(const uint32_t byStep,
                           node.reshapedTo(joined, {lstm.steps, lstm.batch, size}));
  return swapOuter(node, byStep, y);
}

Status convertSequenceLstm(Node& node) {
  HALYARD_RETURN_IF_ERROR(node.expectCounts(kLayerNorm, kInputs, 1));
  if (optionsOf(node).diagonal_recurrent_tensors()) {
    return unsupported("diagonal recurrent weights");
  }
  HALYARD_ASSIGN_OR_RETURN(const uint32_t x, node.input(0));
  return isQuant8Asymm(node.operand(x).type) ? convertIntegerLstm(node, x)
                                             : convertFloatLstm(node, x);
}

constexpr Converter kRecurrentConverters[] = {
    {tfl::BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM,
     tfl::BuiltinOptions::UnidirectionalSequenceLSTMOptions, OptionsNeed::REQUIRED,
     convertSequenceLstm},
};

}  // namespace

std::span<const Converter> recurrentConverters() { return kRecurrentConverters; }

}  // namespace halyard::import
