// The checker: one graph on a device, beside what the CPU device makes of it.
// Thread safety: as conformance::Target. Ownership: verdicts own their text.
#pragma once

#include <string>
#include <vector>

#include "conformance/target.h"
#include "conformance/vectors.h"

namespace halyard::random_graphs {

struct Verdict {
  enum class Kind : uint8_t {
    PASSED,
    FAILED,
    UNSUPPORTED,  // the device does not take all operations
    BROKEN,       // the case itself is wrong, or the CPU device does not bear its results out
  };
  Kind kind = Kind::PASSED;
  std::string reason;  // empty when passed
};

// Compiles the case on `tested` and executes it twice, with arguments as pointers and in shared
// memory; its results must lie within the criteria for a graph of its size (accuracy/accuracy.h)
// around those of `reference`, the CPU device, which themselves must be what the case says.
Verdict checkGraph(conformance::Target& tested, conformance::Target& reference,
                   const conformance::VectorCase& vectorCase);

// The outputs of one execution on the target, in room for those of the case. BAD_DATA when the
// target does not take all operations.
Result<std::vector<conformance::ActualOutput>> resultsOf(conformance::Target& target,
                                                         const conformance::VectorCase& vectorCase);

// Which operations of the case's main subgraph the device takes.
Result<std::vector<bool>> supportedOperations(conformance::Target& target,
                                              const conformance::VectorCase& vectorCase);

}  // namespace halyard::random_graphs
