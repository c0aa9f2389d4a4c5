// Fenced executions in a driver's process.
// Thread safety: may be called from any thread except the loop thread.
// Ownership: the execution of a result keeps its driver running.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hal/session/fenced_execution.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class DriverConnection;

// Sends executeFenced to the prepared model with key `id` of a driver of HAL 1.3. `request` is
// validated and has no pointers. Its pools and `waitFor` together fit into a message. The returned
// fence fails in time even if the driver does nothing: after the deadline or the duration. Without
// both, it fails when the driver counts as hung.
FencedResult executeFencedRemotely(const std::shared_ptr<DriverConnection>& connection, uint64_t id,
                                   const Request& request, std::vector<ForeignFd> waitFor,
                                   const ExecuteOptions& options,
                                   std::optional<std::chrono::nanoseconds> duration,
                                   std::shared_ptr<FenceService> service);

}  // namespace halyard::hal
