// Accounting: the time of a trace by layer and phase.
// Thread safety: pure functions. Ownership: results own their data.
//
// The time of a layer and phase is the sum of its outermost slices: a slice of the same layer and
// phase within another is detail. Initialisation, wherever it happens, and slices marked SUBTRACT
// are taken away from the slices around them. What the runtime does in another phase than the
// application's slice around it is moved there, for the application too. The parts of EXECUTION
// count for EXECUTION as well. An asynchronous execution takes from the beginning of its start to
// the end of the wait for its event.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace halyard::trace {

// By phase, ns. Negative only where slices contradict each other.
using PhaseTimes = std::array<int64_t, kPhases>;

struct Accounting {
  std::string startingMark;  // the detail of the LA_PO slice; empty when there is none
  std::array<PhaseTimes, kLayers> total = {};
  // Less what the layers below it have taken; of the parts of EXECUTION not less than 0.
  std::array<PhaseTimes, kLayers> self = {};
  uint64_t executions = 0;
  // Those of the benchmark alone where there is one after a warm-up, else all.
  uint64_t countedExecutions = 0;
  std::array<PhaseTimes, kLayers> counted = {};  // the totals of those

  int64_t at(Layer layer, Phase phase) const {
    return total[static_cast<size_t>(layer)][static_cast<size_t>(phase)];
  }
  int64_t selfAt(Layer layer, Phase phase) const {
    return self[static_cast<size_t>(layer)][static_cast<size_t>(phase)];
  }
};

// One for each application slice of phase OVERALL, or one for everything.
std::vector<Accounting> account(const Timeline& timeline);

}  // namespace halyard::trace
