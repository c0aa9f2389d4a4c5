// Bidirectional operations: linking of the auxiliary input, number and shapes of outputs.
#include "ops/linking.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace halyard::ops {

void requireLevelOfLinking(const OperationView& operation, size_t auxInput,
                           std::span<const size_t> weights, FeatureLevel& level) {
  if (operation.input(auxInput).lifetime == Lifetime::NO_VALUE) return;
  for (size_t i : weights) {
    if (operation.input(i).lifetime != Lifetime::NO_VALUE) return;
  }
  level = std::max(level, FeatureLevel::FL4);
}

Status checkOutputCount(const OperationContext& context, bool merged, size_t states) {
  const size_t sequences = merged ? 1 : 2;
  const size_t count = context.outputCount();
  if (count == sequences || count == sequences + states) return okStatus();
  return opFailed("has {} outputs, expected {} or {} as merge_outputs is {}", count, sequences,
                  sequences + states, merged);
}

Status setBidirectionalOutputs(OperationContext& context, DimensionSolver& sizes, bool merged,
                               char forwardLetter, char backwardLetter,
                               std::span<const std::string_view> stateShapes) {
  std::vector<std::pair<std::string, std::string>> outputs;
  if (merged) {
    sizes.define('M', sizes[forwardLetter] + sizes[backwardLetter]);
    outputs = {{"merged output", "TBM"}};
  } else {
    outputs = {{"forward output", std::string("TB") + forwardLetter},
               {"backward output", std::string("TB") + backwardLetter}};
  }
  for (std::string_view shape : stateShapes) outputs.emplace_back("final state", shape);
  for (size_t i = 0; i < outputs.size() && i < context.outputCount(); ++i) {
    HALYARD_RETURN_IF_ERROR(sizes.setOutput(context, i, outputs[i].first, outputs[i].second));
  }
  return okStatus();
}

SequenceOutput sequenceOutput(OperationContext& context, bool merged, bool isBackward,
                              size_t forward, size_t backward) {
  if (!merged) {
    return {context.output(isBackward ? 1 : 0).as<float>(), isBackward ? backward : forward};
  }
  return {context.output(0).as<float>() + (isBackward ? forward : 0), forward + backward};
}

float* stateOutput(OperationContext& context, bool merged, size_t position) {
  const size_t i = (merged ? 1 : 2) + position;
  return i < context.outputCount() ? context.output(i).as<float>() : nullptr;
}

}  // namespace halyard::ops
