// Surgery: parts of a model as models of their own.
// Thread safety: pure functions. Ownership: results own their data, but for pools, which are
// shared.
#pragma once

#include <span>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"
#include "validation/random_graphs/interpreter.h"

namespace halyard::random_graphs {

// The values of a case's main subgraph by operand, as the reference kernels compute them.
Result<std::vector<TestOperand>> valuesOf(const conformance::VectorCase& from);

// The operations of the main subgraph for which `keep` is true, as a case of its own: what others
// have computed for them is an input, with its value; outputs are those of before, and what only
// other operations have read. Operands, subgraphs and constants that are not needed are gone, and
// constants are copies. `values`: for each operand that an operation touches; a result's may be
// missing (no bytes) where nothing kept needs it.
Result<conformance::VectorCase> cutOut(const conformance::VectorCase& from,
                                       std::span<const TestOperand> values,
                                       const std::vector<bool>& keep);

// The case with the outputs that the reference kernels compute, and their dimensions in the model.
Status recompute(conformance::VectorCase* changed);

}  // namespace halyard::random_graphs
