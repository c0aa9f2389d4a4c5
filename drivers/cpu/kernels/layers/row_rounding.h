// Rounding rows to the steps of a byte.
// Thread safety: pure functions.
// Ownership: kernels are the caller's.
#pragma once

#include "kernels/kernel.h"
#include "ops/rounding_steps.h"

namespace halyard::cpudriver {

// For input and output 0, of `rows` rows.
std::unique_ptr<Kernel> makeRowRounding(const RoundedRows& rounding, size_t rows);

}  // namespace halyard::cpudriver
