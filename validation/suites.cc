#include "validation/suites.h"

#include "validation/conformance/conformance_suite.h"

namespace halyard::validation {
namespace {

constexpr Suite kSuites[] = {
    {"conformance", "vectors with known results, in several ways each", listConformance},
};

}  // namespace

std::span<const Suite> allSuites() { return kSuites; }

}  // namespace halyard::validation
