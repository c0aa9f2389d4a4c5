#include "validation/kit/check.h"

namespace halyard::validation {

std::string_view outcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::PASSED:
      return "passed";
    case Outcome::FAILED:
      return "failed";
    case Outcome::SKIPPED:
      return "skipped";
    case Outcome::HANG:
      return "hang";
    case Outcome::CRASH:
      return "crash";
    case Outcome::EXPECTED_FAILURE:
      return "expected failure";
    case Outcome::UNEXPECTED_PASS:
      return "unexpected pass";
  }
  return "unknown";
}

bool isBad(Outcome outcome) {
  return outcome == Outcome::FAILED || outcome == Outcome::HANG || outcome == Outcome::CRASH ||
         outcome == Outcome::UNEXPECTED_PASS;
}

}  // namespace halyard::validation
