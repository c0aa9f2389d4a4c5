// The use of the auxiliary input of bidirectional operations, and their outputs.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <span>
#include <string_view>

#include "ops/operand_table.h"
#include "ops/sequence.h"

namespace halyard::ops {

// Parts of tables with an auxiliary input: the input has a value, and its weights have.
inline constexpr Parts kAuxInput = 1u << 30;
inline constexpr Parts kAuxWeights = 1u << 31;

enum class Linking {
  NONE,      // both directions use the input
  PARALLEL,  // the backward direction uses the auxiliary input instead
  CROSS,     // both directions use both, the auxiliary one with weights of its own
};
inline Linking linkingOf(Parts parts) {
  if ((parts & kAuxInput) == 0) return Linking::NONE;
  return (parts & kAuxWeights) == 0 ? Linking::PARALLEL : Linking::CROSS;
}

// Raises `level` to 4 if a model certainly links in parallel. It then has no auxiliary weights, but
// an input that may have a value. `weights` are the positions of the weights.
void requireLevelOfLinking(const OperationView& operation, size_t auxInput,
                           std::span<const size_t> weights, FeatureLevel& level);

// Checks the number of outputs: the sequences, separate or merged, and all final states or none.
// The number must agree with `merged`.
Status checkOutputCount(const OperationContext& context, bool merged, size_t states);

// Sets the shapes of all outputs: sequences whose rows have the sizes of two letters (M is their
// sum), then the states.
Status setBidirectionalOutputs(OperationContext& context, DimensionSolver& sizes, bool merged,
                               char forwardLetter, char backwardLetter,
                               std::span<const std::string_view> stateShapes);

// Returns the place for the sequence of one direction. Rows have `forward` and `backward` values.
SequenceOutput sequenceOutput(OperationContext& context, bool merged, bool isBackward,
                              size_t forward, size_t backward);
// Returns the final state at this position among the states; null when states are no outputs.
float* stateOutput(OperationContext& context, bool merged, size_t position);

}  // namespace halyard::ops
