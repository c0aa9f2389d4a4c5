// LSTM (one step) and UNIDIRECTIONAL_SEQUENCE_LSTM.
#include <cstring>

#include "ops/lstm_cell.h"
#include "ops/lstm_operands.h"
#include "ops/operand_checks.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

using enum FeatureLevel;

// Both have the same inputs up to the scalars.
enum Input : size_t {
  kX = 0,
  kCell = 1,
  kHiddenState = 18,
  kCellState = 19,
  kOptions = 20,
  kStepLayerNorm = 23,
  kTimeMajor = 23,
  kSequenceLayerNorm = 24,
};

// Sizes by letter: T steps, B batch, I input, C cells, P outputs, G all gates' cells.
OperandTable headRows(const char* inputShape) {
  return OperandTable{tensorRow("input", inputShape)} + lstmWeightRows() +
         OperandTable{tensorRow("output_state_in", "BP"), tensorRow("cell_state_in", "BC"),
                      fixedRow("activation", "", OperandType::INT32), realRow("cell_clip"),
                      realRow("projection_clip")};
}

const OperandTable& stepTable() {
  return madeOnce([] { return headRows("BI") + lstmLayerNormRows(); });
}
const OperandTable& stepOutputs() {
  return madeOnce([] {
    return OperandTable{tensorRow("scratch_buffer", "BG"), tensorRow("output_state_out", "BP"),
                        tensorRow("cell_state_out", "BC"), tensorRow("output", "BP")};
  });
}

const OperandTable& sequenceTable() {
  return madeOnce([] {
    return headRows("TBI") + OperandTable{fixedRow("time_major", "", OperandType::BOOL)} +
           lstmLayerNormRows();
  });
}
const OperandTable& sequenceOutputs() {
  return madeOnce([] {
    return OperandTable{tensorRow("output", "TBP"), tensorRow("output_state_out", "BP"),
                        tensorRow("cell_state_out", "BC")};
  });
}

Status solve(const OperationContext& context, const OperandTable& table, DimensionSolver& sizes) {
  Parts parts = 0;
  HALYARD_RETURN_IF_ERROR(checkPresence(context, table, &parts));
  solveLstmSizes(sizes, parts);
  HALYARD_RETURN_IF_ERROR(sizes.match(context, table));
  sizes.define('G', sizes['C'] * ((parts & kInputGatePart) != 0 ? kGates : kGates - 1));
  LstmOptions options;
  return unlessIncomplete(readLstmOptions(context, kOptions, &options));
}

Status inferStep(OperationContext& context) {
  DimensionSolver sizes;
  HALYARD_RETURN_IF_ERROR(solve(context, stepTable(), sizes));
  return sizes.setOutputs(context, stepOutputs());
}

Status inferSequence(OperationContext& context) {
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(context.read(kTimeMajor, &timeMajor), "time_major");
  DimensionSolver sizes(timeMajor);
  HALYARD_RETURN_IF_ERROR(solve(context, sequenceTable(), sizes));
  return sizes.setOutputs(context, sequenceOutputs());
}

Status run(OperationContext& context, const SequenceOrder& order, size_t layerNorm, float* output,
           float* finalHidden, float* finalCell) {
  LstmOptions options;
  HALYARD_RETURN_IF_ERROR(readLstmOptions(context, kOptions, &options));
  const LstmWeights weights = lstmWeightsAt(context, kCell, layerNorm);
  const SequenceInput input = {context.input(kX).as<float>(),
                               gateWeights(weights.input, weights.cells, weights.inputSize)};
  runLstm(context.services(), order, weights, options, {&input, 1},
          {context.input(kHiddenState).as<float>(), context.input(kCellState).as<float>(),
           finalHidden, finalCell},
          {output, weights.outputs});
  return okStatus();
}

Status computeStep(OperationContext& context) {
  Tensor& scratch = context.output(0);
  // The specification does not define the contents, but results should not depend on old memory.
  std::memset(scratch.data, 0, scratch.elementCount() * elementSize(scratch.type));
  return run(context, {.batch = context.input(kX).dims[0]}, kStepLayerNorm,
             context.output(3).as<float>(), context.output(1).as<float>(),
             context.output(2).as<float>());
}

Status computeSequence(OperationContext& context) {
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(context.read(kTimeMajor, &timeMajor), "time_major");
  const Shape& dims = context.input(kX).dims;
  const SequenceOrder order = {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, false};
  const bool hasStates = context.outputCount() > 1;
  return run(context, order, kSequenceLayerNorm, context.output(0).as<float>(),
             hasStates ? context.output(1).as<float>() : nullptr,
             hasStates ? context.output(2).as<float>() : nullptr);
}

// The weights of the cell follow the input.
double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{1, kLstmWeightRows}});
}

}  // namespace

const OperationDefinition& lstm() {
  return madeOnce([] {
    OperationDefinition result;
    result.type = OperationType::LSTM;
    result.signature.rows = floatRows(FL1);
    result.signature.forms = {{"", specsOf(stepTable()), {{kStepLayerNorm, FL1}, {27, FL3}}}};
    result.signature.outputs = specsOf(stepOutputs());
    result.infer = inferStep;
    result.reference = computeStep;
    result.work = work;
    return result;
  });
}

const OperationDefinition& unidirectionalSequenceLstm() {
  return madeOnce([] {
    OperationDefinition result;
    result.type = OperationType::UNIDIRECTIONAL_SEQUENCE_LSTM;
    result.signature.rows = floatRows(FL3);
    result.signature.forms = {{"", specsOf(sequenceTable()), {}}};
    result.signature.outputs = specsOf(sequenceOutputs());
    result.signature.outputCounts = {{1, FL3}, {3, FL4}};
    result.infer = inferSequence;
    result.reference = computeSequence;
    result.work = work;
    return result;
  });
}

}  // namespace halyard::ops
