#include "validation/suites.h"

#include "validation/conformance/conformance_suite.h"
#include "validation/hostile/hostile_suite.h"

namespace halyard::validation {
namespace {

constexpr Suite kSuites[] = {
    {"conformance", "vectors with known results, in several ways each", listConformance},
    {"hostile", "clients that send anything at all", listHostile},
};

}  // namespace

std::span<const Suite> allSuites() { return kSuites; }

}  // namespace halyard::validation
