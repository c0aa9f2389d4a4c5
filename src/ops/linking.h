// How a bidirectional operation uses its auxiliary input, and the outputs such operations have.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <span>
#include <string_view>

#include "ops/operand_table.h"
#include "ops/sequence.h"

namespace halyard::ops {

// Parts of tables with an auxiliary input: it has a value; its weights have.
inline constexpr Parts kAuxInput = 1u << 30;
inline constexpr Parts kAuxWeights = 1u << 31;

enum class Linking {
  NONE,      // both directions see the input
  PARALLEL,  // the backward direction sees the auxiliary input in its place
  CROSS,     // both directions see both, the auxiliary one through weights of its own
};
inline Linking linkingOf(Parts parts) {
  if ((parts & kAuxInput) == 0) return Linking::NONE;
  return (parts & kAuxWeights) == 0 ? Linking::PARALLEL : Linking::CROSS;
}

// Raises `level` to 4 where a model says for certain that it links in parallel: no auxiliary
// weights, but an input that may have a value. `weights` are the positions of the weights.
void requireLevelOfLinking(const OperationView& operation, size_t auxInput,
                           std::span<const size_t> weights, FeatureLevel& level);

// The outputs: the sequences, both or in one, and all final states or none. Merged or not shows in
// their number, which must agree with `merged`.
Status checkOutputCount(const OperationContext& context, bool merged, size_t states);

// Shapes of all outputs: sequences whose rows have the sizes of two letters (M is their sum), then
// the states.
Status setBidirectionalOutputs(OperationContext& context, DimensionSolver& sizes, bool merged,
                               char forwardLetter, char backwardLetter,
                               std::span<const std::string_view> stateShapes);

// Where the kernel of one direction writes its sequence. Rows have `forward` and `backward` values.
SequenceOutput sequenceOutput(OperationContext& context, bool merged, bool isBackward,
                              size_t forward, size_t backward);
// The final state of this position among the states; null when states are no outputs.
float* stateOutput(OperationContext& context, bool merged, size_t position);

}  // namespace halyard::ops
