// Combines two descriptions of one tensor's dimensions, such as the roles of a buffer.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <optional>

#include "halyard/driver/model.h"

namespace halyard::hal {

// An unknown rank or dimension takes the other's. Returns nullopt when the two contradict each
// other.
inline std::optional<Shape> combineDimensions(const Shape& a, const Shape& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  if (a.size() != b.size()) return std::nullopt;
  Shape combined = a;
  for (size_t i = 0; i < combined.size(); ++i) {
    if (combined[i] == 0) combined[i] = b[i];
    if (b[i] != 0 && combined[i] != b[i]) return std::nullopt;
  }
  return combined;
}

}  // namespace halyard::hal
