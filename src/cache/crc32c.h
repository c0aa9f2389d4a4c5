// CRC-32C (Castagnoli) of bytes. It detects damage, not forgery.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::cache {

// Continues the CRC `crc` of earlier bytes with `bytes`.
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc = 0);

}  // namespace halyard::cache
