// Runs one input of the fuzzer of what the CPU driver saves of compilations.
// Thread safety: one thread at a time. Ownership: what was saved, for the life of the process.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::cpudriver::fuzz {

// What the cache would never give to the driver, for it is not what was saved. The first byte says
// what the others are:
//   even  2 bytes with the length of the model file, it, and the data file
//   odd   edits of 4 bytes each to the files of a small model of floats, or quantised with bit 1,
//         with choices for its steps with bit 6: where (15 bits, the last for the data file), what
//         is done, with which byte
// What is compiled of it is run once.
void runSavedCompilationInput(std::span<const uint8_t> bytes);

}  // namespace halyard::cpudriver::fuzz
