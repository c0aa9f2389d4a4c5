// Functions of one 8 bit value as tables.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <optional>

#include "kernels/kernel.h"
#include "ops/elementwise.h"

namespace halyard::cpudriver {

// The result of the site's operation for each byte, by the reference kernel. Empty unless the
// operation is elementwise with one input, and input and output have 8 bits.
std::optional<ops::ByteTable> tableOf(const KernelSite& site);
// The same for operations one behind the other, of which the first reads 8 bits and the last writes
// them.
std::optional<ops::ByteTable> tableOf(std::span<const KernelSite> sites);

// to[i] = table[from[i]]; both may be the same.
void lookUpBytes(const ops::ByteTable& table, const uint8_t* from, uint8_t* to, size_t count);

// The same for input and output of `elements` bytes each.
std::unique_ptr<Kernel> makeTableKernel(const ops::ByteTable& table, size_t elements);

}  // namespace halyard::cpudriver
