// float16 operations by float32 kernels, with conversion at the edges.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// Whether any of the site's operands is float16.
bool hasHalves(const KernelSite& site);

// The kernel of the same operation in float32, between conversions. Null where `make` gives none.
// As the reference kernel, it computes in float32 and rounds once.
std::unique_ptr<Kernel> makeHalfKernel(const KernelSite& site, KernelMaker make);

}  // namespace halyard::cpudriver
