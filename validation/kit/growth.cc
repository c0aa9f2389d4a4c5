#include "validation/kit/growth.h"

#include <algorithm>
#include <string>
#include <thread>

namespace halyard::validation {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = 50ms;

// Whether `after` has at most what `spans` spans may add to `before`.
bool isWithin(const GrowthRule& rule, int spans, const ProcessFigures& before,
              const ProcessFigures& after) {
  const auto times = static_cast<size_t>(spans);
  return after.memoryBytes <= before.memoryBytes + times * rule.memoryBytes &&
         after.descriptors <= before.descriptors + times * rule.descriptors;
}

// Measures until the growth since `before` is allowed, or the patience has ended.
Result<ProcessFigures> settled(const GrowthRule& rule, const ProcessFigures& before,
                               const std::function<Result<ProcessFigures>()>& measure) {
  const auto end = Clock::now() + rule.patience;
  for (;;) {
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures after, measure());
    if (isWithin(rule, 1, before, after) || Clock::now() >= end) return after;
    std::this_thread::sleep_for(std::min<Clock::duration>(kPause, rule.patience));
  }
}

}  // namespace

CheckResult expectGrowthEnds(const GrowthRule& rule, const std::function<CheckResult()>& span,
                             const std::function<Result<ProcessFigures>()>& measure) {
  HALYARD_ASSIGN_OR_RETURN(const ProcessFigures first, measure());
  ProcessFigures before = first;
  std::string course =
      fmt::format("{} KiB and {} descriptors", before.memoryBytes >> 10, before.descriptors);
  for (int i = 0; i < rule.spans; ++i) {
    const CheckResult result = span();
    if (result.outcome != Outcome::PASSED) return result;
    HALYARD_ASSIGN_OR_RETURN(const ProcessFigures after, settled(rule, before, measure));
    const bool isAllWithin = isWithin(rule, rule.spans, first, after);
    if (isAllWithin && isWithin(rule, 1, before, after)) return okStatus();
    course += fmt::format(", then {} KiB and {}", after.memoryBytes >> 10, after.descriptors);
    if (!isAllWithin) break;
    before = after;
  }
  return opFailed(
      "the driver's process grows with the same work: {}; a span of work may add {} KiB and {} "
      "descriptors, one of {} spans must add no more",
      course, rule.memoryBytes >> 10, rule.descriptors, rule.spans);
}

}  // namespace halyard::validation
