// 8 bit depthwise convolution.
// Thread safety: pure functions.
// Ownership: as Kernel.
#pragma once

#include <memory>

#include "kernels/layers/conv_chain.h"
#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// For a site with hasConstantWeights, 8 bit types and multiplier 1.
std::unique_ptr<Kernel> makeQuant8Depthwise(const KernelSite& site, const ConvSite& conv);
std::unique_ptr<DepthwiseLines> makeQuant8DepthwiseLines(const KernelSite& site,
                                                         const ConvSite& conv);

}  // namespace halyard::cpudriver
