// Float layers whose input is rounded to the steps of a byte first (Fused::rounding), with weights
// that are multiples of a step, too: multiplied as bytes. Sums are exact, so that results are
// nearer to what the operations mean than those of float products. A row with a value that is not
// finite has NaN for all results, also where the row is an image of which a patch is without it.
// Thread safety: pure functions. Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// Null where that is not possible: weights are no multiples, rows are others than a pixel's
// channels, an image or a row of the full connection, the processor has no products of bytes.
std::unique_ptr<Kernel> makeRoundedConv(const KernelSite& site, const ConvSite& conv);
std::unique_ptr<Kernel> makeRoundedConnection(const KernelSite& site, ops::FuseCode activation);

}  // namespace halyard::cpudriver
