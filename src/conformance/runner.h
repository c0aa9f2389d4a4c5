// The runner: runs one conformance case in one variant on one target.
// Thread safety: one call of runCase at a time uses a target.
// Ownership: none.
#pragma once

#include <string>

#include "conformance/target.h"

namespace halyard::conformance {

enum class Outcome : uint8_t { PASSED = 0, FAILED = 1, SKIPPED = 2 };
std::string_view outcomeName(Outcome outcome);

struct CaseResult {
  Outcome outcome = Outcome::PASSED;
  std::string reason;  // empty when passed
};

// PASSED: the outputs are correct. If the case expects failure: the model or an execution was
// refused with an error about it. An ended or unreachable driver, or one without resources, has not
// refused anything. SKIPPED: the device reports that it does not support the model.
CaseResult runCase(Target& target, const VectorCase& vectorCase, Variant variant);

}  // namespace halyard::conformance
