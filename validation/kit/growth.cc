#include "validation/kit/growth.h"

#include <algorithm>
#include <string>
#include <thread>

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = 50ms;

bool isWithin(const GrowthRule& rule, const ProcessFigures& before, const ProcessFigures& after) {
  return after.memoryBytes <= before.memoryBytes + rule.memoryBytes &&
         after.descriptors <= before.descriptors + rule.descriptors;
}

// Measures until the growth since `before` is allowed, or the patience has ended.
Result<ProcessFigures> settled(const GrowthRule& rule, const ProcessFigures& before,
                               const std::function<Result<ProcessFigures>()>& measure) {
  const auto end = Clock::now() + rule.patience;
  for (;;) {
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures after, measure());
    if (isWithin(rule, before, after) || Clock::now() >= end) return after;
    std::this_thread::sleep_for(std::min<Clock::duration>(kPause, rule.patience));
  }
}

}  // namespace

CheckResult expectGrowthEnds(const GrowthRule& rule, const std::function<CheckResult()>& span,
                             const std::function<Result<ProcessFigures>()>& measure) {
  HALYARD_ASSIGN_OR_RETURN(ProcessFigures before, measure());
  std::string course =
      fmt::format("{} KiB and {} descriptors", before.memoryBytes >> 10, before.descriptors);
  for (int i = 0; i < rule.spans; ++i) {
    const CheckResult result = span();
    if (result.outcome != Outcome::PASSED) return result;
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures after, settled(rule, before, measure));
    if (isWithin(rule, before, after)) return okStatus();
    course += fmt::format(", then {} KiB and {}", after.memoryBytes >> 10, after.descriptors);
    before = after;
  }
  return opFailed(
      "the driver's process grows with each of {} spans of work: {}; a span may add {} KiB and {} "
      "descriptors",
      rule.spans, course, rule.memoryBytes >> 10, rule.descriptors);
}

}  // namespace halyard::validation
