// Converts results of the C API to Status and Result, for code that reports errors.
// Thread safety: any thread. Ownership: results own their text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/nnapi.h"
#include "halyard/driver/status.h"

namespace halyard::client {

// The code and the text of the call; OK for NO_ERROR. Call it before the next NNAPI call in this
// thread.
Status toStatus(const CallResult& result);

// All devices in the order of the runtime. The CPU device of the runtime is the last one.
Result<std::vector<Device>> allDevices();

// The document of halyard_devicesJson(): all devices, and the manifests that could not be used. The
// call makes the runtime find its drivers.
Result<std::string> devicesJson();

// The process that runs the driver of the device; 0 while the driver does not run.
Result<int64_t> driverProcessId(const ANeuralNetworksDevice* device);

}  // namespace halyard::client

// Returns the Status of a failed call. The arguments after the call are context, as for
// HALYARD_RETURN_IF_ERROR.
#define HALYARD_RETURN_IF_FAILED(call, ...) \
  HALYARD_RETURN_IF_ERROR(::halyard::client::toStatus(call) __VA_OPT__(, ) __VA_ARGS__)
