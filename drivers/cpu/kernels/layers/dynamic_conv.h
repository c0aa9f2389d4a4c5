// Convolutions with filters that are known only when the model runs.
// Thread safety: a pure function.
// Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// For a plain convolution whose filter is not constant. Null where the bias is not constant either,
// or no micro kernels exist for the types. Null also where the positions are too few to pack a
// filter, and where the patches would take much memory.
std::unique_ptr<Kernel> makeDynamicConv(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
