// The checker: compares one graph on a device with the same graph on the CPU device.
// Thread safety: as conformance::Target.
// Ownership: verdicts own their text.
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
    BROKEN,       // the case is invalid, or the CPU device's results are not those of the case
  };
  Kind kind = Kind::PASSED;
  std::string reason;  // empty when passed
};

// Compiles the case on `tested` and executes it twice, with arguments as pointers and in shared
// memory. Its results must lie around those of `reference`, the CPU device, within the criteria for
// a graph of its size (accuracy/accuracy.h). The CPU device's results must be those of the case.
Verdict checkGraph(conformance::Target& tested, conformance::Target& reference,
                   const conformance::VectorCase& vectorCase);

// The outputs of one execution on the target, in buffers of the size of the case's outputs.
// BAD_DATA when the target does not take all operations.
Result<std::vector<conformance::ActualOutput>> resultsOf(conformance::Target& target,
                                                         const conformance::VectorCase& vectorCase);

// Which operations of the case's main subgraph the device takes.
Result<std::vector<bool>> supportedOperations(conformance::Target& target,
                                              const conformance::VectorCase& vectorCase);

}  // namespace halyard::random_graphs
