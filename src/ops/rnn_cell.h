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

// The inputs each have one matrix, [units][depth]. Starts from `state`, [batch][units], and writes
// the last state to `finalState` unless that is null.
void runRnn(KernelServices& services, const SequenceOrder& order, const RnnWeights& weights,
            std::span<const SequenceInput> inputs, const float* state, const SequenceOutput& output,
            float* finalState);

}  // namespace halyard::ops
