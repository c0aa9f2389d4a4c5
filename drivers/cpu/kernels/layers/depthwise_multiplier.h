// Depthwise convolutions with several output channels for each of the image's.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// The kernel for a multiplier of 1. Null where no such kernel exists.
std::unique_ptr<Kernel> makePlainDepthwise(const KernelSite& site, const ConvSite& conv);
// `conv` is that of `site`, for which hasConstantWeights, and its multiplier is not 1.
std::unique_ptr<Kernel> makeMultipliedDepthwise(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
