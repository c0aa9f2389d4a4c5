// Fenced executions in a driver's process.
// Thread safety: may be called from any thread but the loop's.
// Ownership: a result keeps its driver running as long as its execution is kept.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "hal/session/fenced_execution.h"
#include "halyard/driver/device.h"

namespace halyard::hal {

class DriverConnection;

// Sends executeFenced to the prepared model with key `id` of a driver of HAL 1.3. `request` has
// been validated, and has neither pointers nor, with `waitFor`, more descriptors than a message
// takes. The returned fence fails in time even if the driver does nothing: after the deadline,
// after the duration, or, without either, when the driver counts as hung.
FencedResult executeFencedRemotely(const std::shared_ptr<DriverConnection>& connection, uint64_t id,
                                   const Request& request, std::vector<ForeignFd> waitFor,
                                   const ExecuteOptions& options,
                                   std::optional<std::chrono::nanoseconds> duration,
                                   std::shared_ptr<FenceService> service);

}  // namespace halyard::hal
