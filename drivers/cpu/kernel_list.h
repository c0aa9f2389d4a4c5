// Which operations have kernels of this driver's own.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include "kernels/kernel.h"

namespace halyard::cpudriver {

// The kernel for an operation at a site; null where the reference kernel has to do.
std::unique_ptr<Kernel> makeKernel(const ops::OperationDefinition& definition,
                                   const KernelSite& site);

// Whether the maker for the operation takes weights as the model stores them
// (KernelSite::quantised).
bool takesQuantised(const ops::OperationDefinition& definition, const Fused& fused);

}  // namespace halyard::cpudriver
