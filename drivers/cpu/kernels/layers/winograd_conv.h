// A float convolution of 3 x 3 with less than half of its products, by Winograd's F(2 x 2, 3 x 3).
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
//
// Results are as far from the exact ones as those of the usual sum, within a small factor of the
// largest values around. A cell takes part in the rounding of results that it does not belong to,
// at most one cell further on. An infinity or a NaN in such a cell makes NaN of these results.
#pragma once

#include <memory>

#include "kernels/layers/conv_site.h"

namespace halyard::cpudriver {

// Whether the window is one of 3 x 3 cells that lie side by side, one position after the other.
bool takesWinograd(const ConvSite& conv, const KernelSite& site);
// Whether Winograd is expected to be faster. The channels must be enough to pay for the
// transformations. The tiles must be enough to pay for reading the weights: 16 in place of 9.
bool suitsWinograd(const ConvSite& conv);
// For a site for which hasConstantWeights, and that takesWinograd. Releases the filter.
std::unique_ptr<Kernel> makeWinogradConv(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
