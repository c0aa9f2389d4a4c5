// Tells a process that grows without end from a process whose memory has not settled yet.
// A heap keeps freed memory for each thread that has used it, and threads appear one after the
// other: that growth ends. A leak adds the same again with each span of work.
// Thread safety: pure functions.
#pragma once

#include <chrono>
#include <functional>

#include "validation/kit/check.h"
#include "validation/kit/process_figures.h"

namespace halyard::validation {

struct GrowthRule {
  // The growth that a span may add. All spans together may add at most `spans` times as much.
  size_t memoryBytes = 0;
  size_t descriptors = 0;
  int spans = 4;  // that must all add more, before it is a leak
  // Released objects are freed a little later: the time that a span has for it.
  std::chrono::milliseconds patience{1000};
};

// Repeats `span`, the same work each time, and measures after it. Passes after the first span that
// adds no more than the rule allows. Fails after `rule.spans` spans that all added more, and if all
// spans together have added too much. The text has the figures of each. The caller warms the
// process up. Any other result of `span` than PASSED, and an error of `measure`, ends the check
// with it.
CheckResult expectGrowthEnds(const GrowthRule& rule, const std::function<CheckResult()>& span,
                             const std::function<Result<ProcessFigures>()>& measure);

}  // namespace halyard::validation
