// Serves the wire's IDriver and IDevice with a hal::Device.
// Thread safety: loop thread only.
// Ownership: the objects share the client and refer to its ServerCore, which outlives each
// connection.
#pragma once

#include <memory>

#include "hal/driver.capnp.h"

namespace halyard::hal {

struct ServedClient;

// The first object of a client's connection.
wire::IDriver::Client makeDriverServer(std::shared_ptr<ServedClient> client);

}  // namespace halyard::hal
