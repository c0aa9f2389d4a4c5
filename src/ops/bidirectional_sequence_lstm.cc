// BIDIRECTIONAL_SEQUENCE_LSTM: two LSTM cells along a sequence, one from each end.
#include <array>
#include <string_view>
#include <vector>

#include "ops/linking.h"
#include "ops/lstm_cell.h"
#include "ops/lstm_operands.h"
#include "ops/operand_checks.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

using enum FeatureLevel;

constexpr size_t kX = 0;
constexpr size_t kAux = 39;
constexpr size_t kOptions = 48;
constexpr size_t kMerge = 51;
constexpr size_t kTimeMajor = 52;
constexpr std::array<std::string_view, 4> kStateShapes = {"BP", "BC", "BQ", "BD"};

// The positions of a direction's first operands.
struct Direction {
  bool backward;
  size_t cell;
  size_t states;
  size_t auxWeights;
  size_t layerNorm;
};
constexpr Direction kForward = {false, 1, 35, 40, 53};
constexpr Direction kBackward = {true, 18, 37, 44, 57};

// Sizes by letter: T steps, B batch, I input, C cells, P outputs; of the backward cell J, D and Q;
// A auxiliary input.
const OperandTable& table() {
  return madeOnce([] {
    const OperandTable states = {
        tensorRow("fw_output_state_in", "BP"), tensorRow("fw_cell_state_in", "BC"),
        tensorRow("bw_output_state_in", "BQ"), tensorRow("bw_cell_state_in", "BD"),
        tensorRow("aux_input", "TBA")};
    const OperandTable scalars = {fixedRow("activation", "", OperandType::INT32),
                                  realRow("cell_clip"), realRow("projection_clip"),
                                  fixedRow("merge_outputs", "", OperandType::BOOL),
                                  fixedRow("time_major", "", OperandType::BOOL)};
    OperandTable result = OperandTable{tensorRow("input", "TBI")} + lstmWeightRows("fw_") +
                          backwardRows(lstmWeightRows("bw_")) + states + lstmAuxRows("fw_") +
                          backwardRows(lstmAuxRows("bw_")) + scalars + lstmLayerNormRows("fw_") +
                          backwardRows(lstmLayerNormRows("bw_"));
    result[kAux].leads = kAuxInput;
    result[kAux].mayLack = true;
    OperandRow& leader = result[kForward.auxWeights + kForgetGate];
    leader.leads = kAuxWeights;
    leader.needs = kAuxInput;
    leader.mayLack = true;
    return result;
  });
}

struct Plan {
  Parts parts = 0;
  bool merged = false;
  bool timeMajor = false;
  Linking linking() const { return linkingOf(parts); }
};

Status readPlan(const OperationContext& context, Plan* plan) {
  HALYARD_RETURN_IF_ERROR(checkPresence(context, table(), &plan->parts));
  HALYARD_RETURN_IF_ERROR(context.read(kMerge, &plan->merged), "merge_outputs");
  HALYARD_RETURN_IF_ERROR(context.read(kTimeMajor, &plan->timeMajor), "time_major");
  return checkOutputCount(context, plan->merged, kStateShapes.size());
}

Status infer(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(readPlan(context, &plan));
  DimensionSolver sizes(plan.timeMajor);
  solveLstmSizes(sizes, plan.parts);
  solveLstmSizes(sizes, plan.parts >> kBackwardPartsShift, 'Q', 'D');
  sizes.equate('J', plan.linking() == Linking::PARALLEL ? 'A' : 'I');
  HALYARD_RETURN_IF_ERROR(sizes.match(context, table()));
  LstmOptions options;
  HALYARD_RETURN_IF_ERROR(unlessIncomplete(readLstmOptions(context, kOptions, &options)));
  return setBidirectionalOutputs(context, sizes, plan.merged, 'P', 'Q', kStateShapes);
}

void computeDirection(OperationContext& context, const Plan& plan, const LstmOptions& options,
                      const Direction& direction) {
  const Linking linking = plan.linking();
  const LstmWeights weights = lstmWeightsAt(context, direction.cell, direction.layerNorm);
  const size_t source = direction.backward && linking == Linking::PARALLEL ? kAux : kX;
  std::vector<SequenceInput> inputs = {
      {context.input(source).as<float>(),
       gateWeights(weights.input, weights.cells, weights.inputSize)}};
  if (linking == Linking::CROSS) {
    const Tensor& aux = context.input(kAux);
    inputs.push_back({aux.as<float>(), gateWeights(gatePointersAt(context, direction.auxWeights),
                                                   weights.cells, aux.dims[2])});
  }
  const Shape& dims = context.input(kX).dims;
  const SequenceOrder order = {dims[plan.timeMajor ? 0 : 1], dims[plan.timeMajor ? 1 : 0],
                               plan.timeMajor, direction.backward};
  const size_t firstState = direction.backward ? 2 : 0;
  const LstmStates states = {context.input(direction.states).as<float>(),
                             context.input(direction.states + 1).as<float>(),
                             stateOutput(context, plan.merged, firstState),
                             stateOutput(context, plan.merged, firstState + 1)};
  runLstm(context.services(), order, weights, options, inputs, states,
          sequenceOutput(context, plan.merged, direction.backward,
                         context.input(kForward.states).dims[1],
                         context.input(kBackward.states).dims[1]));
}

Status compute(OperationContext& context) {
  Plan plan;
  HALYARD_RETURN_IF_ERROR(readPlan(context, &plan));
  LstmOptions options;
  HALYARD_RETURN_IF_ERROR(readLstmOptions(context, kOptions, &options));
  for (const Direction& direction : {kForward, kBackward}) {
    computeDirection(context, plan, options, direction);
  }
  return okStatus();
}

Status checkLinking(const OperationView& operation, FeatureLevel& level) {
  std::vector<size_t> weights;
  for (size_t i = kForward.auxWeights; i < kBackward.auxWeights + kGates; ++i) weights.push_back(i);
  requireLevelOfLinking(operation, kAux, weights, level);
  return okStatus();
}

double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kForward.cell, kBackward.cell + kLstmWeightRows - 1},
                             {kForward.auxWeights, kBackward.auxWeights + kGates - 1}});
}

OperationDefinition define() {
  // merge_outputs decides the meaning of the outputs after the first.
  const OperandTable& outputs = madeOnce([] {
    return OperandTable{tensorRow("output", "TBM"), tensorRow("backward output or state", ""),
                        tensorRow("state", "BX"),   tensorRow("state", "BX"),
                        tensorRow("state", "BX"),   tensorRow("state", "BX")};
  });
  OperationDefinition definition;
  definition.type = OperationType::BIDIRECTIONAL_SEQUENCE_LSTM;
  definition.signature.rows = floatRows(FL3);
  definition.signature.forms = {{"", specsOf(table()), {}}};
  definition.signature.outputs = specsOf(outputs);
  definition.signature.outputCounts = {{1, FL3}, {2, FL3}, {5, FL4}, {6, FL4}};
  definition.signature.check = checkLinking;
  definition.infer = infer;
  definition.reference = compute;
  definition.work = work;
  return definition;
}

}  // namespace

const OperationDefinition& bidirectionalSequenceLstm() {
  return madeOnce([] { return define(); });
}

}  // namespace halyard::ops
