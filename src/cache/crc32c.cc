#include "cache/crc32c.h"

#include <array>
#include <cstddef>

namespace halyard::cache {
namespace {

constexpr uint32_t kPolynomial = 0x82f63b78;  // reflected
constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table n holds the CRC of each byte followed by n zero bytes.
constexpr Tables makeTables() {
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (size_t slice = 1; slice < kSlices; ++slice) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = makeTables();

}  // namespace

uint32_t crc32c(std::span<const uint8_t> bytes, uint32_t crc) {
  crc = ~crc;
  while (bytes.size() >= kSlices) {
    uint32_t next = 0;
    for (size_t i = 0; i < kSlices; ++i) {
      const uint32_t mixed = i < 4 ? bytes[i] ^ ((crc >> (8 * i)) & 0xff) : bytes[i];
      next ^= kTables[kSlices - 1 - i][mixed];
    }
    crc = next;
    bytes = bytes.subspan(kSlices);
  }
  for (const uint8_t byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xff];
  return ~crc;
}

}  // namespace halyard::cache
