// RNN, LSTM and SVDF, step by step.
#include "kernels/kernel_list.h"
#include "kernels/recurrent_steps.h"
#include "ops/linking.h"
#include "ops/lstm_operands.h"

namespace halyard::vulkandriver {
namespace {

using ops::Linking;
using ops::RecurrentActivation;

std::optional<Place> placeAt(const Site& site, size_t i) {
  if (!site.context.hasInput(i)) return std::nullopt;
  return site.in(i);
}

// The rows of one step of a sequence at input `i`.
GateTerm inputTerm(const Site& site, const ops::SequenceOrder& order, size_t step, size_t i,
                   std::vector<Place> weights) {
  const size_t depth = site.input(i).dims.back();
  return {site.in(i),
          false,
          order.row(step, 0) * depth,
          (order.timeMajor ? 1 : order.steps) * depth,
          depth,
          std::move(weights)};
}
GateTerm stateTerm(Place state, size_t depth, std::vector<Place> weights) {
  return {state, true, 0, depth, depth, std::move(weights)};
}

// The sequence of results of one direction: `width` values from `column` on in rows of `stride`.
struct ResultSequence {
  Place tensor;
  size_t stride = 0;
  size_t column = 0;

  ResultRows at(const ops::SequenceOrder& order, size_t step) const {
    return {tensor, order.row(step, 0) * stride + column,
            (order.timeMajor ? 1 : order.steps) * stride};
  }
};

ResultSequence bidirectionalResult(const Site& site, bool merged, bool isBackward, size_t forward,
                                   size_t backward) {
  if (!merged) return {site.out(isBackward ? 1 : 0), isBackward ? backward : forward, 0};
  return {site.out(0), forward + backward, isBackward ? forward : 0};
}

// The auxiliary input of bidirectional operations; its weights are the first that may be there.
Linking linkingAt(const Site& site, size_t aux, size_t weights) {
  if (!site.context.hasInput(aux)) return Linking::NONE;
  return site.context.hasInput(weights) ? Linking::CROSS : Linking::PARALLEL;
}

// One input sequence, with the positions of the gates' weights.
struct SourceAt {
  size_t values;
  std::vector<size_t> weights;
};

std::vector<Place> placesAt(const Site& site, const std::vector<size_t>& positions) {
  std::vector<Place> places;
  for (const size_t i : positions) {
    if (site.context.hasInput(i)) places.push_back(site.in(i));
  }
  return places;
}

std::vector<GateTerm> inputTerms(const Site& site, const ops::SequenceOrder& order, size_t step,
                                 const std::vector<SourceAt>& sources) {
  std::vector<GateTerm> terms;
  for (const SourceAt& source : sources) {
    terms.push_back(inputTerm(site, order, step, source.values, placesAt(site, source.weights)));
  }
  return terms;
}

// --- RNN.

// A cell whose operands are weights, recurrent weights, bias and state from `cell` on. Returns the
// last state.
Place recordRnnCell(RecurrentSteps& steps, const Site& site, const ops::SequenceOrder& order,
                    size_t cell, const std::vector<SourceAt>& sources,
                    RecurrentActivation activation, const ResultSequence& result) {
  const size_t units = site.input(cell + 2).dims[0];
  const Place state = steps.stateOf(cell + 3);
  const Place sums = steps.scratch(order.batch * units);
  for (size_t step = 0; step < order.steps; ++step) {
    std::vector<GateTerm> terms = inputTerms(site, order, step, sources);
    terms.push_back(stateTerm(state, units, {site.in(cell + 1)}));
    steps.multiply(sums, order.batch, 1, units, terms);
    steps.store(sums, order.batch, units, site.in(cell + 2), activation, 0, state,
                result.at(order, step));
  }
  return state;
}

// --- LSTM.

// The positions of a direction's first operands.
struct LstmOperands {
  size_t cell;
  size_t hiddenState;  // the cell's state follows
  size_t layerNorm;
};

struct LstmStates {
  Place hidden;
  Place cell;
};

std::vector<size_t> fourFrom(size_t first) { return {first, first + 1, first + 2, first + 3}; }

LstmCell describeCell(const Site& site, const LstmOperands& at) {
  LstmCell cell;
  for (size_t gate = 0; gate < ops::kGates; ++gate) {
    cell.bias[gate] = placeAt(site, at.cell + ops::kLstmBias + gate);
    cell.layerNorm[gate] = placeAt(site, at.layerNorm + gate);
  }
  const size_t peephole = at.cell + ops::kLstmPeephole;
  cell.peephole = {placeAt(site, peephole), placeAt(site, peephole + 1), std::nullopt,
                   placeAt(site, peephole + 2)};
  const bool hasInputGate = site.context.hasInput(at.cell + ops::kInputGate);
  cell.gates = hasInputGate ? ops::kGates : ops::kGates - 1;
  cell.cells = site.input(at.cell + ops::kForgetGate).dims[0];
  return cell;
}

// The three scalars from input `first` on are the activation and the limits of cell and projection.
Status recordLstmCell(RecurrentSteps& steps, const Site& site, const ops::SequenceOrder& order,
                      const LstmOperands& at, const std::vector<SourceAt>& sources, size_t options,
                      const ResultSequence& result, LstmStates* last) {
  LstmCell cell = describeCell(site, at);
  float limit = 0;
  HALYARD_RETURN_IF_ERROR(ops::readRecurrentActivation(site.context, options, &cell.activation));
  HALYARD_RETURN_IF_ERROR(ops::readClip(site.context, options + 1, "cell_clip", &cell.clip));
  HALYARD_RETURN_IF_ERROR(ops::readClip(site.context, options + 2, "projection_clip", &limit));
  const std::optional<Place> projection = placeAt(site, at.cell + ops::kLstmProjection);
  const size_t batch = order.batch;
  const size_t width = site.input(at.hiddenState).dims[1];
  last->hidden = steps.stateOf(at.hiddenState);
  last->cell = steps.stateOf(at.hiddenState + 1);
  const Place sums = steps.scratch(batch * cell.gates * cell.cells);
  const Place gated = steps.scratch(batch * cell.cells);
  const Place projected = projection ? steps.scratch(batch * width) : gated;
  for (size_t step = 0; step < order.steps; ++step) {
    std::vector<GateTerm> terms = inputTerms(site, order, step, sources);
    terms.push_back(stateTerm(last->hidden, width,
                              placesAt(site, fourFrom(at.cell + ops::kLstmRecurrentWeights))));
    steps.multiply(sums, batch, cell.gates, cell.cells, terms);
    steps.lstmCell(cell, batch, sums, last->cell, gated);
    std::optional<Place> bias;
    if (projection) {
      steps.multiply(projected, batch, 1, width, {stateTerm(gated, cell.cells, {*projection})});
      bias = placeAt(site, at.cell + ops::kLstmProjectionBias);
    }
    steps.store(projected, batch, width, bias, RecurrentActivation::NONE, projection ? limit : 0,
                last->hidden, result.at(order, step));
  }
  return okStatus();
}

}  // namespace

Status recordRnnStep(const Site& site, Recording& recording) {
  RecurrentActivation activation = RecurrentActivation::NONE;
  HALYARD_RETURN_IF_ERROR(ops::readRecurrentActivation(site.context, 5, &activation));
  RecurrentSteps steps(site, recording);
  const ops::SequenceOrder order = {.batch = site.input(0).dims[0]};
  const size_t units = site.output(1).dims[1];
  const Place state =
      recordRnnCell(steps, site, order, 1, {{0, {1}}}, activation, {site.out(1), units, 0});
  steps.storeState(state, 0);
  return steps.check();
}

Status recordRnnSequence(const Site& site, Recording& recording) {
  RecurrentActivation activation = RecurrentActivation::NONE;
  int32_t timeMajor = 0;
  HALYARD_RETURN_IF_ERROR(ops::readRecurrentActivation(site.context, 5, &activation));
  HALYARD_RETURN_IF_ERROR(site.context.read(6, &timeMajor), "time_major");
  const ops::SequenceOrder order = sequenceOrder(site.input(0).dims, timeMajor != 0, false);
  HALYARD_RETURN_IF_ERROR(checkSteps(order.steps));
  RecurrentSteps steps(site, recording);
  const Place state = recordRnnCell(steps, site, order, 1, {{0, {1}}}, activation,
                                    {site.out(0), site.output(0).dims[2], 0});
  if (site.outputs.size() > 1) steps.storeState(state, 1);
  return steps.check();
}

Status recordBidirectionalRnn(const Site& site, Recording& recording) {
  constexpr size_t kCells[] = {1, 5};
  constexpr size_t kAux = 9;
  RecurrentActivation activation = RecurrentActivation::NONE;
  bool timeMajor = false;
  bool merged = false;
  HALYARD_RETURN_IF_ERROR(ops::readRecurrentActivation(site.context, 12, &activation));
  HALYARD_RETURN_IF_ERROR(site.context.read(13, &timeMajor), "time_major");
  HALYARD_RETURN_IF_ERROR(site.context.read(14, &merged), "merge_outputs");
  const Linking linking = linkingAt(site, kAux, kAux + 1);
  RecurrentSteps steps(site, recording);
  for (const size_t direction : {0, 1}) {
    const bool isBackward = direction == 1;
    const ops::SequenceOrder order = sequenceOrder(site.input(0).dims, timeMajor, isBackward);
    HALYARD_RETURN_IF_ERROR(checkSteps(order.steps));
    const size_t cell = kCells[direction];
    const size_t source = isBackward && linking == Linking::PARALLEL ? kAux : 0;
    std::vector<SourceAt> sources = {{source, {cell}}};
    if (linking == Linking::CROSS) sources.push_back({kAux, {kAux + 1 + direction}});
    const Place state = recordRnnCell(
        steps, site, order, cell, sources, activation,
        bidirectionalResult(site, merged, isBackward, site.input(kCells[0] + 2).dims[0],
                            site.input(kCells[1] + 2).dims[0]));
    const size_t output = (merged ? 1 : 2) + direction;
    if (output < site.outputs.size()) steps.storeState(state, output);
  }
  return steps.check();
}

Status recordLstmStep(const Site& site, Recording& recording) {
  RecurrentSteps steps(site, recording);
  const ops::SequenceOrder order = {.batch = site.input(0).dims[0]};
  LstmStates last = {};
  HALYARD_RETURN_IF_ERROR(recordLstmCell(steps, site, order, {1, 18, 23}, {{0, fourFrom(1)}}, 20,
                                         {site.out(3), site.output(3).dims[1], 0}, &last));
  steps.clear(0);
  steps.storeState(last.hidden, 1);
  steps.storeState(last.cell, 2);
  return steps.check();
}

Status recordLstmSequence(const Site& site, Recording& recording) {
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(site.context.read(23, &timeMajor), "time_major");
  const ops::SequenceOrder order = sequenceOrder(site.input(0).dims, timeMajor, false);
  HALYARD_RETURN_IF_ERROR(checkSteps(order.steps));
  RecurrentSteps steps(site, recording);
  LstmStates last = {};
  HALYARD_RETURN_IF_ERROR(recordLstmCell(steps, site, order, {1, 18, 24}, {{0, fourFrom(1)}}, 20,
                                         {site.out(0), site.output(0).dims[2], 0}, &last));
  if (site.outputs.size() > 1) {
    steps.storeState(last.hidden, 1);
    steps.storeState(last.cell, 2);
  }
  return steps.check();
}

Status recordBidirectionalLstm(const Site& site, Recording& recording) {
  constexpr LstmOperands kDirections[] = {{1, 35, 53}, {18, 37, 57}};
  constexpr size_t kAux = 39;
  constexpr size_t kOptions = 48;
  bool merged = false;
  bool timeMajor = false;
  HALYARD_RETURN_IF_ERROR(site.context.read(51, &merged), "merge_outputs");
  HALYARD_RETURN_IF_ERROR(site.context.read(52, &timeMajor), "time_major");
  const Linking linking = linkingAt(site, kAux, kAux + 1 + ops::kForgetGate);
  RecurrentSteps steps(site, recording);
  for (const size_t direction : {0, 1}) {
    const bool isBackward = direction == 1;
    const LstmOperands& at = kDirections[direction];
    const ops::SequenceOrder order = sequenceOrder(site.input(0).dims, timeMajor, isBackward);
    HALYARD_RETURN_IF_ERROR(checkSteps(order.steps));
    const size_t source = isBackward && linking == Linking::PARALLEL ? kAux : 0;
    std::vector<SourceAt> sources = {{source, fourFrom(at.cell)}};
    if (linking == Linking::CROSS) sources.push_back({kAux, fourFrom(kAux + 1 + 4 * direction)});
    LstmStates last = {};
    HALYARD_RETURN_IF_ERROR(
        recordLstmCell(steps, site, order, at, sources, kOptions,
                       bidirectionalResult(site, merged, isBackward,
                                           site.input(kDirections[0].hiddenState).dims[1],
                                           site.input(kDirections[1].hiddenState).dims[1]),
                       &last));
    const size_t output = (merged ? 1 : 2) + 2 * direction;
    if (output < site.outputs.size()) {
      steps.storeState(last.hidden, output);
      steps.storeState(last.cell, output + 1);
    }
  }
  return steps.check();
}

Status recordSvdf(const Site& site, Recording& recording) {
  RecurrentActivation activation = RecurrentActivation::NONE;
  int32_t rank = 0;
  HALYARD_RETURN_IF_ERROR(site.context.read(5, &rank), "rank");
  HALYARD_RETURN_IF_ERROR(ops::readRecurrentActivation(site.context, 6, &activation));
  const size_t batch = site.input(0).dims[0];
  const size_t filters = site.input(1).dims[0];
  RecurrentSteps steps(site, recording);
  const Place newest = steps.scratch(batch * filters);
  const ops::SequenceOrder order = {.batch = batch};
  steps.multiply(newest, batch, 1, filters, inputTerms(site, order, 0, {{0, {1}}}));
  steps.svdf(newest, batch, filters / static_cast<size_t>(rank), static_cast<size_t>(rank),
             site.input(2).dims[1], activation);
  return steps.check();
}

}  // namespace halyard::vulkandriver
