// Finds attention, which models spell out in operations of the API.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <optional>
#include <vector>

#include "fusion.h"
#include "kernels/layers/attention.h"

namespace halyard::cpudriver {

// softmax(queries x keys * factor + mask) x values
struct Attention {
  std::vector<size_t> before;  // all operations except the last one
  OperandIndexes inputs;       // queries, keys, values and perhaps the mask
  AttentionShape shape;
};

// The attention that ends with operation `last`: a BATCH_MATMUL, or the TRANSPOSE that puts its
// heads side by side. Factor and mask may be left out. So may transpositions that take the heads of
// queries, keys and values apart. Empty if `last` ends none, or if other operations read the values
// between.
std::optional<Attention> attentionAt(const FusionGraph& graph, size_t last);

}  // namespace halyard::cpudriver
