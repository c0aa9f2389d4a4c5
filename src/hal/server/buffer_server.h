// Serves the wire's IBuffer, and IDevice::allocate, with the buffers of a session.
// Thread safety: loop thread only.
// Ownership: shares the client and the buffer. Refers to the ServerCore.
#pragma once

#include "hal/server/server_core.h"
#include "hal/v1_3.capnp.h"

namespace halyard::hal {

using AllocateContext =
    capnp::CallContext<wire::v1_3::IDevice::AllocateParams, wire::v1_3::IDevice::AllocateResults>;
// Answers a call of allocate.
kj::Promise<void> allocateBuffer(const std::shared_ptr<ServedClient>& client,
                                 AllocateContext context);

}  // namespace halyard::hal
