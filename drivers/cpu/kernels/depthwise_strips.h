// Depthwise convolution with filters of 3 x 3 in float, strip by strip: some channels of some lines
// are copied with their padding to where they stay in the first-level cache, and all positions are
// computed alike. Thread safety: pure functions. Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/conv_site.h"

namespace halyard::cpudriver {

// Whether that is possible.
bool takesStrips(const ConvSite& conv);
// Whether it is thought to be faster, too, than without copies.
bool suitsStrips(const ConvSite& conv);

// For a float32 site for which hasConstantWeights, with what takesStrips.
std::unique_ptr<Kernel> makeStripDepthwise(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
