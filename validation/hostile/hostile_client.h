// A hostile client against a driver in a process of its own. It sends damaged messages and
// arbitrary descriptors, and changes its memory while the driver reads it.
// Thread safety: one at a time in a process.
// Ownership: the driver's process ends with the call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "hal/manifest/manifest.h"
#include "hal/wire/rpc_loop.h"
#include "halyard/driver/status.h"

namespace halyard::validation {

// Starts the driver (or connects to its service), follows the bytes in one connection, and hangs
// up. OK when the driver has answered in order and then ended by itself with exit status 0 (a
// service: still takes connections). Otherwise the status says how it ended. The driver may break a
// promise to its client: an invalid status, an error without text, no answer for 20 s. A callback
// twice or not at all breaks one too. The calling process then ends, with a text on its standard
// error.
Status attackDriver(hal::RpcLoop& loop, const hal::Manifest& manifest,
                    std::span<const uint8_t> input);

// The same with one client whose descriptors try to block the driver. They are sockets that linger,
// more than a message may have. Some come in the middle of a message, and with one that never ends.
// The driver must continue to answer.
Status attackWithDescriptors(const hal::Manifest& manifest);

// Input number `number` of a seed, the same on every machine: 20 to 1,519 bytes.
std::vector<uint8_t> hostileInput(uint64_t seed, uint64_t number);

}  // namespace halyard::validation
