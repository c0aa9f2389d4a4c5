// Runs one input of the fuzzer of the server's boundary: the bytes choose what a hostile client
// does.
// Thread safety: one thread at a time. Ownership: the server lives as long as the process.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

// Connects to the process's one server, does what the bytes say, disconnects, and waits until the
// server has noticed. Ends the process when the server breaks a promise: an answer without status
// or text, a callback called twice or not at all, no answer for 20 seconds.
void runServerFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::hal::fuzz
