// The LSTM cell in floating point with all optional parts, run along a sequence.
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
// `layerNorm` on, if present.
LstmWeights lstmWeightsAt(const OperationContext& context, size_t first, size_t layerNorm);
// Returns four pointers from `first` on.
GatePointers gatePointersAt(const OperationContext& context, size_t first);
// Returns the weights for a sequence of vectors of `depth` values.
GateWeights gateWeights(const GatePointers& gates, size_t cells, size_t depth);

struct LstmOptions {
  RecurrentActivation activation = RecurrentActivation::TANH;
  float cellClip = 0;        // 0: off
  float projectionClip = 0;  // 0: off
};

// Reads the three scalars from `first` on.
Status readLstmOptions(const OperationContext& context, size_t first, LstmOptions* options);

struct LstmStates {
  const float* hidden = nullptr;  // [batch][outputs]
  const float* cell = nullptr;    // [batch][cells]
  // The destinations of the last states; null: not written.
  float* finalHidden = nullptr;
  float* finalCell = nullptr;
};

// `inputs` have the matrices of the existing gates: four, or three without an input gate.
void runLstm(KernelServices& services, const SequenceOrder& order, const LstmWeights& weights,
             const LstmOptions& options, std::span<const SequenceInput> inputs,
             const LstmStates& states, const SequenceOutput& output);

}  // namespace halyard::ops
