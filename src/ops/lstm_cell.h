// The LSTM cell in floating point, with all optional parts, and its run along a sequence.
// Thread safety: reentrant.
// Ownership: borrows operands.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "ops/lstm_operands.h"
#include "ops/operation.h"
#include "ops/recurrent_activation.h"
#include "ops/sequence.h"

namespace halyard::ops {

using GatePointers = std::array<const float*, kGates>;  // null: absent

struct LstmWeights {
  GatePointers input{};                   // [cells][input size]
  GatePointers recurrent{};               // [cells][outputs]
  GatePointers peephole{};                // [cells]
  GatePointers bias{};                    // [cells]
  GatePointers layerNorm{};               // [cells]
  const float* projection = nullptr;      // [outputs][cells]
  const float* projectionBias = nullptr;  // [outputs]
  size_t inputSize = 0;
  size_t cells = 0;
  size_t outputs = 0;

  bool hasInputGate() const { return input[kInputGate] != nullptr; }
};

// Reads the operands of lstmWeightRows from `first` on, and those of lstmLayerNormRows from
// `layerNorm` on, as far as they are there.
LstmWeights lstmWeightsAt(const OperationContext& context, size_t first, size_t layerNorm);
// Four pointers from `first` on.
GatePointers gatePointersAt(const OperationContext& context, size_t first);
// What multiplies the values of a sequence of vectors of `depth`.
GateWeights gateWeights(const GatePointers& gates, size_t cells, size_t depth);

struct LstmOptions {
  RecurrentActivation activation = RecurrentActivation::TANH;
  float cellClip = 0;        // 0: off
  float projectionClip = 0;  // likewise
};

// The three scalars at `first` and after.
Status readLstmOptions(const OperationContext& context, size_t first, LstmOptions* options);

struct LstmStates {
  const float* hidden = nullptr;  // [batch][outputs]
  const float* cell = nullptr;    // [batch][cells]
  // Where the last states go; null: nowhere.
  float* finalHidden = nullptr;
  float* finalCell = nullptr;
};

// `inputs` have the matrices of the gates that there are: four, or three without an input gate.
void runLstm(KernelServices& services, const SequenceOrder& order, const LstmWeights& weights,
             const LstmOptions& options, std::span<const SequenceInput> inputs,
             const LstmStates& states, const SequenceOutput& output);

}  // namespace halyard::ops
