// A MatrixLayer of 8 bit values. Thread safety: a pure function. Ownership: as MatrixLayer.
#pragma once

#include <memory>

#include "kernels/matrix_layer.h"

namespace halyard::cpudriver {

// As makeMatrixLayer, of 8 bit types.
std::unique_ptr<MatrixLayer> makeQuant8Layer(const KernelSite& site, size_t columns,
                                             ops::FuseCode activation);

}  // namespace halyard::cpudriver
