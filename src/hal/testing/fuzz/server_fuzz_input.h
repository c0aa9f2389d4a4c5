// Runs one input of the fuzzer of the server's interface. The bytes determine the actions of a
// hostile client.
// Thread safety: one thread at a time. Ownership: the server exists as long as the process.
#pragma once

#include <cstdint>
#include <span>

namespace halyard::hal::fuzz {

// Connects to the server of the process, does the actions, disconnects, and waits until the server
// has noticed. Ends the process when the server breaks a rule.
// The rules: each answer has a status and a text. Each callback is called exactly once. Each answer
// comes within 20 seconds.
void runServerFuzzInput(std::span<const uint8_t> bytes);

}  // namespace halyard::hal::fuzz
