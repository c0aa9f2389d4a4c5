// The makers of this driver's kernels; docs/cpu_driver.md says what each of them is for.
// Thread safety: pure functions. Ownership: kernels are the caller's.
#pragma once

#include "kernel.h"

namespace halyard::cpudriver {

std::unique_ptr<Kernel> makeAddition(const KernelSite& site);
std::unique_ptr<Kernel> makeConv(const KernelSite& site);
std::unique_ptr<Kernel> makeDepthwiseConv(const KernelSite& site);
std::unique_ptr<Kernel> makeFullyConnected(const KernelSite& site);
std::unique_ptr<Kernel> makeMultiplication(const KernelSite& site);
std::unique_ptr<Kernel> makeSubtraction(const KernelSite& site);

}  // namespace halyard::cpudriver
