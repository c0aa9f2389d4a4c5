// Depthwise convolutions and pools, four channels at a time (shaders/channels.comp).
// Thread safety: pure functions. Ownership: none.
#pragma once

#include "kernels/recording.h"
#include "kernels/window_plan.h"

namespace halyard::vulkandriver {

// Adds the dispatch for a pool, or for a filter [height][width][channels]. False: the shader does
// not take the operation, and nothing is added.
Result<bool> addChannels(const Site& site, const WindowPlan& plan, Recording& recording);

}  // namespace halyard::vulkandriver
