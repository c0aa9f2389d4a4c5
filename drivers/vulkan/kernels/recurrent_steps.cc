#include "kernels/recurrent_steps.h"

#include <algorithm>

namespace halyard::vulkandriver {
namespace {

// As in shaders/recurrent.comp.
enum Function : int32_t { kCopy, kProducts, kNormalize, kLstmCell, kResult, kSvdf };
constexpr int32_t kAbsent = -1;
constexpr size_t kGates = 4;
constexpr size_t kOutputGate = 3;

int32_t word(size_t value) { return static_cast<int32_t>(value); }
Parameter placeOrAbsent(const std::optional<Place>& place) {
  return place ? Parameter(*place) : Parameter(kAbsent);
}

}  // namespace

Status checkSteps(size_t steps) {
  if (steps <= kMostSteps) return okStatus();
  return badData("a sequence of {} steps, at most {}", steps, kMostSteps);
}

ops::SequenceOrder sequenceOrder(const Shape& dims, bool timeMajor, bool backward) {
  return {dims[timeMajor ? 0 : 1], dims[timeMajor ? 1 : 0], timeMajor, backward};
}

RecurrentSteps::RecurrentSteps(const Site& site, Recording& recording)
    : site_(site),
      recording_(recording),
      kind_(site.input(0).type == OperandType::TENSOR_FLOAT16 ? ElementKind::FLOAT16
                                                              : ElementKind::FLOAT32) {}

Place RecurrentSteps::scratch(size_t values) { return recording_.scratch(values * sizeof(float)); }

void RecurrentSteps::add(int32_t function, std::vector<Parameter> parameters, size_t count,
                         int32_t option) {
  const auto kind = static_cast<int32_t>(kind_);
  recording_.add({Shader::RECURRENT,
                  {function, kind, kind, option},
                  std::move(parameters),
                  static_cast<uint32_t>(count)});
}

void RecurrentSteps::copy(Place from, ElementKind fromKind, Place to, ElementKind toKind,
                          size_t count) {
  recording_.add({Shader::RECURRENT,
                  {kCopy, static_cast<int32_t>(fromKind), static_cast<int32_t>(toKind), 0},
                  {from, to},
                  static_cast<uint32_t>(count)});
}

Place RecurrentSteps::stateOf(size_t i) {
  const size_t count = site_.input(i).elementCount();
  const Place state = scratch(count);
  copy(site_.in(i), kind_, state, ElementKind::FLOAT32, count);
  return state;
}

void RecurrentSteps::storeState(Place state, size_t i) {
  copy(state, ElementKind::FLOAT32, site_.out(i), kind_, site_.output(i).elementCount());
}

void RecurrentSteps::clear(size_t i) {
  storeState(recording_.zeros(site_.output(i).elementCount() * sizeof(float)), i);
}

void RecurrentSteps::multiply(Place sums, size_t rows, size_t gates, size_t cells,
                              const std::vector<GateTerm>& terms) {
  std::vector<Parameter> parameters = {sums, word(gates), word(cells), word(terms.size())};
  for (const GateTerm& term : terms) {
    parameters.insert(parameters.end(), {term.values, term.isSingle ? 1 : 0, word(term.first),
                                         word(term.stride), word(term.depth)});
    parameters.insert(parameters.end(), term.weights.begin(), term.weights.end());
    for (size_t i = term.weights.size(); i < kGates; ++i) parameters.emplace_back(kAbsent);
  }
  const bool areFours = std::ranges::all_of(
      terms, [](const GateTerm& term) { return (term.first | term.stride | term.depth) % 4 == 0; });
  uint64_t rounds = 0;
  for (const GateTerm& term : terms) rounds += 1 + term.depth / (areFours ? 4 : 1);
  mostRounds_ = std::max(mostRounds_, rounds);
  add(kProducts, std::move(parameters), rows * gates * cells, areFours ? 1 : 0);
}

void RecurrentSteps::normalize(const LstmCell& cell, size_t gate, size_t rows, Place sums,
                               Place state) {
  mostRounds_ = std::max(mostRounds_, 3 * uint64_t{cell.cells} + 3);
  const size_t position = gate - (kGates - cell.gates);
  add(kNormalize,
      {sums, word(cell.gates), word(position), word(cell.cells), state,
       placeOrAbsent(cell.peephole[gate]), *cell.layerNorm[gate]},
      rows);
}

void RecurrentSteps::updateCell(const LstmCell& cell, size_t rows, Place sums, Place state,
                                Place gated, bool updates, bool writes) {
  std::vector<Parameter> parameters = {
      sums,  word(cell.gates), word(cell.cells), state,
      gated, updates ? 1 : 0,  writes ? 1 : 0,   Parameter::real(cell.clip)};
  for (const auto& bias : cell.bias) parameters.push_back(placeOrAbsent(bias));
  for (size_t gate = 0; gate < kGates; ++gate) {
    // Normalisation has added the peephole.
    parameters.push_back(cell.layerNorm[gate] ? Parameter(kAbsent)
                                              : placeOrAbsent(cell.peephole[gate]));
  }
  add(kLstmCell, std::move(parameters), rows * cell.cells, static_cast<int32_t>(cell.activation));
}

void RecurrentSteps::lstmCell(const LstmCell& cell, size_t rows, Place sums, Place state,
                              Place gated) {
  if (!cell.layerNorm[kOutputGate]) {
    updateCell(cell, rows, sums, state, gated, true, true);
    return;
  }
  for (size_t gate = kGates - cell.gates; gate < kOutputGate; ++gate) {
    normalize(cell, gate, rows, sums, state);
  }
  updateCell(cell, rows, sums, state, gated, true, false);
  // The output gate uses the new state.
  normalize(cell, kOutputGate, rows, sums, state);
  updateCell(cell, rows, sums, state, gated, false, true);
}

void RecurrentSteps::store(Place source, size_t rows, size_t width, std::optional<Place> bias,
                           ops::RecurrentActivation activation, float limit, Place state,
                           const ResultRows& result) {
  add(kResult,
      {source, word(width), placeOrAbsent(bias), Parameter::real(limit), state, result.tensor,
       word(result.first), word(result.stride)},
      rows * width, static_cast<int32_t>(activation));
}

void RecurrentSteps::svdf(Place newest, size_t rows, size_t units, size_t rank, size_t memory,
                          ops::RecurrentActivation activation) {
  constexpr size_t kTime = 2;
  constexpr size_t kBias = 3;
  constexpr size_t kState = 4;
  mostRounds_ = std::max(mostRounds_, uint64_t{rank} * (memory + 2));
  std::optional<Place> bias;
  if (site_.context.hasInput(kBias)) bias = site_.in(kBias);
  add(kSvdf,
      {newest, word(units), word(rank), word(memory), site_.in(kTime), placeOrAbsent(bias),
       site_.in(kState), site_.out(0), site_.out(1)},
      rows * units, static_cast<int32_t>(activation));
}

}  // namespace halyard::vulkandriver
