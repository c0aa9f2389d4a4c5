// Recipes of recurrent operations, and of the operation that draws random numbers.
// Thread safety: none needed.
// Ownership: none.
#pragma once

#include <utility>

#include "ops/testing/recipes_elementwise.h"

namespace halyard::ops::testing::recipes {

// Sizes and options of one LSTM cell.
struct LstmCell {
  uint32_t input;
  uint32_t units;
  uint32_t output;
  bool coupled;  // without its own input gate
  bool peephole;
  bool projection;
  bool projectionBias;
  bool normalized;
};
inline LstmCell randomCell(CaseBuilder& b, uint32_t input, bool mayNormalize = true) {
  LstmCell cell = {input,    b.size(1, 5), b.size(1, 4), b.coin(),
                   b.coin(), b.coin(),     b.coin(),     mayNormalize && b.coin()};
  if (!cell.projection) cell.output = cell.units;
  return cell;
}

// The 17 operands from the input-to-input weights to the projection's bias.
inline void lstmWeights(CaseBuilder& b, const LstmCell& cell) {
  const Shape fromInput = {cell.units, cell.input};
  const Shape fromOutput = {cell.units, cell.output};
  const Shape each = {cell.units};
  for (const Shape& shape : {fromInput, fromOutput}) {
    b.tensorOr(!cell.coupled, shape);
    for (int gate = 0; gate < 3; ++gate) b.tensor(shape);
  }
  b.tensorOr(cell.peephole && !cell.coupled, each);
  for (int gate = 0; gate < 2; ++gate) b.tensorOr(cell.peephole, each);
  b.tensorOr(!cell.coupled, each);
  for (int gate = 0; gate < 3; ++gate) b.tensor(each);
  b.tensorOr(cell.projection, {cell.output, cell.units});
  b.tensorOr(cell.projection && cell.projectionBias, {cell.output});
}
inline void lstmNormalization(CaseBuilder& b, const LstmCell& cell) {
  b.tensorOr(cell.normalized && !cell.coupled, {cell.units});
  for (int gate = 0; gate < 3; ++gate) b.tensorOr(cell.normalized, {cell.units});
}
inline void recurrentActivation(CaseBuilder& b) {
  b.int32(b.random().oneOf({0, 1, 3, 4, 6}));
  b.wrongValue(5);
  b.wrongValue(7);
  b.wrongValue(-1);
}
inline void clips(CaseBuilder& b) {
  for (int i = 0; i < 2; ++i) b.real(b.coin() ? 0 : b.random().realBetween(0.25f, 1));
}

inline void lstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const LstmCell cell = randomCell(b, b.size(1, 4), b.inputCount() > 23);
  b.tensor({batch, cell.input});
  lstmWeights(b, cell);
  b.tensor({batch, cell.output});
  b.tensor({batch, cell.units});
  recurrentActivation(b);
  clips(b);
  if (b.more()) lstmNormalization(b, cell);
  for (int i = 0; i < 4; ++i) b.outPlain();
  b.legal().unspecifiedOutputs = {0};
  b.batch({0, 18, 19}, {0, 1, 2, 3});
}

// [steps, batch, size] or [batch, steps, size].
inline Shape sequence(bool timeMajor, uint32_t steps, uint32_t batch, uint32_t size) {
  return timeMajor ? Shape{steps, batch, size} : Shape{batch, steps, size};
}

inline void unidirectionalLstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const bool timeMajor = b.coin();
  const LstmCell cell = randomCell(b, b.size(1, 4));
  b.tensor(sequence(timeMajor, b.size(1, 4), batch, cell.input));
  lstmWeights(b, cell);
  b.tensor({batch, cell.output});
  b.tensor({batch, cell.units});
  recurrentActivation(b);
  clips(b);
  b.flag(timeMajor);
  lstmNormalization(b, cell);
  for (size_t i = 0; i < b.outputCount(); ++i) b.outPlain();
  const size_t axis = timeMajor ? 1 : 0;
  b.legal().batchInputs = {{0, axis}, {18, 0}, {19, 0}};
  b.legal().batchOutputs = {{0, axis}};
  if (b.outputCount() > 1) b.batch({}, {1, 2});
}

// The use of an auxiliary input.
enum class Linking { NONE, PARALLEL, CROSS };
inline Linking randomLinking(CaseBuilder& b) {
  return b.random().oneOf({Linking::NONE, Linking::PARALLEL, Linking::CROSS});
}

// The batch axis of sequences at the first and auxiliary input, and of final states.
inline void sequenceBatch(CaseBuilder& b, bool timeMajor, size_t auxiliary, Linking linking,
                          const std::vector<size_t>& states, bool merged) {
  const size_t axis = timeMajor ? 1 : 0;
  LegalCase& legal = b.legal();
  legal.batchInputs = {{0, axis}};
  if (linking != Linking::NONE) legal.batchInputs.push_back({auxiliary, axis});
  b.batch(states, {});
  const size_t sequences = merged ? 1 : 2;
  for (size_t i = 0; i < b.outputCount(); ++i) {
    legal.batchOutputs.push_back({i, i < sequences ? axis : 0});
  }
}

inline void bidirectionalLstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t steps = b.size(1, 4);
  const bool timeMajor = b.coin();
  const bool merged = b.outputCount() == 1 || b.outputCount() == 5;
  const Linking linking = randomLinking(b);
  const uint32_t auxiliary = b.size(1, 4);
  const LstmCell forward = randomCell(b, b.size(1, 4));
  LstmCell backward = randomCell(b, linking == Linking::PARALLEL ? auxiliary : forward.input);
  b.tensor(sequence(timeMajor, steps, batch, forward.input));
  lstmWeights(b, forward);
  lstmWeights(b, backward);
  for (const LstmCell& cell : {forward, backward}) {
    b.tensor({batch, cell.output});
    b.tensor({batch, cell.units});
  }
  b.tensorOr(linking != Linking::NONE, sequence(timeMajor, steps, batch, auxiliary));
  for (const LstmCell& cell : {forward, backward}) {
    const bool cross = linking == Linking::CROSS;
    b.tensorOr(cross && !cell.coupled, {cell.units, auxiliary});
    for (int gate = 0; gate < 3; ++gate) b.tensorOr(cross, {cell.units, auxiliary});
  }
  recurrentActivation(b);
  clips(b);
  b.flag(merged);
  b.flag(timeMajor);
  lstmNormalization(b, forward);
  lstmNormalization(b, backward);
  for (size_t i = 0; i < b.outputCount(); ++i) b.outPlain();
  sequenceBatch(b, timeMajor, 39, linking, {35, 36, 37, 38}, merged);
}

// Weights, recurrent weights, bias and state of one direction.
inline void rnnCell(CaseBuilder& b, uint32_t batch, uint32_t input, uint32_t units) {
  b.tensor({units, input});
  b.tensor({units, units});
  b.tensor({units});
  b.tensor({batch, units});
}

inline void rnn(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t input = b.size(1, 4);
  b.tensor({batch, input});
  rnnCell(b, batch, input, b.size(1, 5));
  recurrentActivation(b);
  b.outPlain();
  b.outPlain();
  b.batch({0, 4}, {0, 1});
}

inline void unidirectionalRnn(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t input = b.size(1, 4);
  const bool timeMajor = b.coin();
  b.tensor(sequence(timeMajor, b.size(1, 4), batch, input));
  rnnCell(b, batch, input, b.size(1, 5));
  recurrentActivation(b);
  b.int32(timeMajor ? 1 : 0);
  b.wrongValue(2);
  b.wrongValue(-1);
  for (size_t i = 0; i < b.outputCount(); ++i) b.outPlain();
  const size_t axis = timeMajor ? 1 : 0;
  b.legal().batchInputs = {{0, axis}, {4, 0}};
  b.legal().batchOutputs = {{0, axis}};
  if (b.outputCount() > 1) b.batch({}, {1});
}

inline void bidirectionalRnn(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t steps = b.size(1, 4);
  const bool timeMajor = b.coin();
  const bool merged = b.outputCount() % 2 == 1;
  const Linking linking = randomLinking(b);
  const uint32_t input = b.size(1, 4);
  const uint32_t auxiliary = b.size(1, 4);
  const uint32_t forward = b.size(1, 4);
  const uint32_t backward = b.size(1, 4);
  b.tensor(sequence(timeMajor, steps, batch, input));
  rnnCell(b, batch, input, forward);
  rnnCell(b, batch, linking == Linking::PARALLEL ? auxiliary : input, backward);
  b.tensorOr(linking != Linking::NONE, sequence(timeMajor, steps, batch, auxiliary));
  b.tensorOr(linking == Linking::CROSS, {forward, auxiliary});
  b.tensorOr(linking == Linking::CROSS, {backward, auxiliary});
  recurrentActivation(b);
  b.flag(timeMajor);
  b.flag(merged);
  for (size_t i = 0; i < b.outputCount(); ++i) b.outPlain();
  sequenceBatch(b, timeMajor, 9, linking, {4, 8}, merged);
}

inline void svdf(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t input = b.size(1, 4);
  const uint32_t rank = b.size(1, 3);
  const uint32_t units = b.size(1, 4);
  const uint32_t memory = b.size(1, 4);
  const uint32_t filters = rank * units;
  b.tensor({batch, input});
  b.tensor({filters, input});
  b.tensor({filters, memory});
  b.tensorOr(b.coin(), {units});
  b.tensor({batch, memory * filters});
  b.int32(static_cast<int>(rank));
  b.wrongValue(0);
  b.wrongValue(static_cast<int>(filters) + 1);
  recurrentActivation(b);
  b.outPlain();
  b.outPlain();
  b.batch({0, 4}, {0, 1});
}

// Adds a random tensor with a quantisation that the operation prescribes.
inline size_t prescribed(CaseBuilder& b, const Shape& dims, float scale, int32_t zeroPoint) {
  const size_t index = b.tensor(dims);
  Tensor& tensor = b.legal().inputs[index].tensor;
  tensor.scale = scale;
  tensor.zeroPoint = zeroPoint;
  return index;
}
inline size_t prescribedOnly(CaseBuilder& b, const Shape& dims, float scale, int32_t zeroPoint) {
  const size_t index = prescribed(b, dims, scale, zeroPoint);
  b.legal().wrongQuantizations.push_back({true, index, scale * 1.5f, zeroPoint});
  return index;
}
constexpr float kCellScale = 0x1p-11f;

inline void quantized16BitLstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const uint32_t input = b.size(1, 4);
  const uint32_t units = b.size(1, 5);
  prescribedOnly(b, {batch, input}, 1.0f / 128, 128);
  const size_t weights = b.tensor({units, input});
  for (int gate = 1; gate < 8; ++gate) {
    const size_t index = b.tensorLike(weights, {units, gate < 4 ? input : units});
    const Tensor& tensor = b.input(index).tensor;
    b.legal().wrongQuantizations.push_back({true, index, tensor.scale * 2, tensor.zeroPoint});
  }
  for (int gate = 0; gate < 4; ++gate) {
    prescribedOnly(b, {units}, b.input(weights).tensor.scale / 128, 0);
  }
  prescribedOnly(b, {batch, units}, kCellScale, 0);
  prescribedOnly(b, {batch, units}, 1.0f / 128, 128);
  b.outFixed(kCellScale, 0, 0);
  b.outFixed(1.0f / 128, 128, 0);
  b.batch({0, 13, 14}, {0, 1});
}

// Adds the operands of the fixed-point cell after the first. Returns the positions of its two
// states.
inline std::pair<size_t, size_t> quantizedCell(CaseBuilder& b, uint32_t batch,
                                               const LstmCell& cell) {
  lstmWeights(b, cell);
  const size_t state = b.tensor({batch, cell.output});
  const size_t cells = prescribed(b, {batch, cell.units}, kCellScale, 0);
  b.legal().wrongQuantizations.push_back({true, cells, kCellScale * 1.5f, 0});
  lstmNormalization(b, cell);
  clips(b);
  for (int gate = 0; gate < 4; ++gate) b.real(0x1p-12f);
  b.int32(b.between(-5, 5));
  b.real(1.0f / 128);
  return {state, cells};
}

inline void quantizedLstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const LstmCell cell = randomCell(b, b.size(1, 4));
  b.tensor({batch, cell.input});
  const auto [state, cells] = quantizedCell(b, batch, cell);
  b.outLike(state);
  b.outLike(cells);
  b.outLike(state);
  b.batch({0, state, cells}, {0, 1, 2});
}

inline void quantizedSequenceLstm(CaseBuilder& b) {
  const uint32_t batch = b.size(1, 3);
  const bool timeMajor = b.coin();
  const LstmCell cell = randomCell(b, b.size(1, 4));
  b.tensor(sequence(timeMajor, b.size(1, 4), batch, cell.input));
  const auto [state, cells] = quantizedCell(b, batch, cell);
  b.flag(timeMajor);
  b.outLike(state);
  const size_t axis = timeMajor ? 1 : 0;
  b.legal().batchInputs = {{0, axis}, {state, 0}, {cells, 0}};
  b.legal().batchOutputs = {{0, axis}};
}

inline void randomMultinomial(CaseBuilder& b) {
  b.tensor({b.size(1, 3), b.size(1, 5)}, -2, 2);
  b.int32(b.between(1, 10));
  b.intList({b.between(1, 1000), b.between(1, 1000)});
  b.outPlain();
}

}  // namespace halyard::ops::testing::recipes
