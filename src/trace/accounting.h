// Accounting: the time of a trace by layer and phase.
// Thread safety: pure functions.
// Ownership: results own their data.
//
// The time of a layer and phase is the sum of its outermost slices. A slice within another one of
// the same layer and phase is detail. Initialisation, wherever it happens, and slices marked
// SUBTRACT are subtracted from the slices around them. If the runtime works in another phase than
// the application's slice around it, the application's time moves to that phase, too. The parts of
// EXECUTION count for EXECUTION as well. An asynchronous execution takes from the beginning of its
// start to the end of the wait for its event.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "trace/timeline.h"

namespace halyard::trace {

// Times in ns by phase. Negative only where slices contradict each other.
using PhaseTimes = std::array<int64_t, kPhases>;

struct Accounting {
  std::string startingMark;  // the detail of the LA_PO slice, or empty
  std::array<PhaseTimes, kLayers> total = {};
  // The totals without those of the layers below. Parts of EXECUTION are at least 0.
  std::array<PhaseTimes, kLayers> self = {};
  uint64_t executions = 0;
  // The executions of the benchmark alone if it follows a warm-up, else all executions.
  uint64_t countedExecutions = 0;
  std::array<PhaseTimes, kLayers> counted = {};  // the totals of these executions

  int64_t at(Layer layer, Phase phase) const {
    return total[static_cast<size_t>(layer)][static_cast<size_t>(phase)];
  }
  int64_t selfAt(Layer layer, Phase phase) const {
    return self[static_cast<size_t>(layer)][static_cast<size_t>(phase)];
  }
};

// Returns one Accounting per application slice of phase OVERALL, or one for everything.
std::vector<Accounting> account(const Timeline& timeline);

}  // namespace halyard::trace
