// Calls of the C API as Status and Result, for code that reports errors.
// Thread safety: any thread. Ownership: results own their text.
#pragma once

#include <cstdint>
#include <vector>

#include "client/nnapi.h"
#include "halyard/driver/status.h"

namespace halyard::client {

// The call's code and text; OK for NO_ERROR. To be called before the thread's next NNAPI call.
Status toStatus(const CallResult& result);

// All devices, in the runtime's order (its own CPU device is the last).
Result<std::vector<Device>> allDevices();

// The process that the device's driver runs in; 0 while it is not running.
Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device);

}  // namespace halyard::client

// Returns the Status of a failed call. What follows the call is context, as for
// HALYARD_RETURN_IF_ERROR.
#define HALYARD_RETURN_IF_FAILED(call, ...) \
  HALYARD_RETURN_IF_ERROR(::halyard::client::toStatus(call) __VA_OPT__(, ) __VA_ARGS__)
