// The runner: one conformance case in one variant on one target.
// Thread safety: a target is used by one call of runCase at a time. Ownership: none.
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

// Passed: the outputs are right; or, for a case that expects failure, the model or an execution was
// refused with an error of its own. That the driver ended, could not be reached or ran out of
// something is no refusal. Skipped: the device says that it does not support the model.
CaseResult runCase(Target& target, const VectorCase& vectorCase, Variant variant);

}  // namespace halyard::conformance
