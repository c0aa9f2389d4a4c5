// What a hostile client does to a driver in one connection, as a fuzzer's bytes say.
// Thread safety: one session of a loop at a time. Ownership: takes the socket.
#pragma once

#include <cstdint>
#include <span>

#include "hal/wire/rpc_loop.h"
#include "halyard/driver/unique_fd.h"

namespace halyard::hal::fuzz {

// Returns when the session is over and the socket closed. Ends the process when the driver breaks a
// promise: an answer without status or text, a callback called twice or not at all, no answer for
// 20 seconds.
void runHostileSession(RpcLoop& loop, UniqueFd socket, std::span<const uint8_t> input);

}  // namespace halyard::hal::fuzz
