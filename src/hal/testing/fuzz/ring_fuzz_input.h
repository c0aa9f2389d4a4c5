// Runs one input of ring_fuzz: the driver's end of a ring, with data that a hostile client could
// put there: packets, positions, slots and memories. The prepared model touches each byte of a
// request.
// Thread safety: any thread. Ownership: none.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

void runRingFuzzInput(std::span<const uint8_t> input);

}  // namespace halyard::hal::fuzz
