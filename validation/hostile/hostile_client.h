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

// Starts the driver (or connects to its service), sends the calls that the bytes encode in one
// connection, and closes it. The result is OK when the driver then ends by itself with exit status
// 0, or, for a service, still takes connections. Otherwise the status says how the driver ended.
// The calling process ends, with a text on its standard error, when the driver breaks a promise to
// its client. Such faults are an invalid status, an error without text, a callback called twice or
// never, and no answer for 20 s.
Status attackDriver(hal::RpcLoop& loop, const hal::Manifest& manifest,
                    std::span<const uint8_t> input);

// The same with a client whose descriptors try to block the driver: sockets whose close() lingers.
// One comes with a message, 200 with one message (more than allowed), and one in the middle of a
// message. After each of these the driver must still answer. The last one comes with half a
// message, after which the client closes the connection.
Status attackWithDescriptors(const hal::Manifest& manifest);

// Input number `number` of `seed`: 20 to 1,519 bytes, the same on every machine.
std::vector<uint8_t> hostileInput(uint64_t seed, uint64_t number);

}  // namespace halyard::validation
