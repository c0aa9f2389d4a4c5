// The plain recurrent cell, h' = act(W x + R h + b), run along a sequence.
// Thread safety: reentrant.
// Ownership: borrows operands.
#pragma once

#include <cstddef>
#include <span>

#include "ops/operation.h"
#include "ops/recurrent_activation.h"
#include "ops/sequence.h"

namespace halyard::ops {

struct RnnWeights {
  const float* recurrent = nullptr;  // [units][units]
  const float* bias = nullptr;       // [units]
  size_t units = 0;
  RecurrentActivation activation = RecurrentActivation::NONE;
};

// Each of the inputs has one matrix, [units][depth]. The run starts from `state`, [batch][units],
// and writes the last state to `finalState` unless it is null.
void runRnn(KernelServices& services, const SequenceOrder& order, const RnnWeights& weights,
            std::span<const SequenceInput> inputs, const float* state, const SequenceOutput& output,
            float* finalState);

}  // namespace halyard::ops
