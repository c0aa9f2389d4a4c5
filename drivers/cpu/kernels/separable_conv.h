// A depthwise convolution and the convolution by points behind it, some lines at a time: what the
// first makes never leaves the cache of the thread that multiplies it.
// Thread safety: a pure function. Ownership: the kernel is the caller's.
#pragma once

#include <memory>

#include "kernel.h"

namespace halyard::cpudriver {

// For a site of the depthwise convolution with Fused::between. Null where apart is thought to be
// faster, or where there is no kernel for it.
std::unique_ptr<Kernel> makeSeparableConv(const KernelSite& site);

}  // namespace halyard::cpudriver
