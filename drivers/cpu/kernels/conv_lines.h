// Convolution line by line: rows of the matrix product are read where they lie in the image, so
// that no patches are gathered. Thread safety: pure functions. Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/conv_site.h"
#include "kernels/matrix_layer.h"

namespace halyard::cpudriver {

// Whether that is possible, for this convolution and layer, and what a line needs is worth copying.
bool takesLines(const ConvSite& conv, const MatrixLayer& layer);
// Whether it is thought to be faster, too, than gathering patches.
bool suitsLines(const ConvSite& conv, const MatrixLayer& layer);

// For what takesLines. Elements have 4 bytes. `addsInput` as Fused has it.
std::unique_ptr<Kernel> makeLineConv(const ConvSite& conv, std::shared_ptr<const MatrixLayer> layer,
                                     bool addsInput);

}  // namespace halyard::cpudriver
