// The rows of a convolution: the patches under its filter, gathered or, where the filter is 1 x 1,
// where they lie.
// Thread safety: a pure function; sources may be used by several threads.
// Ownership: sources own their tables.
#pragma once

#include <cstddef>

#include "kernels/layers/conv_site.h"
#include "kernels/matrix/matrix_layer.h"

namespace halyard::cpudriver {

// Whether the patches are the image's cells, in order.
bool isPointwise(const ConvSite& conv);

RowSource patchRows(const ConvSite& conv, size_t elementBytes, const MatrixLayer& layer);

}  // namespace halyard::cpudriver
