// RNN, UNIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_RNN.
#include <array>
#include <string_view>
#include <utility>

#include "ops/linking.h"
#include "ops/operand_checks.h"
#include "ops/operand_table.h"
#include "ops/operation.h"
#include "ops/recurrent_activation.h"
#include "ops/rnn_cell.h"
#include "ops/sequence.h"
#include "ops/work.h"

namespace halyard::ops {
namespace {

using enum FeatureLevel;

// Sizes by letter: T steps, B batch, I input, U units; of the backward direction J and V; A
// auxiliary input.

// Positions of a cell's operands, relative to its first.
constexpr size_t kWeights = 0;
constexpr size_t kRecurrent = 1;
constexpr size_t kBias = 2;
constexpr size_t kState = 3;

Status checkActivation(const OperationContext& context, size_t i) {
  RecurrentActivation activation = RecurrentActivation::NONE;
  return unlessIncomplete(readRecurrentActivation(context, i, &activation));
}

RnnWeights weightsAt(const OperationContext& context, size_t first,
                     RecurrentActivation activation) {
  return {context.input(first + kRecurrent).as<float>(), context.input(first + kBias).as<float>(),
          context.input(first + kBias).dims[0], activation};
}

// Returns a sequence, or one step of it, with the weights of input `weights`.
SequenceInput inputThrough(const OperationContext& context, size_t values, size_t weights) {
  const Tensor& matrix = context.input(weights);
  return {context.input(values).as<float>(),
          {{matrix.as<float>()}, matrix.dims[0], matrix.dims[1]}};
}

// --- One step.

enum StepInput : size_t { kStepX, kStepCell, kStepActivation = 5 };

const OperandTable& stepTable() {
  return madeOnce([] {
    return OperandTable{
        tensorRow("input", "BI"),
        tensorRow("weights", "UI"),
        tensorRow("recurrent_weights", "UU"),
        tensorRow("bias", "U"),
        tensorRow("hidden_state_in", "BU"),
        fixedRow("activation", "", OperandType::INT32),
    };
  });
}
const OperandTable& stepOutputs() {
  return madeOnce([] {
    return OperandTable{tensorRow("hidden_state_out", "BU"), tensorRow("output", "BU")};
  });
}

Status inferStep(OperationContext& context) {
  DimensionSolver sizes;
  HALYARD_RETURN_IF_ERROR(sizes.match(context, stepTable()));
  HALYARD_RETURN_IF_ERROR(checkActivation(context, kStepActivation));
  return sizes.setOutputs(context, stepOutputs());
}

Status computeStep(OperationContext& context) {
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(readRecurrentActivation(context, kStepActivation, &activation));
  const RnnWeights weights = weightsAt(context, kStepCell, activation);
  const SequenceOrder order = {.batch = context.input(kStepX).dims[0]};
  const SequenceInput input = inputThrough(context, kStepX, kStepCell + kWeights);
  runRnn(context.services(), order, weights, {&input, 1},
         context.input(kStepCell + kState).as<float>(),
         {context.output(1).as<float>(), weights.units}, context.output(0).as<float>());
  return okStatus();
}

// --- One direction.

enum SequenceInputs : size_t { kX, kCell, kActivation = 5, kTimeMajor = 6 };

const OperandTable& sequenceTable() {
  return madeOnce([] {
    return OperandTable{
        tensorRow("input", "TBI"),
        tensorRow("weights", "UI"),
        tensorRow("recurrent_weights", "UU"),
        tensorRow("bias", "U"),
        tensorRow("hidden_state_in", "BU"),
        fixedRow("activation", "", OperandType::INT32),
        fixedRow("time_major", "", OperandType::INT32),
    };
  });
}
const OperandTable& sequenceOutputs() {
  return madeOnce([] {
    return OperandTable{tensorRow("output", "TBU"), tensorRow("hidden_state_out", "BU")};
  });
}

// Only in this operation the flag is an integer.
Status readTimeMajor(const OperationContext& context, bool* timeMajor) {
  int32_t value = 0;
  HALYARD_RETURN_IF_ERROR(context.read(kTimeMajor, &value), "time_major");
  if (value != 0 && value != 1) {
    return opFailed("input {} (time_major) is {}, expected 0 or 1", +kTimeMajor, value);
  }
  *timeMajor = value == 1;
  return okStatus();
}

Status inferSequence(OperationContext& context) {
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(readTimeMajor(context, &timeMajor));
  DimensionSolver sizes(timeMajor);
  HALYARD_RETURN_IF_ERROR(sizes.match(context, sequenceTable()));
  HALYARD_RETURN_IF_ERROR(checkActivation(context, kActivation));
  return sizes.setOutputs(context, sequenceOutputs());
}

SequenceOrder orderOf(const Tensor& input, bool timeMajor) {
  return {input.dims[timeMajor ? 0 : 1], input.dims[timeMajor ? 1 : 0], timeMajor, false};
}

Status computeSequence(OperationContext& context) {
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(readTimeMajor(context, &timeMajor));
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(readRecurrentActivation(context, kActivation, &activation));
  const RnnWeights weights = weightsAt(context, kCell, activation);
  const SequenceInput input = inputThrough(context, kX, kCell + kWeights);
  runRnn(context.services(), orderOf(context.input(kX), timeMajor), weights, {&input, 1},
         context.input(kCell + kState).as<float>(), {context.output(0).as<float>(), weights.units},
         context.outputCount() > 1 ? context.output(1).as<float>() : nullptr);
  return okStatus();
}

// --- Both directions.

enum BidirectionalInput : size_t {
  kBothX,
  kForward,
  kBackward = 5,
  kAux = 9,
  kForwardAux,
  kBackwardAux,
  kBothActivation,
  kBothTimeMajor,
  kMerge,
};
constexpr size_t kBothStates = 2;

const OperandTable& bidirectionalTable() {
  return madeOnce([] {
    OperandTable rows = {
        tensorRow("input", "TBI"),
        tensorRow("fw_weights", "UI"),
        tensorRow("fw_recurrent_weights", "UU"),
        tensorRow("fw_bias", "U"),
        tensorRow("fw_hidden_state", "BU"),
        tensorRow("bw_weights", "VJ"),
        tensorRow("bw_recurrent_weights", "VV"),
        tensorRow("bw_bias", "V"),
        tensorRow("bw_hidden_state", "BV"),
        tensorRow("aux_input", "TBA"),
        tensorRow("fw_aux_weights", "UA"),
        tensorRow("bw_aux_weights", "VA"),
        fixedRow("activation", "", OperandType::INT32),
        fixedRow("time_major", "", OperandType::BOOL),
        fixedRow("merge_outputs", "", OperandType::BOOL),
    };
    rows[kAux].leads = kAuxInput;
    rows[kAux].mayLack = true;
    rows[kForwardAux].needs = kAuxInput;
    rows[kForwardAux].leads = kAuxWeights;
    rows[kForwardAux].mayLack = true;
    rows[kBackwardAux].needs = kAuxWeights;
    return rows;
  });
}

struct Bidirectional {
  Linking linking = Linking::NONE;
  bool timeMajor = false;
  bool merged = false;

  size_t sourceOf(bool backward) const {
    return backward && linking == Linking::PARALLEL ? kAux : kBothX;
  }
};

Status readBidirectional(const OperationContext& context, Bidirectional* both) {
  Parts parts = 0;
  HALYARD_RETURN_IF_ERROR(checkPresence(context, bidirectionalTable(), &parts));
  both->linking = linkingOf(parts);
  HALYARD_RETURN_IF_ERROR(context.read(kBothTimeMajor, &both->timeMajor), "time_major");
  HALYARD_RETURN_IF_ERROR(context.read(kMerge, &both->merged), "merge_outputs");
  return checkOutputCount(context, both->merged, kBothStates);
}

Status inferBidirectional(OperationContext& context) {
  Bidirectional both;
  HALYARD_RETURN_IF_ERROR(readBidirectional(context, &both));
  DimensionSolver sizes(both.timeMajor);
  sizes.equate('J', both.linking == Linking::PARALLEL ? 'A' : 'I');
  HALYARD_RETURN_IF_ERROR(sizes.match(context, bidirectionalTable()));
  HALYARD_RETURN_IF_ERROR(checkActivation(context, kBothActivation));
  constexpr std::array<std::string_view, kBothStates> kStates = {"BU", "BV"};
  return setBidirectionalOutputs(context, sizes, both.merged, 'U', 'V', kStates);
}

void computeDirection(OperationContext& context, const Bidirectional& both, bool backward,
                      RecurrentActivation activation) {
  const size_t cell = backward ? kBackward : kForward;
  std::vector<SequenceInput> inputs = {
      inputThrough(context, both.sourceOf(backward), cell + kWeights)};
  if (both.linking == Linking::CROSS) {
    inputs.push_back(inputThrough(context, kAux, backward ? kBackwardAux : kForwardAux));
  }
  SequenceOrder order = orderOf(context.input(kBothX), both.timeMajor);
  order.backward = backward;
  runRnn(context.services(), order, weightsAt(context, cell, activation), inputs,
         context.input(cell + kState).as<float>(),
         sequenceOutput(context, both.merged, backward, context.input(kForward + kBias).dims[0],
                        context.input(kBackward + kBias).dims[0]),
         stateOutput(context, both.merged, backward ? 1 : 0));
}

Status computeBidirectional(OperationContext& context) {
  Bidirectional both;
  HALYARD_RETURN_IF_ERROR(readBidirectional(context, &both));
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(readRecurrentActivation(context, kBothActivation, &activation));
  for (bool backward : {false, true}) computeDirection(context, both, backward, activation);
  return okStatus();
}

Status checkLinking(const OperationView& operation, FeatureLevel& level) {
  constexpr std::array<size_t, 2> kWeightsOfAux = {kForwardAux, kBackwardAux};
  requireLevelOfLinking(operation, kAux, kWeightsOfAux, level);
  return okStatus();
}

OperationDefinition define(OperationType type, FeatureLevel since, const OperandTable& inputs,
                           const OperandTable& outputs) {
  OperationDefinition definition;
  definition.type = type;
  definition.signature.rows = floatRows(since);
  definition.signature.forms = {{"", specsOf(inputs), {}}};
  definition.signature.outputs = specsOf(outputs);
  return definition;
}

// The cell's states are matrices, too, but not weights.
double work(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kStepCell + kWeights, kStepCell + kRecurrent}});
}

double workOfBoth(std::span<const Tensor> inputs, std::span<const Tensor> /*outputs*/) {
  return workOfRows(inputs, {{kForward + kWeights, kForward + kRecurrent},
                             {kBackward + kWeights, kBackward + kRecurrent},
                             {kForwardAux, kBackwardAux}});
}

}  // namespace

const OperationDefinition& rnn() {
  return madeOnce([] {
    OperationDefinition result = define(OperationType::RNN, FL1, stepTable(), stepOutputs());
    result.infer = inferStep;
    result.reference = computeStep;
    result.work = work;
    return result;
  });
}

const OperationDefinition& unidirectionalSequenceRnn() {
  return madeOnce([] {
    OperationDefinition result =
        define(OperationType::UNIDIRECTIONAL_SEQUENCE_RNN, FL3, sequenceTable(), sequenceOutputs());
    result.signature.outputCounts = {{1, FL3}, {2, FL4}};
    result.infer = inferSequence;
    result.reference = computeSequence;
    result.work = work;
    return result;
  });
}

const OperationDefinition& bidirectionalSequenceRnn() {
  return madeOnce([] {
    // merge_outputs decides the meaning of the outputs after the first.
    const OperandTable& outputs = madeOnce([] {
      return OperandTable{tensorRow("output", "TBM"), tensorRow("backward output or state", ""),
                          tensorRow("state", "BU"), tensorRow("state", "BV")};
    });
    OperationDefinition result =
        define(OperationType::BIDIRECTIONAL_SEQUENCE_RNN, FL3, bidirectionalTable(), outputs);
    result.signature.outputCounts = {{1, FL3}, {2, FL3}, {3, FL4}, {4, FL4}};
    result.signature.check = checkLinking;
    result.infer = inferBidirectional;
    result.reference = computeBidirectional;
    result.work = workOfBoth;
    return result;
  });
}

}  // namespace halyard::ops
