// A hostile client against a driver in a process of its own: what it sends is spoilt, its
// descriptors are anything, its memory is changed under the driver's eyes.
// Thread safety: one at a time in a process. Ownership: the driver's process ends with the call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hal/manifest/manifest.h"
#include "hal/wire/rpc_loop.h"
#include "halyard/driver/status.h"

namespace halyard::validation {

// Starts the driver (or connects to its service), does what the bytes say in one connection, and
// hangs up. OK when the driver has answered in order and then ended by itself with exit status 0
// (a service: still takes connections). Otherwise how it ended. When the driver breaks a promise to
// its client (a status that is none, an error without text, a callback twice or not at all, no
// answer for 20 s) the calling process ends, with a text on its standard error.
Status attackDriver(hal::RpcLoop& loop, const hal::Manifest& manifest,
                    std::span<const uint8_t> input);

// The same with one client whose descriptors are to hold up the driver: sockets that linger, more
// of them than a message may have, some in the middle of a message and with one that never ends.
// The driver has to go on answering.
Status attackWithDescriptors(const hal::Manifest& manifest);

// Input number `number` of a seed, the same on every machine: 20 to 1,519 bytes.
std::vector<uint8_t> hostileInput(uint64_t seed, uint64_t number);

}  // namespace halyard::validation
