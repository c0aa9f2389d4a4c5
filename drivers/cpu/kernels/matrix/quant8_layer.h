// A MatrixLayer of 8 bit values.
// Thread safety: a pure function.
// Ownership: as MatrixLayer.
#pragma once

#include <memory>

#include "kernels/matrix/matrix_layer.h"

namespace halyard::cpudriver {

// As makeMatrixLayer, of 8 bit types.
std::unique_ptr<MatrixLayer> makeQuant8Layer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation);
// The same for rows that are copied before they are multiplied, so that bytes may be flipped, and
// in `pieces` pieces. Null also where weights keep a zero point, or pieces are no units of 4 bytes.
std::unique_ptr<MatrixLayer> makeQuant8LayerForCopies(const KernelSite& site, size_t columns,
                                                      ops::FuseCode activation, size_t pieces);

}  // namespace halyard::cpudriver
