// Convolutions with filters that are known only when the model runs.
// Thread safety: a pure function. Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// For a plain convolution whose filter is no constant. Null where the bias is none either, where
// there are no micro kernels for the types or too few positions for a filter to be packed for, and
// where the patches would take much memory.
std::unique_ptr<Kernel> makeDynamicConv(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
