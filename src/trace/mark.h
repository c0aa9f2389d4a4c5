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

// "LR"; "PCO". Of values of the enums only.
std::string_view layerCode(Layer layer);
std::string_view phaseCode(Phase phase);

struct Mark {
  Variant variant = Variant::PLAIN;
  Layer layer = Layer::OTHER;
  Phase phase = Phase::UNSPECIFIED;
  std::string detail;
};

// "[NN_LR_PE]compute", with "[SW]" or "[SUB]" before it.
std::string markText(const Mark& mark);
// BAD_DATA saying what is wrong: no mark, an unknown layer or phase.
Result<Mark> parseMark(std::string_view text);

// EXECUTION and its parts.
bool isOfExecution(Phase phase);

// Whether a slice may stand directly within another: its phase is the same, UNSPECIFIED,
// INITIALIZATION or a part of the outer one, and its layer is the same, UTILITY or the next below;
// or it is subtracted from what is around it. `outer` has the layer and phase that it inherits, if
// it inherits one. BAD_DATA naming both.
Status checkNesting(const Mark& outer, const Mark& inner);

}  // namespace halyard::trace
