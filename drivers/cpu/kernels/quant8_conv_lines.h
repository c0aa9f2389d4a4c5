// 8 bit convolution line by line: rows of the matrix product are read where they lie in a padded
// copy of the image's lines, so that no patches are gathered.
// Thread safety: a pure function. Ownership: as Kernel.
#pragma once

#include <memory>

#include "kernels/conv_site.h"

namespace halyard::cpudriver {

// For a site with hasConstantWeights and 8 bit types. Null where gathering patches is better, and
// where weights keep a zero point.
std::unique_ptr<Kernel> makeQuant8LineConv(const KernelSite& site, const ConvSite& conv);

}  // namespace halyard::cpudriver
