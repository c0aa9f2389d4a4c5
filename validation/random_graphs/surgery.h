// Surgery: makes models of parts of a model.
// Thread safety: pure functions.
// Ownership: results own their data, except for pools, which are shared.
#pragma once

#include <span>
#include <vector>

#include "conformance/vectors.h"
#include "halyard/driver/status.h"
#include "validation/random_graphs/interpreter.h"

namespace halyard::random_graphs {

// The values of a case's main subgraph by operand, as the reference kernels compute them.
Result<std::vector<TestOperand>> valuesOf(const conformance::VectorCase& from);

// A case of the operations of the main subgraph for which `keep` is true. Results of other
// operations become inputs, with their values. Outputs are the case's outputs, and results that no
// kept operation reads. Operands, subgraphs and constants that are not needed are removed.
// Constants are copied. `values`: a value for each operand of a kept operation. A result's value
// may be empty where no kept operation needs it.
Result<conformance::VectorCase> cutOut(const conformance::VectorCase& from,
                                       std::span<const TestOperand> values,
                                       const std::vector<bool>& keep);

// Sets the outputs to the results of the reference kernels, and their dimensions in the model.
Status recompute(conformance::VectorCase* changed);

}  // namespace halyard::random_graphs
