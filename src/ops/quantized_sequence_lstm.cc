// QUANTIZED_SEQUENCE_LSTM of the extension halyard.tflite: QUANTIZED_LSTM along a sequence, as
// TensorFlow Lite's UNIDIRECTIONAL_SEQUENCE_LSTM of INT8 computes it. Its inputs are those of one
// step, with a sequence in place of the first. Another input tells whether time is the first
// dimension. The output has the hidden values of all steps.
#include <array>
#include <cstring>
#include <vector>

#include "ops/operand_checks.h"
#include "ops/quantized_lstm_cell.h"
#include "ops/sequence.h"
#include "ops/work.h"

namespace halyard::ops {

const OperationDefinition& quantizedLstm();

namespace {

using namespace quantized_lstm;  // NOLINT(google-build-using-namespace)

enum StepOutput : size_t { kHiddenOut, kCellOut, kResult };

// The operands of one step.
struct Step {
  Step(OperationContext& context, const SequenceOrder& order) {
    for (size_t i = 0; i < kTimeMajor; ++i) inputs.push_back(context.input(i));
    inputs[kX].dims = {static_cast<uint32_t>(order.batch), context.input(kX).dims[2]};
    outputs = {context.output(0), context.input(kCellState), context.output(0)};
  }

  std::vector<Tensor> inputs;
  std::array<Tensor, 3> outputs;
};

Status infer(OperationContext& context) {
  SequenceOrder order;
  HALYARD_RETURN_IF_ERROR(readQuantizedSequence(context, &order));
  const Tensor& state = context.input(kHiddenState);
  Tensor& output = context.output(0);
  if (output.scale != state.scale || output.zeroPoint != state.zeroPoint) {
    return opFailed("the output has scale {} and zero point {}, expected {} and {}, as the state",
                    output.scale, output.zeroPoint, state.scale, state.zeroPoint);
  }
  Step step(context, order);
  OperationContext inner(step.inputs, step.outputs, nullptr);
  HALYARD_RETURN_IF_ERROR(quantizedLstm().infer(inner));
  const Shape& dims = context.input(kX).dims;
  output.dims = {dims[0], dims[1], step.outputs[kResult].dims[1]};
  return okStatus();
}

Status compute(OperationContext& context) {
  SequenceOrder order;
  HALYARD_RETURN_IF_ERROR(readQuantizedSequence(context, &order));
  Step step(context, order);
  const size_t depth = context.input(kX).dims[2];
  const size_t width = context.output(0).dims[2];
  const Shape hidden = {static_cast<uint32_t>(order.batch), static_cast<uint32_t>(width)};
  step.outputs[kHiddenOut].dims = step.outputs[kResult].dims = hidden;
  step.outputs[kHiddenOut].data = context.scratch<int8_t>(order.batch * width);
  step.outputs[kCellOut].data = context.scratch<int16_t>(context.input(kCellState).elementCount());
  // If the rows of one step are not contiguous, they are gathered.
  const bool isApart = !order.timeMajor && order.batch > 1;
  auto* const gathered = context.scratch<int8_t>(isApart ? order.batch * depth : 0);
  auto* const results = context.scratch<int8_t>(isApart ? order.batch * width : 0);
  auto* const x = static_cast<int8_t*>(context.input(kX).data);
  auto* const y = context.output(0).as<int8_t>();

  RewindingServices services(context.services());
  for (size_t s = 0; s < order.steps; ++s) {
    services.rewind();
    for (size_t b = 0; isApart && b < order.batch; ++b) {
      std::memcpy(gathered + b * depth, x + order.row(s, b) * depth, depth);
    }
    step.inputs[kX].data = isApart ? gathered : x + order.row(s, 0) * depth;
    step.outputs[kResult].data = isApart ? results : y + order.row(s, 0) * width;
    OperationContext inner(step.inputs, step.outputs, &services);
    HALYARD_RETURN_IF_ERROR(quantizedLstm().reference(inner));
    for (size_t b = 0; isApart && b < order.batch; ++b) {
      std::memcpy(y + order.row(s, b) * width, results + b * width, width);
    }
    // A step may read and write the same states.
    step.inputs[kHiddenState].data = step.outputs[kHiddenOut].data;
    step.inputs[kCellState].data = step.outputs[kCellOut].data;
  }
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  return quantizedLstm().work(inputs, outputs);
}

OperationDefinition define() {
  OperationDefinition definition;
  definition.type = OperationType::QUANTIZED_SEQUENCE_LSTM;
  definition.signature.rows = quantizedLstm().signature.rows;
  definition.signature.forms = quantizedLstm().signature.forms;
  std::vector<OperandSpec>& inputs = definition.signature.forms[0].inputs;
  inputs[kX].ranks = rank(3);
  inputs.push_back(boolean("time_major"));
  definition.signature.outputs = {fixed("output", OperandType::TENSOR_QUANT8_ASYMM_SIGNED)};
  definition.infer = infer;
  definition.reference = compute;
  definition.work = work;
  return definition;
}

}  // namespace

Status readQuantizedSequence(const OperationContext& context, SequenceOrder* order) {
  HALYARD_RETURN_IF_ERROR(checkRank(context.input(kX), 3, 3, "input"));
  HALYARD_RETURN_IF_ERROR(context.read(kTimeMajor, &order->timeMajor), "time_major");
  const Shape& dims = context.input(kX).dims;
  order->steps = dims[order->timeMajor ? 0 : 1];
  order->batch = dims[order->timeMajor ? 1 : 0];
  return okStatus();
}

const OperationDefinition& quantizedSequenceLstm() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
