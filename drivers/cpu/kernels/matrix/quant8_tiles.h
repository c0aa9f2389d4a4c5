// Products of 8 bit matrices by a processor's unit for tiles (AMX): up to 32 rows times one panel
// of columns.
// Thread safety: pure functions.
// Ownership: nothing is owned.
//
// Panels have the layout of the micro kernels for AVX-512, and sums are narrowed as theirs. The
// rows are read as they lie in memory.
#pragma once

#include <cstddef>

#include "kernels/matrix/gemm_quant8.h"

namespace halyard::cpudriver {

// Units that are multiplied at once: the pieces of a row have no rest.
size_t tileUnits(size_t units);
// Whether tiles take less time than vectors. A rule of sizes, not a measurement.
bool suitsTiles(const Quant8Shape& shape);

}  // namespace halyard::cpudriver
