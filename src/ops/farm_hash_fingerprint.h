// Fingerprint64 of FarmHash: a 64-bit hash of bytes that is the same on every machine.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::ops {

// `bytes` must have at least 4 bytes. FarmHash has other rules for shorter inputs, which do not
// occur here.
uint64_t fingerprint64(std::span<const uint8_t> bytes);

}  // namespace halyard::ops
