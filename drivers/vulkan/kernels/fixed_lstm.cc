// LSTM operations of 8-bit values, in fixed point.
#include <algorithm>
#include <cstring>

#include "kernels/kernel_list.h"
#include "kernels/recurrent_steps.h"
#include "ops/fixed_point.h"
#include "ops/quantized_16bit_lstm_cell.h"
#include "ops/quantized_lstm_cell.h"

namespace halyard::vulkandriver {
namespace {

using ops::FixedMultiplier;
using ops::kGates;

// As in shaders/fixed_lstm.comp.
enum Function : int32_t {
  kProducts,
  kGate,
  kNormalize,
  kUpdate,
  kHidden,
  kProjection,
  kUnsignedCell
};
constexpr int32_t kAbsent = -1;

int32_t word(size_t value) { return static_cast<int32_t>(value); }

std::vector<Parameter> operator+(std::vector<Parameter> head, const std::vector<Parameter>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

std::vector<Parameter> multiplierOf(FixedMultiplier multiplier) {
  return {multiplier.significand, multiplier.exponent};
}

Parameter inputOrAbsent(const Site& site, size_t i) {
  return site.context.hasInput(i) ? Parameter(site.in(i)) : Parameter(kAbsent);
}

// A function's results for all values of 16 bits with this number of integer bits.
using Squash = void (*)(const int16_t* from, int16_t* to, size_t count, int integerBits);
Place tableOf(Squash function, int integerBits, Recording& recording) {
  constexpr size_t kEntries = 1 << 16;
  return recording.constant(kEntries * sizeof(int16_t),
                            [function, integerBits](std::span<uint8_t> to) {
                              std::vector<int16_t> values(kEntries);
                              for (size_t i = 0; i < kEntries; ++i)
                                values[i] = static_cast<int16_t>(i);
                              function(values.data(), values.data(), kEntries, integerBits);
                              std::memcpy(to.data(), values.data(), to.size());
                            });
}

// Rows of values times rows of weights, one matrix for each gate. Numbers are elements.
struct Term {
  Place values;
  size_t first = 0;
  size_t stride = 0;
  size_t depth = 0;
  size_t firstWeight = 0;
  size_t weightStride = 0;
  std::vector<Place> weights;  // at most four
};

// The dispatches of the cells. The sums are [rows][gates][cells].
class FixedSteps {
 public:
  FixedSteps(ElementKind kind, Recording& recording) : kind_(kind), recording_(recording) {}

  Place scratch(size_t values) { return recording_.scratch(values * sizeof(int32_t)); }

  void multiply(Place sums, size_t rows, size_t cells, int32_t valueZero, int32_t weightZero,
                const std::vector<Term>& terms) {
    const size_t gates = terms.front().weights.size();
    std::vector<Parameter> parameters = {sums,      word(gates), word(cells),
                                         valueZero, weightZero,  word(terms.size())};
    size_t all = 0;
    for (const Term& term : terms) {
      parameters =
          std::move(parameters) +
          std::vector<Parameter>{term.values,      word(term.first),       word(term.stride),
                                 word(term.depth), word(term.firstWeight), word(term.weightStride)};
      parameters.insert(parameters.end(), term.weights.begin(), term.weights.end());
      for (size_t i = gates; i < kGates; ++i) parameters.emplace_back(kAbsent);
      all |= term.first | term.stride | term.depth | term.firstWeight | term.weightStride;
    }
    add(kProducts, std::move(parameters), rows * gates * cells, all % 16 == 0 ? 1 : 0);
  }

  void add(Function function, std::vector<Parameter> parameters, size_t count, int32_t option = 0) {
    recording_.add({Shader::FIXED_LSTM,
                    {function, static_cast<int32_t>(kind_), 0, option},
                    std::move(parameters),
                    static_cast<uint32_t>(count)});
  }

 private:
  const ElementKind kind_;
  Recording& recording_;
};

// QUANTIZED_LSTM, or a sequence of its steps.
class SignedLstm {
 public:
  // `states`: whether the last states are outputs, before the result.
  SignedLstm(const Site& site, const ops::QuantizedLstmPlan& plan, const ops::SequenceOrder& order,
             bool states, Recording& recording)
      : site_(site),
        plan_(plan),
        order_(order),
        steps_(ElementKind::INT8, recording),
        cells_(site.input(kCellState).dims[1]),
        width_(site.input(kHiddenState).dims[1]),
        values_(order.batch * cells_),
        gates_(plan.gates[ops::kInputGate].exists ? kGates : kGates - 1),
        result_(states ? 2 : 0),
        hidden_(states ? site.out(0) : recording.scratch(order.batch * width_)),
        cell_(states ? site.out(1) : recording.scratch(values_ * sizeof(int16_t))),
        inputSums_(steps_.scratch(values_ * gates_)),
        hiddenSums_(steps_.scratch(values_ * gates_)),
        gated_(plan.hasProjection ? recording.scratch(values_) : hidden_),
        projected_(plan.hasProjection ? steps_.scratch(order.batch * width_) : hiddenSums_),
        sigmoid_(tableOf(ops::sigmoidsFixed, kIntegerBits, recording)),
        tanh_(tableOf(ops::tanhsFixed, kIntegerBits, recording)),
        stateTanh_(tableOf(ops::tanhsFixed, plan.statePower + 15, recording)) {
    for (Place& place : gateInputs_) place = steps_.scratch(values_);
  }

  void run() {
    for (size_t step = 0; step < order_.steps; ++step) runStep(step);
  }

 private:
  enum Input : size_t {
    kX = ops::quantized_lstm::kX,
    kHiddenState = ops::quantized_lstm::kHiddenState,
    kCellState = ops::quantized_lstm::kCellState,
    kPeephole = ops::quantized_lstm::kCell + ops::kLstmPeephole,
    kBias = ops::quantized_lstm::kCell + ops::kLstmBias,
    kProjectionWeights = ops::quantized_lstm::kCell + ops::kLstmProjection,
    kProjectionBias = ops::quantized_lstm::kCell + ops::kLstmProjectionBias,
  };
  static constexpr int kIntegerBits = 3;

  void runStep(size_t step) {
    const size_t depth = site_.input(kX).dims.back();
    const Place hidden = step == 0 ? site_.in(kHiddenState) : hidden_;
    const Place before = step == 0 ? site_.in(kCellState) : cell_;
    const size_t rows = order_.timeMajor ? 1 : order_.steps;
    steps_.multiply(inputSums_, order_.batch, cells_, site_.input(kX).zeroPoint, 0,
                    {{site_.in(kX), order_.row(step, 0) * depth, rows * depth, depth, 0, depth,
                      weightsFrom(ops::quantized_lstm::kInputWeights)}});
    steps_.multiply(hiddenSums_, order_.batch, cells_, site_.input(kHiddenState).zeroPoint, 0,
                    {{hidden, 0, width_, width_, 0, width_,
                      weightsFrom(ops::quantized_lstm::kRecurrentWeights)}});
    for (const size_t gate : {ops::kInputGate, ops::kForgetGate, ops::kCellGate}) {
      if (plan_.gates[gate].exists) prepare(gate, before);
    }
    const bool isCoupled = !plan_.gates[ops::kInputGate].exists;
    steps_.add(kUpdate,
               {isCoupled ? Parameter(kAbsent) : Parameter(gateInputs_[ops::kInputGate]),
                gateInputs_[ops::kForgetGate], gateInputs_[ops::kCellGate], before, cell_, sigmoid_,
                tanh_, plan_.statePower, static_cast<int32_t>(plan_.cellClip.value_or(32768))},
               values_);
    // The output gate uses the new state.
    prepare(ops::kOutputGate, cell_);
    const std::vector<Parameter> result = {site_.out(result_), word(width_),
                                           word(order_.row(step, 0) * width_), word(rows * width_)};
    std::vector<Parameter> gated = {gateInputs_[ops::kOutputGate], cell_, gated_, sigmoid_,
                                    stateTanh_};
    gated = std::move(gated) + multiplierOf(plan_.hidden);
    gated.emplace_back(plan_.hiddenZeroPoint);
    if (!plan_.hasProjection) {
      steps_.add(kHidden, std::move(gated) + result, values_);
      return;
    }
    const std::vector<Parameter> nowhere = {kAbsent, word(cells_), 0, 0};
    steps_.add(kHidden, std::move(gated) + nowhere, values_);
    project(result);
  }

  std::vector<Place> weightsFrom(size_t first) const {
    std::vector<Place> places;
    for (size_t gate = 0; gate < kGates; ++gate) {
      if (site_.context.hasInput(first + gate)) places.push_back(site_.in(first + gate));
    }
    return places;
  }

  void prepare(size_t gate, Place state) {
    const ops::QuantizedLstmGate& plan = plan_.gates[gate];
    const size_t normal = ops::quantized_lstm::kLayerNorm + gate;
    // With normalisation, the bias is added after it.
    const bool isNormalized = site_.context.hasInput(normal);
    const size_t peephole = kPeephole + (gate == ops::kOutputGate ? gate - 1 : gate);
    std::vector<Parameter> parameters = {
        inputSums_,
        hiddenSums_,
        word(gates_),
        word(gate - (kGates - gates_)),
        word(cells_),
        state,
        gateInputs_[gate],
        isNormalized ? Parameter(kAbsent) : Parameter(site_.in(kBias + gate)),
        gate == ops::kCellGate ? Parameter(kAbsent) : inputOrAbsent(site_, peephole)};
    steps_.add(kGate,
               std::move(parameters) + multiplierOf(plan.input) + multiplierOf(plan.recurrent) +
                   multiplierOf(plan.peephole),
               values_);
    if (!isNormalized) return;
    std::vector<Parameter> scaling = {gateInputs_[gate], word(cells_), site_.in(normal),
                                      site_.in(kBias + gate)};
    steps_.add(kNormalize, std::move(scaling) + multiplierOf(plan.layerNorm), order_.batch);
  }

  void project(const std::vector<Parameter>& result) {
    steps_.multiply(projected_, order_.batch, width_, -plan_.hiddenZeroPoint, 0,
                    {{gated_, 0, cells_, cells_, 0, cells_, {site_.in(kProjectionWeights)}}});
    std::vector<Parameter> parameters = {projected_, inputOrAbsent(site_, kProjectionBias),
                                         hidden_};
    const std::vector<Parameter> range = {site_.input(kHiddenState).zeroPoint,
                                          static_cast<int32_t>(plan_.projectionClip.value_or(128))};
    steps_.add(kProjection, std::move(parameters) + multiplierOf(plan_.projection) + range + result,
               order_.batch * width_);
  }

  const Site& site_;
  const ops::QuantizedLstmPlan& plan_;
  const ops::SequenceOrder& order_;
  FixedSteps steps_;
  const size_t cells_;
  const size_t width_;   // of the hidden state
  const size_t values_;  // of the cells, in all rows
  const size_t gates_;
  const size_t result_;  // the output
  const Place hidden_;
  const Place cell_;
  const Place inputSums_;
  const Place hiddenSums_;
  const Place gated_;  // the hidden values before their projection
  const Place projected_;
  const Place sigmoid_;
  const Place tanh_;
  const Place stateTanh_;
  std::array<Place, kGates> gateInputs_ = {};
};

// A sum goes over the inputs or the hidden values, a normalisation twice over the cells.
Status checkCell(const Site& site) {
  HALYARD_RETURN_IF_ERROR(checkRounds(site.input(ops::quantized_lstm::kX).dims.back()));
  return checkRounds(2 * uint64_t{site.input(ops::quantized_lstm::kCellState).dims[1]});
}

}  // namespace

Status recordQuantizedLstm(const Site& site, Recording& recording) {
  ops::QuantizedLstmPlan plan;
  HALYARD_RETURN_IF_ERROR(ops::planQuantizedLstm(site.context, &plan));
  HALYARD_RETURN_IF_ERROR(checkCell(site));
  const ops::SequenceOrder order = {.batch = site.input(0).dims[0]};
  SignedLstm(site, plan, order, true, recording).run();
  return okStatus();
}

Status recordQuantizedLstmSequence(const Site& site, Recording& recording) {
  ops::QuantizedLstmPlan plan;
  ops::SequenceOrder order;
  HALYARD_RETURN_IF_ERROR(ops::planQuantizedLstm(site.context, &plan));
  HALYARD_RETURN_IF_ERROR(ops::readQuantizedSequence(site.context, &order));
  HALYARD_RETURN_IF_ERROR(checkCell(site));
  HALYARD_RETURN_IF_ERROR(checkSteps(order.steps));
  SignedLstm(site, plan, order, false, recording).run();
  return okStatus();
}

Status recordQuantized16BitLstm(const Site& site, Recording& recording) {
  namespace lstm = ops::quantized_16bit_lstm;
  const size_t batch = site.output(0).dims[0];
  const size_t cells = site.output(0).dims[1];
  const size_t depth = site.input(lstm::kX).dims[1];
  HALYARD_RETURN_IF_ERROR(checkRounds(depth + cells));
  const auto weights = [&](size_t first) {
    std::vector<Place> places;
    for (size_t gate = 0; gate < kGates; ++gate) places.push_back(site.in(first + gate));
    return places;
  };
  // A row of values is that of the input and then the hidden one. A row of weights begins with
  // those of hidden values. Values meet the weights at the same position.
  std::vector<Term> terms;
  const size_t ends[] = {std::min(depth, cells), std::max(depth, cells), depth + cells};
  size_t begin = 0;
  for (const size_t end : ends) {
    const bool isInput = begin < depth;
    const bool isRecurrent = begin < cells;
    if (end > begin) {
      terms.push_back({site.in(isInput ? lstm::kX : lstm::kHidden), isInput ? begin : begin - depth,
                       isInput ? depth : cells, end - begin, isRecurrent ? begin : begin - cells,
                       isRecurrent ? cells : depth,
                       weights(isRecurrent ? lstm::kRecurrentWeights : lstm::kInputWeights)});
    }
    begin = end;
  }
  FixedSteps steps(ElementKind::UINT8, recording);
  const Place sums = steps.scratch(batch * kGates * cells);
  steps.multiply(sums, batch, cells, lstm::kValueZeroPoint,
                 site.input(lstm::kInputWeights).zeroPoint, terms);
  std::vector<Parameter> parameters = {sums, word(cells)};
  parameters = std::move(parameters) +
               multiplierOf(lstm::gateMultiplier(site.input(lstm::kBias).scale)) +
               std::vector<Parameter>{site.in(lstm::kCellState), site.out(0), site.out(1),
                                      tableOf(ops::sigmoidsFixed, lstm::kIntegerBits, recording),
                                      tableOf(ops::tanhsFixed, lstm::kIntegerBits, recording)};
  for (const Place place : weights(lstm::kBias)) parameters.emplace_back(place);
  steps.add(kUnsignedCell, std::move(parameters), batch * cells);
  return okStatus();
}

}  // namespace halyard::vulkandriver
