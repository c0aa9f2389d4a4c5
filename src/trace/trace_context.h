// The identification of a step's executions in a trace: trace::Details::context.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace halyard::runtime {

inline constexpr unsigned kTraceStepBits = 24;
inline constexpr uint64_t kTraceWholeModel = (uint64_t{1} << kTraceStepBits) - 1;

// Returns a value that is never 0. Without a `step`, it stands for the model as a whole.
inline uint64_t traceContext(uint64_t compilation, std::optional<size_t> step) {
  return compilation << kTraceStepBits | (step ? *step + 1 : kTraceWholeModel);
}
inline uint64_t traceCompilation(uint64_t context) { return context >> kTraceStepBits; }
// Returns nullopt for the model as a whole and for an invalid context.
inline std::optional<size_t> traceStep(uint64_t context) {
  const uint64_t step = context & kTraceWholeModel;
  if (step == 0 || step == kTraceWholeModel) return std::nullopt;
  return static_cast<size_t>(step - 1);
}

}  // namespace halyard::runtime
