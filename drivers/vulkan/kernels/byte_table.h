// The results of an operation for all bytes, so that the device computes bytes exactly as the
// reference kernel does.
// Thread safety: pure functions. Ownership: results own their data.
#pragma once

#include <vector>

#include "kernels/recording.h"

namespace halyard::vulkandriver {

// Of the operation of `site`, whose first `tensors` inputs (1 or 2) have one byte for each element.
// With 2, the entry of bytes a and b is 256 a + b.
Result<std::vector<uint8_t>> byteTable(const Site& site, size_t tensors);

}  // namespace halyard::vulkandriver
