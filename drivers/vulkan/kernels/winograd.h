// Winograd's convolutions: fewer multiplications for filters of 3 x 3 (shaders/winograd.comp).
//
// A tile of 6 x 6 cells is spread to 36 values of each channel, which are groups of channels. A
// grouped 1 x 1 convolution multiplies each group by a transformed filter. Its 36 sums are
// collected to 4 x 4 results. That takes a quarter of the multiplications, and four times the
// filter's memory.
//
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "kernels/recording.h"
#include "kernels/window_plan.h"

namespace halyard::vulkandriver {

// Adds the dispatches of a float32 convolution, if they are faster than those of addProduct and the
// recording has the memory. False: nothing is added.
Result<bool> addWinograd(const Site& site, const WindowPlan& plan, Recording& recording);

}  // namespace halyard::vulkandriver
