// The wire's IDriver and IDevice, in front of a hal::Device.
// Thread safety: loop thread only.
// Ownership: the objects refer to the ServerCore, which outlives every connection.
#pragma once

#include "hal/driver.capnp.h"

namespace halyard::hal {

class ServerCore;

// What a client finds first on its connection.
wire::IDriver::Client makeDriverServer(ServerCore& core);

}  // namespace halyard::hal
