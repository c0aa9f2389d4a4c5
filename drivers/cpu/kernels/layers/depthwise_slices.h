// Depthwise convolution with filters of 3 x 3 in float, slice by slice: some channels of some
// lines. With AVX-512, a slice goes vector by vector of all positions of a line. Then weights stay
// in registers, and each value is read once for all positions of a line that use it. Otherwise it
// goes some positions at a time. Nothing is copied.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/layers/conv_chain.h"
#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// Whether that is possible, and faster than line by line. It is possible with steps of at most 2,
// and padding that leaves the middle column of the filter inside of the image.
bool suitsSlices(const ConvSite& conv);

// For a float32 site for which hasConstantWeights, with a convolution that suits slices.
std::unique_ptr<DepthwiseLines> makeSliceLines(const KernelSite& site, const ConvSite& conv);
// The same as a kernel.
std::unique_ptr<Kernel> makeSliceDepthwise(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
