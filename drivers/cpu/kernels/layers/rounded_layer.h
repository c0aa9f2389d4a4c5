// Float layers whose input is first rounded to the steps of a byte (Fused::rounding). Their weights
// are multiples of a step, too, so that both are multiplied as bytes. Sums are exact: results are
// nearer to the operations' definition than those of float products. A row with a value that is not
// finite has NaN for all results. This also holds where the row is an image and a patch of it has
// only finite values.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/kernel.h"
#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// Null where this is not possible: weights are not multiples of a step, or the level has no kernels
// for real results. Null also where rows are other than a pixel's channels, an image, or a row of
// the full connection.
std::unique_ptr<Kernel> makeRoundedConv(const KernelSite& site, const ConvSite& conv);
std::unique_ptr<Kernel> makeRoundedConnection(const KernelSite& site, ops::FuseCode activation);

}  // namespace halyard::cpudriver
