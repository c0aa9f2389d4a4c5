// Philox4x32-10, the counter-based random number generator of Salmon, Moraes, Dror and Shaw
// ("Parallel random numbers: as easy as 1, 2, 3", SC 2011). It is a bijection of 128-bit counters
// for each 64-bit key, so that each element of the sequence can be computed separately.
// Thread safety: pure functions.
// Ownership: none.
#pragma once

#include <array>
#include <cstdint>

namespace halyard::ops {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Returns four random words. The least significant word of the counter comes first.
inline PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
  constexpr uint64_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
  // The golden ratio and the square root of 3, each minus 1, as fractions of 2^32.
  constexpr uint32_t kKeySteps[] = {0x9E3779B9, 0xBB67AE85};
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t first = kMultipliers[0] * counter[0];
    const uint64_t second = kMultipliers[1] * counter[2];
    counter = {
        static_cast<uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(second),
        static_cast<uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(first)};
    key[0] += kKeySteps[0];
    key[1] += kKeySteps[1];
  }
  return counter;
}

}  // namespace halyard::ops
