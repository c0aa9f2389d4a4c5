// CRC-32C (Castagnoli) of bytes: finds damage, not forgery.
// Thread safety: pure functions. Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::cache {

// Of what `crc` is the CRC of, with `bytes` behind it.
uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc = 0);

}  // namespace halyard::cache
