// Convolution line by line: rows of the matrix product are read where they lie in the image, so
// that no patches are gathered.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include <memory>

#include "kernels/layers/conv_site.h"
#include "kernels/matrix/matrix_layer.h"

namespace halyard::cpudriver {

// Whether that is possible, and faster than gathering patches, for elements of `elementBytes`.
bool suitsLines(const ConvSite& conv, size_t elementBytes);

// For a convolution of 8 bits that suits lines. Null where bytes cannot be multiplied that way: the
// processor has no products of bytes, weights keep a zero point, or pieces are too short.
std::unique_ptr<Kernel> makeQuant8LineConv(const KernelSite& site, const ConvSite& conv);
// For a convolution that suits lines, with a float layer or one for copies. `addsInput` as Fused
// has it.
std::unique_ptr<Kernel> makeLineConv(const ConvSite& conv, std::shared_ptr<const MatrixLayer> layer,
                                     bool addsInput);

}  // namespace halyard::cpudriver
