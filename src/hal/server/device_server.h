// The wire's IDriver and IDevice, in front of a hal::Device.
// Thread safety: loop thread only.
// Ownership: the objects share the client and refer to its ServerCore, which outlives every
// connection.
#pragma once

#include <memory>

#include "hal/driver.capnp.h"

namespace halyard::hal {

struct ServedClient;

// What a client finds first on its connection.
wire::IDriver::Client makeDriverServer(std::shared_ptr<ServedClient> client);

}  // namespace halyard::hal
