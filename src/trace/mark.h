// Marks of a trace as text, "[NN_<layer>_<phase>]<detail>", and the rules of their nesting.
// Thread safety: pure functions. Ownership: results own their text.
#pragma once

#include <string>
#include <string_view>

#include "halyard/driver/status.h"
#include "halyard/driver/trace.h"

namespace halyard::trace {

inline constexpr size_t kLayers = 8;
inline constexpr size_t kPhases = 13;

// Returns a code such as "LR" or "PCO". The argument must be a valid value of the enum.
std::string_view layerCode(Layer layer);
std::string_view phaseCode(Phase phase);

struct Mark {
  Variant variant = Variant::PLAIN;
  Layer layer = Layer::OTHER;
  Phase phase = Phase::UNSPECIFIED;
  std::string detail;
};

// Returns a text such as "[NN_LR_PE]compute", with "[SW]" or "[SUB]" before it.
std::string markText(const Mark& mark);
// Returns BAD_DATA with the reason: no mark, an unknown layer or phase.
Result<Mark> parseMark(std::string_view text);

// Returns true for EXECUTION and its parts.
bool isOfExecution(Phase phase);

// Checks whether a slice may be directly within another. Its phase must be the same, UNSPECIFIED,
// INITIALIZATION or a part of the outer one. Its layer must be the same, UTILITY or the next one
// below. A subtracted slice may be anywhere. `outer` has its inherited layer and phase, if it
// inherits them. Returns BAD_DATA with both marks.
Status checkNesting(const Mark& outer, const Mark& inner);

}  // namespace halyard::trace
