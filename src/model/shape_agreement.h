// Compares and combines two descriptions of one tensor's shape. These are the only rules for shapes
// that agree: checks, buffers, the runtime and the executors use them.
// In a description, an empty shape has an unknown rank, and a 0 is an unknown dimension. In the
// real shape of a value, a 0 is a dimension without elements.
// Thread safety: pure functions.
// Ownership: results own their data.
#pragma once

#include <optional>

#include "halyard/driver/model.h"

namespace halyard {

// Returns whether two descriptions can be of one tensor.
inline bool shapesAgree(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty()) return true;
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && a[i] != 0 && b[i] != 0) return false;
  }
  return true;
}

// Returns whether a tensor of the real shape `real` can have the description `known`.
inline bool isShapeOf(const Shape& known, const Shape& real) {
  if (known.empty()) return true;
  if (known.size() != real.size()) return false;
  for (size_t i = 0; i < known.size(); ++i) {
    if (known[i] != real[i] && known[i] != 0) return false;
  }
  return true;
}

// Returns `given`, with unknown dimensions from `fallback`. The descriptions may contradict each
// other; then `given` wins.
inline Shape completeShape(const Shape& given, const Shape& fallback) {
  if (given.empty()) return fallback;
  Shape complete = given;
  for (size_t i = 0; i < complete.size() && i < fallback.size(); ++i) {
    if (complete[i] == 0) complete[i] = fallback[i];
  }
  return complete;
}

// Returns the description that says as much as both. Returns nullopt if they contradict each other.
inline std::optional<Shape> combineShapes(const Shape& a, const Shape& b) {
  if (!shapesAgree(a, b)) return std::nullopt;
  return completeShape(a, b);
}

}  // namespace halyard
