// Copies between regularly spaced positions of tensors, as one dispatch each.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <vector>

#include "kernels/recording.h"
#include "ops/strided_copy.h"

namespace halyard::vulkandriver {

// The kind of a move, as in shaders/move.comp.
enum class MoveKind : int32_t { COPY, FILL, TABLE, BLOCKS };

struct Move {
  Place source;
  Place target;
  size_t sourceFirst = 0;
  size_t targetFirst = 0;
  std::vector<ops::CopyLoop> loops;  // outermost first
  uint32_t elementBytes;
  MoveKind kind = MoveKind::COPY;  // addMove chooses BLOCKS for it where that is faster
  Parameter value = 0;             // for FILL and TABLE
};

// From the start of an input to the start of an output.
Move moveOf(const Site& site, size_t input, size_t output, std::vector<ops::CopyLoop> loops);

// BAD_DATA for more loops, or other elements, than the device has.
Status addMove(const Move& move, Recording& recording);

}  // namespace halyard::vulkandriver
