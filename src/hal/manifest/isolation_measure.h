// IsolationMeasure: the result of one of the sandbox's measures, as a driver reports it.
// Thread safety: plain data.
// Ownership: owns its texts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace halyard::hal {

struct IsolationMeasure {
  enum class State : uint8_t { APPLIED, UNAVAILABLE, OFF };

  std::string name;
  State state = State::APPLIED;
  std::string detail;  // the allowed rights, or the reason for its absence
};
using IsolationReport = std::vector<IsolationMeasure>;

inline std::string_view isolationStateName(IsolationMeasure::State state) {
  switch (state) {
    case IsolationMeasure::State::APPLIED:
      return "applied";
    case IsolationMeasure::State::UNAVAILABLE:
      return "unavailable";
    case IsolationMeasure::State::OFF:
      return "off";
  }
  return "unknown";
}

}  // namespace halyard::hal
