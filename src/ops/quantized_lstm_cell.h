// QUANTIZED_LSTM's cell in fixed point, without the products of its weights.
// Thread safety: pure functions; plans are immutable once made.
// Ownership: plans borrow operands.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "halyard/driver/status.h"
#include "ops/fixed_point.h"
#include "ops/lstm_operands.h"
#include "ops/operation.h"
#include "ops/sequence.h"

namespace halyard::ops {

// The positions of the operation's inputs. The outputs are the hidden values, the cell state, and
// the hidden values again. A sequence has one more input.
namespace quantized_lstm {
enum Input : size_t {
  kX = 0,
  kCell = 1,
  kHiddenState = 18,
  kCellState = 19,
  kLayerNorm = 20,
  kCellClip = 24,
  kProjectionClip = 25,
  kGateScale = 26,
  kHiddenZeroPoint = 30,
  kHiddenScale = 31,
  kTimeMajor = 32,
};
inline constexpr size_t kInputWeights = kCell + kLstmInputWeights;
inline constexpr size_t kRecurrentWeights = kCell + kLstmRecurrentWeights;
}  // namespace quantized_lstm

// The parameters that convert one gate's sums to its own units.
struct QuantizedLstmGate {
  bool exists = true;
  FixedMultiplier input;
  FixedMultiplier recurrent;
  FixedMultiplier peephole;
  FixedMultiplier layerNorm;
  const int16_t* peepholeWeights = nullptr;
  const int16_t* layerNormWeights = nullptr;
  const int32_t* bias = nullptr;
};

struct QuantizedLstmPlan {
  std::array<QuantizedLstmGate, kGates> gates;
  int statePower = -15;  // the state's scale is 2^statePower
  std::optional<int64_t> cellClip;
  FixedMultiplier hidden;
  int32_t hiddenZeroPoint = 0;
  bool hasProjection = false;
  FixedMultiplier projection;
  std::optional<int64_t> projectionClip;
};

// Makes the plan of the operation's operands. Returns OP_FAILED for invalid scales.
Status planQuantizedLstm(const OperationContext& context, QuantizedLstmPlan* plan);

// Reads the layout of the sequence at input kX of QUANTIZED_SEQUENCE_LSTM. Returns INCOMPLETE when
// it is not known.
Status readQuantizedSequence(const OperationContext& context, SequenceOrder* order);

// Updates the states and hidden values of one row of the batch. The sums of products, of inputs and
// of hidden values minus their zero points, are stored gate after gate, for existing gates.
// `before` and `state` may be the same.
void updateQuantizedLstm(const QuantizedLstmPlan& plan, size_t cells, const int32_t* inputSums,
                         const int32_t* recurrentSums, const int16_t* before, int16_t* state,
                         int8_t* hidden);

}  // namespace halyard::ops
