// The plain recurrent cell.
#include "ops/rnn_cell.h"

#include <algorithm>
#include <cstring>

namespace halyard::ops {
namespace {

constexpr size_t kGrain = 4096;  // values; a hyperbolic tangent each

}  // namespace

void runRnn(KernelServices& services, const SequenceOrder& order, const RnnWeights& weights,
            std::span<const SequenceInput> inputs, const float* state, const SequenceOutput& output,
            float* finalState) {
  const size_t units = weights.units;
  const size_t bytes = order.batch * units * sizeof(float);
  auto* hidden = static_cast<float*>(services.scratch(bytes));
  std::memcpy(hidden, state, bytes);
  const GateWeights recurrent = {{weights.recurrent}, units, units};
  runSequence(services, order, inputs, [&](RewindingServices& rewinding, size_t s, float* sums) {
    multiplyGates(rewinding, order.batch, hidden, recurrent, true, sums);
    rewinding.parallelFor(order.batch, std::max<size_t>(1, kGrain / units),
                          [&](size_t begin, size_t end) {
                            for (size_t b = begin; b < end; ++b) {
                              float* row = sums + b * units;
                              for (size_t u = 0; u < units; ++u) row[u] += weights.bias[u];
                              activate(weights.activation, row, units);
                            }
                          });
    std::memcpy(hidden, sums, bytes);
    storeStep(order, s, hidden, units, output);
  });
  if (finalState != nullptr) std::memcpy(finalState, hidden, bytes);
}

}  // namespace halyard::ops
