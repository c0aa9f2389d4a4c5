// What ring_fuzz runs: the driver's end of a ring, fed with whatever a client might put there:
// packets, positions, slots, memories. The prepared model touches every byte that a request gives
// it. Thread safety: any thread. Ownership: keeps nothing.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

void runRingFuzzInput(std::span<const uint8_t> input);

}  // namespace halyard::hal::fuzz
