// IDriver's methods for traces: records the driver's work for a client in the client's memory.
// Thread safety: loop thread only.
// Ownership: the client's session shares the memory.
#pragma once

#include "hal/driver.capnp.h"
#include "hal/server/server_core.h"

namespace halyard::hal {

using TraceContext = capnp::CallContext<wire::IDriver::TraceParams, wire::IDriver::TraceResults>;
using TraceModelContext =
    capnp::CallContext<wire::IDriver::TraceModelParams, wire::IDriver::TraceModelResults>;

kj::Promise<void> recordFor(const std::shared_ptr<ServedClient>& client, TraceContext context);
kj::Promise<void> nameModelFor(const std::shared_ptr<ServedClient>& client,
                               TraceModelContext context);

}  // namespace halyard::hal
