// Splits the loops of a kernel into as many parts as it allows.
// Thread safety: one thread at a time. Ownership: as InlineServices.
#pragma once

#include <algorithm>
#include <functional>

#include "ops/inline_services.h"

namespace halyard::ops::testing {

// Hands out the smallest ranges that a kernel allows, the last one first.
class SplittingServices : public InlineServices {
 public:
  void parallelFor(size_t count, size_t grain,
                   const std::function<void(size_t, size_t)>& body) override {
    for (size_t parts = (count + grain - 1) / grain; parts > 0; --parts) {
      body((parts - 1) * grain, std::min(parts * grain, count));
      ++ranges;
    }
  }
  size_t ranges = 0;
};

}  // namespace halyard::ops::testing
