// A connection of a hostile client to a driver. The bytes of a fuzzer determine its actions.
// Thread safety: one session of a loop at a time. Ownership: takes the socket.
#pragma once

#include <cstdint>
#include <span>

#include "hal/wire/rpc_loop.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal::fuzz {

// Returns when the session has ended and the socket is closed. Ends the process when the driver
// breaks a rule.
// The rules: each answer has a status and a text. Each callback is called exactly once. Each answer
// comes within 20 seconds.
void runHostileSession(RpcLoop& loop, UniqueFd socket, std::span<const uint8_t> input);

}  // namespace halyard::hal::fuzz
