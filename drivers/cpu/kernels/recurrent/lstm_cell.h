// LstmCell: the LSTM cell in float with all its optional parts, and its run along a sequence.
// Thread safety: immutable once made.
// Ownership: owns its weights.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/kernel.h"
#include "kernels/matrix/packed_floats.h"
#include "kernels/recurrent/recurrent_steps.h"
#include "kernels/vectors/aligned_buffer.h"
#include "kernels/vectors/float_functions.h"
#include "ops/lstm_cell.h"

namespace halyard::cpudriver {

// Where a cell's operands begin among an operation's inputs.
struct LstmPlaces {
  size_t weights;
  size_t options;
  size_t layerNorm;
  size_t auxWeights = 0;  // 0: there is no auxiliary input
};

// Where a run's values are.
struct LstmValues {
  const float* x;
  const float* aux;  // null: no auxiliary input
  const float* hiddenBefore;
  const float* cellBefore;
  ops::SequenceOutput output;
  float* hiddenAfter;  // null: not wanted
  float* cellAfter;    // null: not wanted
};

class LstmCell {
 public:
  // None where types or options are not for this kernel, or weights are no constants.
  static std::optional<LstmCell> make(const KernelSite& site, const LstmPlaces& places,
                                      const ops::SequenceOrder& order);

  void run(const LstmValues& values, ops::KernelServices& services) const;
  // Products that each step takes, one after the other.
  size_t productsOfStep() const { return order_.batch * recurrent_.columns() * outputs_; }

 private:
  // The other terms of a gate's sums. Empty members add nothing.
  struct Gate {
    AlignedBuffer<float> peephole;
    AlignedBuffer<float> layerNorm;
    AlignedBuffer<float> bias;  // where it is not part of the products
  };

  LstmCell(const KernelSite& site, const LstmPlaces& places, const ops::LstmWeights& weights,
           const ops::LstmOptions& options, const ops::SequenceOrder& order);
  void readGates(const ops::LstmWeights& weights);
  // The weights of all gates, whose inputs begin with `first`.
  PackedFloats packGates(const KernelSite& site, size_t first, size_t depth, const float* bias,
                         size_t rows) const;
  void finishSums(const Gate& gate, float* sums, const float* state) const;
  void updateRow(float* sums, float* state, float* gated) const;

  ops::SequenceOrder order_;
  size_t cells_;
  size_t outputs_;
  size_t gateCount_;
  PackedFloats input_;
  PackedFloats aux_;  // without columns: none
  PackedFloats recurrent_;
  PackedFloats projection_;  // without columns: none
  Gate gates_[ops::kGates];
  bool hasPeepholes_ = false;
  bool hasLayerNorm_ = false;
  ops::RecurrentActivation activation_;
  float stateClip_;
  float projectionClip_;
  const FloatFunctions* functions_;
};

}  // namespace halyard::cpudriver
